"""Tables that fit the terminal: names and numbers whole, secondary columns left out first."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import typer

from dlsched.cli.exits import put
from dlsched.cli.text import broken, cell_len, line_width, named_lines, wrapped
from dlsched.figures import display, printable

_READABLE = 24
"""Width that a wrapping column gets before secondary columns are left out."""
_MARGIN = 2
_BETWEEN = (3, 2)
"""Blanks between two columns, on a wide terminal and on a narrow one."""
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


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    right
        Whether it is aligned to the right, as numbers are.
    drop
        On a narrow terminal the columns with the highest value are left out first; those with 0
        are always shown.
    wraps
        Whether its text may be wrapped at blanks.
    heading
        Whether its values stand in lines above their rows where the columns do not fit side by
        side. Equal values are expected in consecutive rows.
    shortens
        What is left out where a cell is shown in its short form; see `put_table`.
    """

    name: str
    right: bool = False
    drop: int = 0
    wraps: bool = False
    heading: bool = False
    shortens: str = ""


@dataclass
class LeftOut:
    """The columns that tables left out, for one line below the last of them.

    Attributes
    ----------
    names
        The names of the columns.
    width
        Width of a terminal on which all are shown.
    remedy
        How to see them, instead of a wider terminal or ``--json``.
    """

    names: dict[str, None] = field(default_factory=dict)
    width: int = 0
    remedy: str = ""

    def put(self) -> None:
        """Write the line, if any column was left out."""
        if self.names:
            remedy = self.remedy or f"COLUMNS={self.width} or --json shows them"
            names = ", ".join(self.names)
            text = f"  left out in {line_width()} columns: {names}; {remedy}"
            put("\n".join(broken(text, indent=4)) + "\n")


@dataclass(frozen=True)
class _Table:
    """Columns and cells as text, and the way in which they fit the terminal."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    between: int = _BETWEEN[0]
    grouped: bool = False

    def __post_init__(self) -> None:
        assert all(len(row) == len(self.columns) for row in self.rows)

    def cells(self, i: int) -> list[str]:
        return [row[i] for row in self.rows]

    def only(self, kept: Sequence[int], between: int) -> _Table:
        """Return the table with some columns."""
        rows = [[row[i] for i in kept] for row in self.rows]
        return _Table([self.columns[i] for i in kept], rows, between, self.grouped)

    def beside(self) -> list[int]:
        """Return the columns that stand side by side."""
        return [i for i, c in enumerate(self.columns) if not (self.grouped and c.heading)]

    def whole(self, i: int) -> int:
        """Return a column's width without wrapping."""
        return max(map(cell_len, (self.columns[i].name, *self.cells(i))))

    def least(self, i: int, readable: int = 0) -> int:
        """Return a column's least width; with wrapping that of its longest word."""
        whole = self.whole(i)
        if not self.columns[i].wraps:
            return whole
        words = (word for text in (self.columns[i].name, *self.cells(i)) for word in text.split())
        return min(whole, max(readable, max(map(cell_len, words), default=0)))

    def total(self, widths: Sequence[int]) -> int:
        return _MARGIN + sum(widths) + self.between * (len(widths) - 1)

    def fitted(self, width: int) -> _Table | None:
        """Return the table with the columns that fit; ``None`` if the primary ones do not."""
        kept = list(range(len(self.columns)))
        order = sorted((i for i in kept if self.columns[i].drop), key=self._drop)
        while True:
            for between in _BETWEEN:
                table = self.only(kept, between)
                readable = _READABLE if order else 0
                if table.total([table.least(i, readable) for i in table.beside()]) <= width:
                    return table
            if not order:
                return None
            kept.remove(order.pop(0))

    def _drop(self, i: int) -> int:
        return -self.columns[i].drop

    def widths(self, width: int) -> list[int]:
        """Return the widths: the least, and what remains to the wrapping columns with most text."""
        beside = self.beside()
        found = [self.least(i) for i in beside]
        text = [sum(map(cell_len, self.cells(i))) for i in beside]
        for _ in range(width - self.total(found)):
            growing = [k for k, i in enumerate(beside) if found[k] < self.whole(i)]
            if not growing:
                break
            # Widths as the roots of the lengths make the sum of the lines the least.
            found[max(growing, key=lambda k: text[k] / found[k] ** 2)] += 1
        return found

    def needs(self) -> int:
        """Return the width of a terminal on which all columns are shown."""
        least = [self.least(i, _READABLE) for i in range(len(self.columns))]
        return _MARGIN + sum(least) + _BETWEEN[1] * (len(least) - 1)


