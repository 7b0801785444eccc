"""The kit of pages: pictures as SVG, tables of texts, and the frame that every page has.

A page is one file without external resources; its template extends ``page.html.jinja``.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from dlsched.display.charts import dress
from dlsched.display.drawing.files import picture_bytes
from dlsched.extras import require
from dlsched.text.figures import display, percent, seconds

if TYPE_CHECKING:
    import pandas

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
    legend = axes.get_legend()
    if legend is not None and axes.get_legend_handles_labels()[0]:
        legend.remove()  # it is made again, as wide as the figure
    dress(axes, own=True)
    return Picture(name, caption, picture_bytes(figure, "svg"))


def in_text(line: Mapping[str, Any]) -> dict[str, str]:
    """Return a line of a table as texts; an interval stands in brackets behind its value."""
    texts = {}
    for name, value in line.items():
        stem, _, end = name.rpartition("_")
        if end in ("low", "high") and stem in line:
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
    text: str = frame[kept].to_html(index=False, border=0, table_id=place or None, na_rep="")
    return text if len(frame) else ""


def frame_table(
    frame: pandas.DataFrame, words: Mapping[str, tuple[str, Callable[[Any], str]]]
) -> str:
    """Return columns of a frame as an HTML table: their heads, and what spells their values."""
    values = frame.astype(object).where(frame.notna(), None)
    spelled = {
        head: ["" if value is None else spell(value) for value in values[name]]
        for name, (head, spell) in words.items()
    }
    rows = zip(*spelled.values(), strict=True)
    return html_table((dict(zip(spelled, row, strict=True)) for row in rows), "")


def template(package: str, name: str) -> Any:
    """Return a page's template, which a package has.

    `ExtraMissing` is raised if jinja2 is not installed.
    """
    jinja2 = require("jinja2", "a page")
    loaders = [jinja2.PackageLoader(place, ".") for place in (package, "dlsched.display")]
    loader = jinja2.ChoiceLoader(loaders)
    return jinja2.Environment(autoescape=True, trim_blocks=True, loader=loader).get_template(name)
