"""Every Python block of the README and the docs runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dlsched import problem as catalogue

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_BLOCK = re.compile(
    r"(?:<!-- not run: (?P<reason>[^>]*?) -->\s*)?^```python\n(?P<code>.*?)^```", re.M | re.S
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_page(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page's blocks run from top to bottom in one namespace, at the project's root."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    for name in catalogue.CATALOGUE:  # what a page registers is gone after it
        monkeypatch.setitem(catalogue._METHODS, name, catalogue.problem(name).methods)
    text = page.read_text()
    blocks = list(_BLOCK.finditer(text))
    assert len(blocks) == len(re.findall(r"^```python", text, re.M))
    skipped = [block["reason"] for block in blocks if block["reason"]]
    namespace: dict[str, object] = {"__name__": f"docs.{page.stem}"}
    for block in blocks:
        if not block["reason"]:
            line = text.count("\n", 0, block.start("code"))
            code = compile("\n" * line + block["code"], str(page), "exec")  # true line numbers
            exec(code, namespace)
    if skipped and len(skipped) == len(blocks):
        pytest.skip("; ".join(skipped))
    for reason in skipped:
        print(f"{page.name}: a block is not run: {reason}")