def put_table(
    columns: Sequence[str | Column],
    rows: Iterable[Sequence[object]],
    title: str | None = None,
    left_out: LeftOut | None = None,
) -> None:
    """Write a table that fits the terminal; a line names the secondary columns left out for that.

    Secondary columns without any value are left out, too. Names and numbers are never cut: where
    the other columns do not fit, the values of headings stand above their rows, and where that is
    not enough, every row is written as a block of lines.

    Parameters
    ----------
    columns
        A column given as a text that ends in ``>`` is aligned to the right.
    rows
        A cell given as a pair has a long form and a short one for narrow terminals.
    left_out
        Collects what is left out, for one line below several tables.
    """
    heads = [c if isinstance(c, Column) else _column(c) for c in columns]
    given = [list(row) for row in rows]
    table = _Table(heads, [[_text(cell, 0) for cell in row] for row in given])
    shown = [i for i, h in enumerate(heads) if not h.drop or any(table.cells(i))]
    table = table.only(shown, _BETWEEN[0])
    brief = _Table(heads, [[_text(cell, 1) for cell in row] for row in given])
    brief = brief.only(shown, _BETWEEN[0])
    note = LeftOut() if left_out is None else left_out
    put("\n".join(_lines(table, brief, title, note)) + "\n")
    if left_out is None:
        note.put()
    put("\n")


def _column(name: str) -> Column:
    return Column(name.removesuffix(">"), right=name.endswith(">"))


def _text(cell: object, form: int) -> str:
    """Return a cell's text in its long form (0) or its short one (1)."""
    return printable(display(cell[form] if isinstance(cell, tuple) else cell))


def _lines(table: _Table, brief: _Table, title: str | None, note: LeftOut) -> list[str]:
    """Return a table's lines, in the first layout that fits the terminal."""
    width = line_width()
    fitted = _fitted(table, brief, width)
    if fitted is None:
        return [*([title] if title else []), *_blocks(table)]
    chosen, short = fitted
    kept = set(chosen.columns)
    lost = [c.name for c in table.columns if c not in kept]
    lost += [c.shortens for c in chosen.columns if short and c.shortens]
    if lost:
        note.names |= dict.fromkeys(lost)
        note.width = max(note.width, table.needs())
    return _drawn(chosen, chosen.widths(width), title)


def _fitted(table: _Table, brief: _Table, width: int) -> tuple[_Table, bool] | None:
    headings = any(c.heading for c in table.columns)
    for each in (table, brief):
        for grouped in (False, True) if headings else (False,):
            found = _Table(each.columns, each.rows, grouped=grouped).fitted(width)
            if found is not None:
                return found, each is brief
    return None


def _blocks(table: _Table) -> list[str]:
    """Return a block of lines per row, with all columns that have a value."""
    lines: list[str] = []
    for row in table.rows:
        pairs = [(c.name, cell) for c, cell in zip(table.columns, row, strict=True) if cell]
        lines += ["", *named_lines(pairs, indent=_MARGIN)]
    return lines[1:]


def _drawn(table: _Table, widths: Sequence[int], title: str | None) -> list[str]:
    """Return the lines of a table, in colour on a terminal."""
    paint = _painter()
    lines = [paint(title, "bold")] if title else []
    beside = table.beside()
    names = [table.columns[i].name for i in beside]
    lines += _row_lines(table, widths, names, lambda text: paint(text, "bold"))
    rule = "─" if "utf" in (getattr(sys.stdout, "encoding", None) or "utf").lower() else "-"
    lines.append(" " + rule * (table.total(widths) - 1))
    above = [i for i in range(len(table.columns)) if i not in beside]
    for heading, group in groupby(table.rows, key=lambda row: [row[i] for i in above]):
        if above:
            lines.append(" " + paint("  ".join(heading), "bold"))
        for row in group:
            lines += _row_lines(
                table, widths, [row[i] for i in beside], lambda cell: paint(cell, STYLES.get(cell))
            )
    return lines


def _row_lines(
    table: _Table, widths: Sequence[int], cells: Sequence[str], painted: Callable[[str], str]
) -> list[str]:
    """Return the lines of a row; it has several where a cell is wrapped."""
    columns = [table.columns[i] for i in table.beside()]
    parts = [wrapped(cell, width) for cell, width in zip(cells, widths, strict=True)]
    lines = []
    for k in range(max(map(len, parts))):
        line, blanks = "", _MARGIN
        for column, part, width in zip(columns, parts, widths, strict=True):
            text = part[k] if k < len(part) else ""
            space = width - cell_len(text)
            if text:
                line += " " * (blanks + (space if column.right else 0)) + painted(text)
                blanks = (0 if column.right else space) + table.between
            else:
                blanks += width + table.between
        lines.append(line)
    return lines


def _painter() -> Callable[[str, str | None], str]:
    """Return a function that puts a text in a style, if stdout is a terminal with colours."""
    colours = bool(sys.stdout and sys.stdout.isatty()) and not (
        os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    )

    def paint(text: str, style: str | None) -> str:
        if not (colours and style):
            return text
        colour = style.removeprefix("bold").strip() or None
        return typer.style(text, fg=colour, bold=style.startswith("bold"))

    return paint
