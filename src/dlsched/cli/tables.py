"""Tables that fit the terminal: names and numbers whole, secondary columns left out first."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import typer

from dlsched.cli.exits import put
from dlsched.cli.layout import BETWEEN, MARGIN, Column, Table, fitted
from dlsched.cli.text import broken, cell_len, line_width, named_lines, wrapped
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
    table, brief = _long_and_brief(columns, rows)
    note = LeftOut() if left_out is None else left_out
    put("\n".join(_lines(table, brief, title, note)) + "\n")
    if left_out is None:
        note.put()
    put("\n")


def fits(columns: Sequence[str | Column], rows: Iterable[Sequence[object]]) -> bool:
    """Whether the terminal has room for the primary columns of a table side by side."""
    return fitted(*_long_and_brief(columns, rows), line_width()) is not None


def _long_and_brief(
    columns: Sequence[str | Column], rows: Iterable[Sequence[object]]
) -> tuple[Table, Table]:
    """Return a table with the long form of each cell and with the short one.

    Secondary columns without any value are left out.
    """
    heads = [c if isinstance(c, Column) else _column(c) for c in columns]
    given = [list(row) for row in rows]
    table = Table(heads, [[_text(cell, 0) for cell in row] for row in given])
    brief = Table(heads, [[_text(cell, 1) for cell in row] for row in given])
    shown = [i for i, h in enumerate(heads) if not h.drop or any(table.cells(i))]
    return table.only(shown, BETWEEN[0]), brief.only(shown, BETWEEN[0])


def _column(name: str) -> Column:
    return Column(name.removesuffix(">"), right=name.endswith(">"))


def _text(cell: object, form: int) -> str:
    """Return a cell's text in its long form (0) or its short one (1)."""
    return printable(display(cell[form] if isinstance(cell, tuple) else cell))


def _lines(table: Table, brief: Table, title: str | None, note: LeftOut) -> list[str]:
    """Return a table's lines, in the first layout that fits the terminal."""
    width = line_width()
    layout = fitted(table, brief, width)
    if layout is None:
        return [*([title] if title else []), *_blocks(table)]
    chosen, short = layout
    kept = set(chosen.columns)
    lost = [c.name for c in table.columns if c not in kept]
    lost += [c.shortens for c in chosen.columns if short and c.shortens]
    if lost:
        note.names |= dict.fromkeys(lost)
        note.width = max(note.width, table.needs())
    return _drawn(chosen, chosen.widths(width), title)


def _blocks(table: Table) -> list[str]:
    """Return a block of lines per row, with all columns that have a value."""
    lines: list[str] = []
    for row in table.rows:
        pairs = [(c.name, cell) for c, cell in zip(table.columns, row, strict=True) if cell]
        lines += ["", *named_lines(pairs, indent=MARGIN)]
    return lines[1:]


def _drawn(table: Table, widths: Sequence[int], title: str | None) -> list[str]:
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
    table: Table, widths: Sequence[int], cells: Sequence[str], painted: Callable[[str], str]
) -> list[str]:
    """Return the lines of a row; it has several where a cell is wrapped."""
    columns = [table.columns[i] for i in table.beside()]
    parts = [wrapped(cell, width) for cell, width in zip(cells, widths, strict=True)]
    lines = []
    for k in range(max(map(len, parts))):
        line, blanks = "", MARGIN
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
