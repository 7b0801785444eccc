"""Rows of a CSV file as cells, with errors that name the row and the column."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from typing import TextIO

from dlsched.errors import InstanceError
from dlsched.records.traces.lines import lines


class Table:
    """A CSV file that begins with a header row, read from top to bottom.

    Attributes
    ----------
    header
        Names of the columns, without blanks around them.
    """

    def __init__(
        self,
        text: TextIO,
        where: str,
        header: Sequence[str] | None = None,
        remedy: str = "write one cell per column",
    ) -> None:
        """Read the header from the file, unless it is given: then the file has none.

        `remedy` is what to do about a row with a wrong number of cells.
        """
        self.where = where
        self._remedy = remedy
        self._reader = csv.reader(lines(text, where), strict=True)
        self.header = self._first() if header is None else list(header)

    def _first(self) -> list[str]:
        with_errors = self._guarded()
        names = [cell.strip() for cell in next(with_errors, [])]
        if not any(names):
            raise InstanceError(
                self.where, "row 1", "has no column names", "begin with a header row"
            )
        return names

    def _guarded(self) -> Iterator[list[str]]:
        try:
            yield from self._reader
        except csv.Error as error:
            row = f"row {max(1, self._reader.line_num)}"
            raise InstanceError(
                self.where, row, f"is not CSV ({error})", "correct it there"
            ) from None

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the number of each row, the header being row 1, and its cells; skip empty rows."""
        width = len(self.header)
        for cells in self._guarded():
            row = self._reader.line_num
            if len(cells) != width:
                if not "".join(cells).strip():
                    continue
                problem = f"has {len(cells)} cells, the header has {width}"
                raise InstanceError(self.where, f"row {row}", problem, self._remedy)
            if not cells[0] and not "".join(cells).strip():
                continue
            yield row, cells

    def place(self, name: str, remedy: str) -> int:
        """Return the position of a column that must be there once."""
        return position(name, self.header, self.where, f"row 1, {name:.40}", remedy)


def position(name: str, header: Sequence[str], where: str, path: str, remedy: str) -> int:
    """Return the position of a name that must be in a header once; errors have the path."""
    count = header.count(name)
    if count > 1:
        problem = "there are two columns of this name"
        raise InstanceError(where, path, problem, "keep one of the two")
    if not count:
        some = ", ".join(header if len(header) <= 16 else [*header[:16], "..."])
        problem = "there is no such column"
        raise InstanceError(where, path, problem, f"{remedy}; it has: {some}")
    return header.index(name)
