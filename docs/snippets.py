"""Runs the Python blocks of pages that draw, and puts what they drew below each block.

A narrow window scrolls the picture.
"""

import contextlib
import html
import io
import os
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
INCHES = 7.0
"""Width of a new figure."""
_BLOCK = re.compile(
    r"(?P<skip><!-- not run: [^>]*? -->\s*)?^```python\n(?P<code>.*?)^```\n?", re.M | re.S
)
_DRAWS = re.compile(r"\bplot(_\w+)?\(|\bdraw_\w+\(")


def draws(text: str) -> bool:
    """Whether a page has a block that draws."""
    blocks = (m["code"] for m in _BLOCK.finditer(text) if not m["skip"])
    return any(map(_DRAWS.search, blocks))


def illustrated(text: str, name: str) -> tuple[str, dict[str, bytes]]:
    """Return a page with a picture below each block that drew one, and the pictures by file name.

    Parameters
    ----------
    text
        The page as Markdown.
    name
        The page's address below docs, as ``tutorials/pictures.md``.
    """
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    from dlsched.display.drawing.files import picture_bytes

    mpl.use("Agg")
    plt.close("all")
    pictures: dict[str, bytes] = {}
    stem, up = re.sub(r"\W", "-", name.removesuffix(".md")), "../" * name.count("/")
    namespace: dict[str, Any] = {"__name__": f"docs.{Path(name).stem}"}

    def shown(match: re.Match[str]) -> str:
        """Run a block, and return it with what it draws."""
        if match["skip"]:
            return match[0]
        exec(compile(match["code"], name, "exec"), namespace)
        parts = [match[0]]
        for figure in map(plt.figure, plt.get_fignums()):
            file = f"{stem}-{len(pictures)}.svg"
            pictures[file] = picture_bytes(figure, "svg", "transparent")
            words = html.escape(_title(figure), quote=True)
            image = f'<img src="{up}pictures/{file}" alt="{words}">'
            parts.append(f'\n<div class="plate">{image}</div>\n\n')
        plt.close("all")
        return "".join(parts)

    with (
        mpl.rc_context({"figure.figsize": (INCHES, INCHES), "figure.max_open_warning": 0}),
        contextlib.chdir(ROOT),
        contextlib.redirect_stdout(io.StringIO()),
        open(os.devnull, "w", encoding="utf-8") as nowhere,
        contextlib.redirect_stderr(nowhere),
    ):
        return _BLOCK.sub(shown, text), pictures


def _title(figure: Any) -> str:
    """Return a figure's title, or what its axes say."""
    words = figure.get_suptitle()
    for ax in figure.axes:
        words = words or ax.get_title(loc="left") or f"{ax.get_ylabel()} by {ax.get_xlabel()}"
    return " ".join(words.replace(r"\$", "$").split())
