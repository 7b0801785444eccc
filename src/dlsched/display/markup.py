"""The elements of what a notebook shows: a heading, lines, tables, in a box that scrolls.

Text and background are the page's own, so that they are legible on light and dark pages. All texts
are escaped; there are no scripts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape as escape_html
from typing import Any

from dlsched.errors import plain
from dlsched.schema.content import is_number, parts, values
from dlsched.schema.document import Document
from dlsched.text.figures import shorten

_LONGEST = 200
"""Characters of a cell."""
_LISTS = 10
"""The most lists of a document that have a row."""
_TABLE = "border-collapse:collapse;margin:.4em 0;font-size:90%;color:inherit;background:none"
_CELL = "padding:.15em .7em .15em 0;border:0;text-align:{};color:inherit;background:none"
_HEAD = "border-bottom:1px solid rgba(128,128,128,.6);font-weight:600"
_LINE = "margin:.2em 0;max-width:60em"


def document_html(what: str, name: str, document: Document, *notes: str) -> str:
    """Return a document as its single values and its lists, with sizes and ranges.

    Parameters
    ----------
    what, name
        The heading.
    *notes
        Lines below it.
    """
    rows = [*content(document, ("name", "source", "notes"))]
    shown = [line(note) for note in notes]
    return block(heading(what, name), *shown, table(("", "", ""), rows, numbers=(1,)))


def facts_html(what: str, name: str, rows: Sequence[tuple[str, int, str]]) -> str:
    """Return counts by name, with a remark each, as a small table under a heading."""
    cells = [(label, f"{count:,}", remark) for label, count, remark in rows]
    return block(heading(what, name), table(("", "", ""), cells, numbers=(1,)))


def content(document: Document, without: Sequence[str]) -> Iterable[tuple[str, str, str]]:
    """Yield the single values of a document, then its lists with sizes and facts.

    Parameters
    ----------
    without
        Fields that are left out.
    """
    for name, text in values(document, without):
        number = is_number(getattr(document, name))
        yield (name, text, "") if number else (name, "", text)
    for part in parts(document, without)[:_LISTS]:
        yield part.name, f"{part.size:,}", "; ".join(part.facts)


def escape(text: str) -> str:
    """Return a text of limited length that HTML shows as it is."""
    return escape_html(plain(shorten(text, _LONGEST)))


def heading(what: str, name: str) -> str:
    """Return what a thing is, in bold, and its name."""
    return f'<p style="{_LINE}"><b>{escape(what)}</b> <code>{escape(name)}</code></p>'


def line(text: str) -> str:
    """Return a line of text."""
    return f'<p style="{_LINE}">{escape(text)}</p>'


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    """Return a table; the columns with numbers are aligned to the right."""
    sides = ["right" if i in numbers else "left" for i in range(len(heads))]
    lines = [_row("th", heads, sides, _HEAD)] if any(heads) else []
    lines += [_row("td", row, sides, "") for row in rows]
    return f'<table style="{_TABLE}">{"".join(lines)}</table>'


def _row(tag: str, cells: Sequence[Any], sides: Sequence[str], style: str) -> str:
    row = ""
    for cell, side in zip(cells, sides, strict=True):
        look = f"{_CELL.format(side)};{style}"
        row += f'<{tag} style="{look}">{escape(cell)}</{tag}>'
    return f'<tr style="background:none">{row}</tr>'


def block(*parts: str) -> str:
    """Return parts below each other, in a box that scrolls where they are too wide."""
    return f'<div style="overflow-x:auto;color:inherit">{"".join(parts)}</div>'
