"""Which columns of a table fit a terminal, side by side or under headings, and their widths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dlsched.cli.text import cell_len

MARGIN = 2
BETWEEN = (3, 2)
"""Blanks between two columns, on a wide terminal and on a narrow one."""
_READABLE = 24
"""Width that a wrapping column gets before secondary columns are left out."""


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


@dataclass(frozen=True)
class Table:
    """Columns and cells as text, and the way in which they fit the terminal."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    between: int = BETWEEN[0]
    grouped: bool = False

    def __post_init__(self) -> None:
        """Check the lengths of the rows."""
        assert all(len(row) == len(self.columns) for row in self.rows)

    def cells(self, i: int) -> list[str]:
        """Return a column's cells."""
        return [row[i] for row in self.rows]

    def only(self, kept: Sequence[int], between: int) -> Table:
        """Return the table with some columns."""
        rows = [[row[i] for i in kept] for row in self.rows]
        return Table([self.columns[i] for i in kept], rows, between, self.grouped)

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
        """Return the width of a table of such columns."""
        return MARGIN + sum(widths) + self.between * (len(widths) - 1)

    def fitted(self, width: int) -> Table | None:
        """Return the table with the columns that fit; ``None`` if the primary ones do not."""
        kept = list(range(len(self.columns)))
        order = sorted((i for i in kept if self.columns[i].drop), key=self._drop)
        while True:
            for between in BETWEEN:
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
        widths = [self.least(i) for i in beside]
        text = [sum(map(cell_len, self.cells(i))) for i in beside]
        for _ in range(width - self.total(widths)):
            growing = [k for k, i in enumerate(beside) if widths[k] < self.whole(i)]
            if not growing:
                break
            # Widths as the roots of the lengths make the sum of the lines the least.
            widths[max(growing, key=lambda k: text[k] / widths[k] ** 2)] += 1
        return widths

    def needs(self) -> int:
        """Return the width of a terminal on which all columns are shown."""
        least = [self.least(i, _READABLE) for i in range(len(self.columns))]
        return MARGIN + sum(least) + BETWEEN[1] * (len(least) - 1)


def fitted(table: Table, brief: Table, width: int) -> tuple[Table, bool] | None:
    """Return the table in the first layout that fits, and whether that has the short cells.

    Side by side comes before under headings, and both before short cells. ``None`` if no layout has
    room for all primary columns.

    Parameters
    ----------
    table, brief
        The table with the long form of each cell, and with the short one.
    """
    headings = any(c.heading for c in table.columns)
    for form in (table, brief):
        for grouped in (False, True) if headings else (False,):
            layout = Table(form.columns, form.rows, grouped=grouped).fitted(width)
            if layout is not None:
                return layout, form is brief
    return None
