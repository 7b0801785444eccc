"""What a notebook shows: the short text of an object, in the page's own colours.

All texts are escaped; there are no scripts.
"""

from collections.abc import Sequence
from html import escape

from dlsched.errors import plain
from dlsched.schema.content import Part, parts, values
from dlsched.schema.document import Document
from dlsched.text.figures import shorten

_WIDTH = 110
"""Characters of a line about a list."""
_LONGEST = 200
"""Characters of any line."""
_LISTS = 10
"""The most lists of a document that have a line."""
_STYLE = "color:inherit;background:none;white-space:pre-wrap"


def lines_html(*lines: str) -> str:
    """Return lines of text as HTML."""
    text = "\n".join(shorten(plain(line).replace("\n", " "), _LONGEST) for line in lines)
    return f'<pre style="{_STYLE}">{escape(text)}</pre>'


def document_html(what: str, name: str, document: Document, *notes: str) -> str:
    """Return a document as HTML: its single values and its lists, with sizes and ranges.

    The heading is `what` and `name`; the notes are lines below it.
    """
    lines = document_lines(document, ("name", "source", "notes"), _LISTS)
    return lines_html(f"{what} {name}", *notes, *lines)


def document_lines(document: Document, without: Sequence[str], most: int) -> list[str]:
    """Return a line with the single values of a document, and one for each of its first lists."""
    single = ", ".join(f"{name} {value}" for name, value in values(document, without))
    return [single, *map(_part_line, parts(document, without)[:most])]


def _part_line(part: Part) -> str:
    """Return a list's name, length and facts; the last facts are counted if there is no room."""
    line = f"{part.name}: {part.size:,}"
    for i, fact in enumerate(part.facts):
        left_out = len(part.facts) - i
        rest = f"; and {left_out} more fields" if left_out > 1 else ""
        if i and len(f"{line}; {fact}{rest}") > _WIDTH:
            return line + (rest or "; and 1 more field")
        line += f"; {fact}"
    return line
