"""The Python blocks of a Markdown page, run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

_BLOCK = re.compile(
    r"(?:<!-- not run: (?P<reason>[^>]*?) -->\s*)?^```python\n(?P<code>.*?)^```", re.M | re.S
)


def run_blocks(page: Path, replaced: Mapping[str, str] | None = None) -> list[str]:
    """Run a page's Python blocks from top to bottom in one namespace.

    Parameters
    ----------
    page
        A Markdown file. A block after the comment ``<!-- not run: reason -->`` is left out.
    replaced
        Source text to be replaced before a block runs, as a long loop by a short one.

    Returns
    -------
    list of str
        Why blocks were left out.

    Raises
    ------
    ValueError
        If a block is not closed, or not at the start of a line.
    """
    text = page.read_text(encoding="utf-8")
    blocks = list(_BLOCK.finditer(text))
    if len(blocks) != len(re.findall(r"^```python", text, re.M)):
        raise ValueError(f"{page}: a Python block is not closed")
    namespace: dict[str, object] = {"__name__": f"docs.{page.stem}"}
    for block in blocks:
        if block["reason"]:
            continue
        source = block["code"]
        for long, short in (replaced or {}).items():
            source = source.replace(long, short)
        line = text.count("\n", 0, block.start("code"))  # so that errors name the page's line
        exec(compile("\n" * line + source, str(page), "exec"), namespace)
    return [block["reason"] for block in blocks if block["reason"]]
