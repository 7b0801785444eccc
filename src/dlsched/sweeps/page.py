"""What pages are made of: pictures as SVG, and tables of texts."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from dlsched.display.charts import dress
from dlsched.display.drawing.files import picture_bytes
from dlsched.text.figures import display, percent, seconds

SIZE = (4.4, 3.1)
"""Inches of a picture: its letters are legible on a page of 390 pixels, and at half of 1,280."""
_PERCENTS = (
    *("utilization", "gap", "saved", "difference", "p90", "p99", "worst", "mean", "median"),
)
_WORDS: dict[str, Callable[[Any], str]] = {
    **dict.fromkeys(_PERCENTS, percent),
    **dict.fromkeys(("p", "p_holm"), lambda p: "" if p is None else f"{p:.2g}"),
    "seconds": seconds,
}


class Picture(NamedTuple):
    """A picture as SVG, with its name and caption."""

    name: str
    caption: str
    content: bytes

    @property
    def source(self) -> str:
        """The picture as a link, so that a page needs no file beside it."""
        return f"data:image/svg+xml;base64,{base64.b64encode(self.content).decode()}"


def drawn(name: str, caption: str, draw: Callable[..., Any], *what: Any, **how: Any) -> Picture:
    """Return the picture that a function draws on axes, its first argument."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, layout="constrained")
    axes = figure.subplots()
    draw(axes, *what, **how)
    dress(axes, own=True)
    return Picture(name, caption, picture_bytes(figure, "svg"))


def in_text(line: Mapping[str, Any], *, left_out: Iterable[str] = ()) -> dict[str, str]:
    """Return a line of a table as texts; an interval stands in brackets behind its value."""
    texts = {}
    for name, value in line.items():
        stem, _, end = name.rpartition("_")
        if name in left_out or (end in ("low", "high") and stem in line):
            continue
        words = _WORDS.get(name, display)
        low, high = line.get(f"{name}_low"), line.get(f"{name}_high")
        ends = f" [{words(low)}, {words(high)}]" if low is not None and low != high else ""
        texts[name] = f"{words(value)}{ends}"
    return texts


def html_table(lines: Iterable[Mapping[str, str]], place: str) -> str:
    """Return lines of texts as an HTML table, without columns that are empty; "" of no lines."""
    import pandas as pd

    frame = pd.DataFrame(list(lines))
    kept = [name for name in frame if frame[name].astype(bool).any()]
    text: str = frame[kept].to_html(index=False, border=0, table_id=place, na_rep="")
    return text if len(frame) else ""
