"""The kit of pages: pictures, tables of texts, and the frame that every page has.

A page is one file without external resources. Its template extends ``page.html.jinja``, which has
the style and the macros for tables and pictures.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dlsched.display.drawing.files import picture_bytes
from dlsched.extras import require
from dlsched.text.figures import amount, percent, span

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

Table = dict[str, Any]
Spell = Callable[[Any], str]


@dataclass(frozen=True)
class Picture:
    """A figure with its name and caption."""

    name: str
    caption: str
    figure: Figure

    @cached_property
    def svg(self) -> bytes:
        """The picture as a file."""
        return picture_bytes(self.figure, "svg")

    @property
    def source(self) -> str:
        """The picture as a link, for a page without other files."""
        return f"data:image/svg+xml;base64,{base64.b64encode(self.svg).decode()}"


def frame_table(frame: pandas.DataFrame, columns: Mapping[str, tuple[str, Spell]]) -> Table:
    """Return columns of a frame as a table of texts; what is missing is empty.

    Parameters
    ----------
    columns
        The head of each column, and what makes texts of its cells: `str` of texts, which are
        aligned left.
    """
    heads = [
        {"name": head, "numeric": spell is not str, "wide": False}
        for head, spell in columns.values()
    ]
    values = frame.astype(object).where(frame.notna(), None)
    rows = [
        [{"text": "" if row[n] is None else spell(row[n])} for n, (_, spell) in columns.items()]
        for row in values.to_dict("records")
    ]
    return {"columns": heads, "rows": rows}


def render(package: str, template: str, **context: Any) -> str:
    """Return a page.

    Parameters
    ----------
    package
        The package whose template it is.

    Raises
    ------
    ExtraMissing
        If jinja2 is not installed.
    """
    jinja2 = require("jinja2", "a page")
    loaders = [jinja2.PackageLoader(name, ".") for name in (package, "dlsched.display")]
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, loader=jinja2.ChoiceLoader(loaders)
    )
    words: dict[str, Any] = {"str": str, "count": "{:,.0f}".format, "span": span}
    words |= {"amount": amount, "percent": percent, "table_of": frame_table}
    page: str = environment.get_template(template).render(**words, **context)
    return page
