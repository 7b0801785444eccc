"""Lines of text that fit the terminal: width, wrapping at blanks, names with values."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable

from dlsched.text.figures import printable

PIPE_WIDTH = 200
"""Width of a table, in characters, that goes to a file or a pipe."""
NARROWEST = 40


def on_terminal() -> bool:
    """Return whether lines have to fit a terminal, or a width that ``COLUMNS`` states."""
    return bool(sys.stdout and sys.stdout.isatty()) or "COLUMNS" in os.environ


def line_width() -> int:
    """Return the characters of a line; ``COLUMNS`` takes precedence over the terminal."""
    if not on_terminal():
        return PIPE_WIDTH
    return max(NARROWEST, shutil.get_terminal_size((PIPE_WIDTH, 24)).columns)


def cell_len(text: str) -> int:
    """Return the width of a text on a terminal."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len as length

    return length(text)


def wrapped(text: str, width: int) -> list[str]:
    """Break a text at blanks; words are never broken, so a long one may be wider than `width`."""
    if cell_len(text) <= width:
        return [text]
    lines: list[str] = []
    for word in text.split():
        if lines and cell_len(lines[-1]) + 1 + cell_len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines or [text]


def broken(text: str, indent: int = 0) -> list[str]:
    """Return a line of text; on a terminal that is too narrow for it as several, indented."""
    text = printable(text)
    if not on_terminal() or cell_len(text) <= line_width():
        return [text]
    margin = text[: len(text) - len(text.lstrip())]
    further = " " * indent or margin
    first, *rest = wrapped(text.strip(), line_width() - max(len(margin), len(further)))
    return [margin + first, *(further + line for line in rest)]


def named_lines(rows: Iterable[tuple[str, str]], indent: int = 0) -> list[str]:
    """Return lines of names and values, aligned; on a terminal values are wrapped at blanks.

    A value whose words do not fit beside its name begins in the line below.
    """
    pairs = [(printable(name), printable(value)) for name, value in rows]
    label = max((cell_len(name) for name, _ in pairs), default=0) + 2
    space, room = " " * indent, line_width() - indent
    named = []
    for name, value in pairs:
        lines = wrapped(value, room - label) if on_terminal() else [value]
        if on_terminal() and max(map(cell_len, lines)) > room - label:
            lines = wrapped(value, room - 2)
            named += [space + name, *(f"{space}  {line}" for line in lines)]
            continue
        named.append(space + name + " " * (label - cell_len(name)) + lines[0])
        named += [" " * (indent + label) + line for line in lines[1:]]
    return named
