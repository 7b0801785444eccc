"""Runs the Python blocks of pages that draw, and puts what they drew below each block.

A page is run twice, for wide windows and for narrow ones, so that letters stay legible; the pages
of the problems, whose blocks also solve and prove, once: a narrow window scrolls the picture.
"""

from __future__ import annotations

import contextlib
import html
import io
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
INCHES = {"wide": 7.0, "narrow": 3.5}
"""Width of a new figure in windows that are wide, and in those of at most `NARROW` pixels."""
NARROW = 700
_ONCE = "problems/"
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
    pictures: dict[str, bytes] = {}
    stem = re.sub(r"\W", "-", name.removesuffix(".md"))
    up = "../" * name.count("/")
    below: dict[int, list[str]] = {}
    looks = {"wide": INCHES["wide"]} if name.startswith(_ONCE) else INCHES
    for look, inches in looks.items():
        for number, (content, words) in enumerate(_drawn(text, name, inches)):
            for k, (svg, title) in enumerate(zip(content, words, strict=True)):
                file = f"{stem}-{number}-{k}"
                pictures[f"{file}-{look}.svg"] = svg
                if look == "wide":
                    address = f"{up}pictures/{file}"
                    shown = _shown(address, title, both=len(looks) > 1)
                    below.setdefault(number, []).append(shown)
    parts = []
    end = 0
    for number, match in enumerate(_BLOCK.finditer(text)):
        parts.append(text[end : match.end()])
        parts += below.get(number, [])
        end = match.end()
    return "".join([*parts, text[end:]]), pictures


def _shown(address: str, title: str, *, both: bool) -> str:
    """Return the HTML of a picture.

    Parameters
    ----------
    both
        Whether it has a narrow version, too.
    """
    words = html.escape(title, quote=True)
    image = f'<img src="{address}-wide.svg" alt="{words}" loading="lazy">'
    if not both:
        return f'\n<div class="plate">{image}</div>\n\n'
    source = f'<source media="(max-width: {NARROW}px)" srcset="{address}-narrow.svg">'
    return f'\n<div class="plate drawn"><picture>{source}{image}</picture></div>\n\n'


def _drawn(text: str, name: str, inches: float) -> Iterator[tuple[list[bytes], list[str]]]:
    """Run a page's blocks; yield for each the pictures that it drew, and their titles."""
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    from dlsched.display.drawing.files import picture_bytes

    mpl.use("Agg")
    plt.close("all")
    namespace: dict[str, Any] = {"__name__": f"docs.{Path(name).stem}"}
    with (
        mpl.rc_context({"figure.figsize": (inches, inches), "figure.max_open_warning": 0}),
        contextlib.chdir(ROOT),
        contextlib.redirect_stdout(io.StringIO()),
        open(os.devnull, "w", encoding="utf-8") as nowhere,
        contextlib.redirect_stderr(nowhere),
    ):
        for match in _BLOCK.finditer(text):
            if not match["skip"]:
                exec(compile(match["code"], name, "exec"), namespace)
            figures: list[Any] = [plt.figure(number) for number in plt.get_fignums()]
            content = [picture_bytes(figure, "svg", "transparent") for figure in figures]
            yield content, [_title(figure) for figure in figures]
            plt.close("all")


def _title(figure: Any) -> str:
    """Return a figure's title, or what its axes say."""
    words = figure.get_suptitle()
    for ax in figure.axes:
        words = words or ax.get_title(loc="left") or f"{ax.get_ylabel()} by {ax.get_xlabel()}"
    return " ".join(words.replace(r"\$", "$").split())
