"""Tables: as they are in a file or a pipe, and drawn by rich to fit a terminal."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from dlsched.cli.exits import put
from dlsched.cli.output import fields, line_width, on_terminal, put_line
from dlsched.text.figures import display, printable

STYLES = {
    "optimal": "green",
    "feasible": "yellow",
    "infeasible": "red",
    "unbounded": "red",
    "no solution": "red",
} | dict.fromkeys(
    ("error", "rejected", "wall_timeout", "memory", "crashed", "killed", "changed", "failed"),
    "bold red",
)
MARGIN = 2
BETWEEN = 2
"""Blanks between two columns on a terminal."""
_READABLE = 24
"""The least width of a wrapping column whose text is longer."""
Cells: TypeAlias = Sequence[object] | Mapping[str, object]

_left_out: dict[str, int] = {}
"""The columns that the command's tables left out, with the width that shows all of the table's."""


def put_left_out() -> None:
    """Write a line that names the columns that tables left out, if they did; forget them."""
    if _left_out:
        names = ", ".join(_left_out)
        remedy = f"COLUMNS={max(_left_out.values())} or --json shows them"
        put_line(f"  left out in {line_width()} columns: {names}; {remedy}", indent=4)
    _left_out.clear()


def put_table(
    columns: Sequence[str],
    rows: Iterable[Cells],
    title: str | None = None,
    text: Callable[[object], str] = display,
) -> None:
    """Write a table; on a terminal it fits, and secondary columns may be left out for that.

    Secondary columns without any value are left out, too. Names and numbers are never cut: where
    the other columns do not fit, every row is written as a block of lines.

    Parameters
    ----------
    columns
        Names; ``>`` after a name aligns the column to the right, with ``~`` its text may be wrapped
        at blanks. A number after ``<``, ``>`` or ``~`` makes it a secondary column, as ``"gap>5"``:
        on a narrow terminal those with the highest numbers are left out first.
    rows
        Cells in the order of the columns, or by their names; lists and mappings are written with
        commas.
    text
        Returns what is shown of a value.
    """
    table = _Text.of(columns, rows, text)
    fitting = table.fitting() if on_terminal() else table
    if title:
        put(_painted(title) + "\n")
    if fitting is None:
        for row in table.rows:
            fields({c.name: cell for c, cell in zip(table.columns, row, strict=True)}, MARGIN)
            put("\n")
        return
    for column in table.columns:
        if column not in fitting.columns:
            _left_out[column.name] = max(table.needs(), _left_out.get(column.name, 0))
    put("\n".join(fitting.drawn()) + "\n\n")


def fits(columns: Sequence[str], rows: Iterable[Cells]) -> bool:
    """Whether there is room for the primary columns of a table side by side."""
    return not on_terminal() or _Text.of(columns, rows, display).fitting() is not None


class _Column(NamedTuple):
    name: str
    right: bool
    wraps: bool
    drop: int

    @classmethod
    def of(cls, text: str) -> _Column:
        name, sign, drop = re.split(r"([<>~]|$)", text, maxsplit=1)
        return cls(name, sign == ">", sign == "~", int(drop or 0))


@dataclass(frozen=True)
class _Text:
    """The columns of a table that are shown, and its cells as text."""

    columns: Sequence[_Column]
    rows: Sequence[Sequence[str]]

    @classmethod
    def of(
        cls, columns: Sequence[str], rows: Iterable[Cells], text: Callable[[object], str]
    ) -> _Text:
        heads = [_Column.of(column) for column in columns]
        cells = ([row[h.name] for h in heads] if isinstance(row, Mapping) else row for row in rows)
        table = cls(heads, [[printable(_cell(value, text)) for value in row] for row in cells])
        return table.only([h for i, h in enumerate(heads) if not h.drop or any(table.cells(i))])

    def cells(self, i: int) -> list[str]:
        return [row[i] for row in self.rows]

    def only(self, kept: Sequence[_Column]) -> _Text:
        chosen = [i for i, column in enumerate(self.columns) if column in kept]
        return _Text(
            [self.columns[i] for i in chosen], [[row[i] for i in chosen] for row in self.rows]
        )

    def widths(self) -> tuple[list[int], list[int]]:
        """Return the least width of each column, and that without wrapping."""
        from rich.cells import cell_len

        least, whole = [], []
        for i, column in enumerate(self.columns):
            texts = [column.name, *self.cells(i)]
            whole.append(max(map(cell_len, texts)))
            words = [cell_len(word) for text in texts for word in text.split()]
            least.append(min(whole[-1], max(_READABLE, *words)) if column.wraps else whole[-1])
        return least, whole

    def needs(self) -> int:
        """Return the width of a terminal on which all columns are shown."""
        return MARGIN - BETWEEN + sum(width + BETWEEN for width in self.widths()[0])

    def fitting(self) -> _Text | None:
        """Return the table with the columns that fit; ``None`` if the primary ones do not."""
        table = self
        while table.needs() > line_width():
            first = max(table.columns, key=lambda column: column.drop)
            if not first.drop:
                return None
            table = table.only([column for column in table.columns if column is not first])
        return table

    def drawn(self) -> list[str]:
        """Return the lines of a table that fits the terminal; in a file none is wrapped."""
        from rich import box
        from rich.table import Table
        from rich.text import Text

        widths, whole = self.widths()
        text = [sum(map(len, self.cells(i))) for i in range(len(widths))]
        if not on_terminal():
            widths = whole
        for _ in range(line_width() - self.needs()):
            growing = [i for i, width in enumerate(widths) if width < whole[i]]
            if growing:  # widths as the roots of the lengths make the sum of the lines the least
                widths[max(growing, key=lambda i: text[i] / widths[i] ** 2)] += 1
        right = 0 if on_terminal() else 1
        table = Table(box=box.SIMPLE_HEAD, padding=(0, right, 0, 1))
        for column, width in zip(self.columns, widths, strict=True):
            side: Literal["left", "right"] = "right" if column.right else "left"
            table.add_column(Text(column.name), justify=side, width=width, no_wrap=not column.wraps)
        for row in self.rows:
            table.add_row(*(Text(cell, STYLES.get(cell, "")) for cell in row))
        return _rendered(table, MARGIN + sum(width + BETWEEN + right for width in widths))[1:-1]


def _cell(value: object, text: Callable[[object], str]) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{name}={text(entry)}" for name, entry in value.items())
    return "" if value is None else text(value)


def _painted(title: str) -> str:
    """Return a title, bold if stdout is a terminal with colours."""
    if not (sys.stdout and sys.stdout.isatty()):
        return title
    from rich.text import Text

    return "\n".join(_rendered(Text(title, "bold"), line_width()))


def _rendered(thing: Any, width: int) -> list[str]:
    """Return the lines that rich writes for stdout."""
    from rich.console import Console

    console = Console(
        width=width + 1,  # tables end in a blank, which is not written
        height=25,  # rich takes a width for its own only with a height
        color_system=None if os.environ.get("NO_COLOR") else "auto",
    )
    with console.capture() as captured:
        console.print(thing)
    return [line.rstrip() for line in captured.get().splitlines()]
