"""Rows of a table with delimiters, in parts, with errors that name the row and the column."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TextIO

import numpy as np

from dlsched.errors import InstanceError
from dlsched.records.readers.files import lines
from dlsched.records.readers.values import Ints

if TYPE_CHECKING:
    import pandas as pd

CHUNK = 50_000
"""Rows that are read at a time, so that their texts are not in memory together."""
MOST_CELLS = 100 * CHUNK
"""Cells that are read at a time."""
MARKS = (",", ";", "\t", "|")
"""What may be between columns."""


class Part(NamedTuple):
    """Some rows: their numbers in the file, the cells by column, and rows of a wrong width."""

    rows: Ints
    cells: dict[str, pd.Series[str]]
    broken: dict[int, str]


class Table:
    """A text of rows, read from top to bottom; ``header`` are the names of the columns."""

    def __init__(
        self,
        text: TextIO,
        where: str,
        *,
        names: Sequence[str] | None = None,
        delimiter: str | None = None,
    ) -> None:
        """Read the header from the file, unless its names are given: then the file has none."""
        self.where = where
        rows = lines(text, where)
        first = next(rows, "")
        # One line says what is between the columns.
        mark = delimiter or max(MARKS, key=first.count)
        self._reader = csv.reader(self._with(first, rows), delimiter=mark, strict=True)
        self.header = list(names) if names is not None else self._first()

    @staticmethod
    def _with(first: str, rows: Iterator[str]) -> Iterator[str]:
        if first:
            yield first.removeprefix("\ufeff")
        yield from rows

    def _first(self) -> list[str]:
        names = [cell.strip() for cell in next(self._guarded(), [])]
        if any(names):
            return names
        raise InstanceError(self.where, "row 1", "has no column names", "begin with a header row")

    def _guarded(self) -> Iterator[list[str]]:
        try:
            yield from self._reader
        except csv.Error as error:
            row = f"row {max(1, self._reader.line_num)}"
            raise InstanceError(
                self.where, row, f"is not CSV ({error})", "correct it there"
            ) from None

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the number of each row, that of the file's first being 1, and its cells."""
        for cells in self._guarded():
            if (cells and cells[0]) or "".join(cells).strip():
                yield self._reader.line_num, cells

    def parts(self, columns: Collection[str], first: int = CHUNK) -> Iterator[Part]:
        """Yield some columns in parts, the first one of as many rows as `first` says."""
        import pandas as pd

        width = len(self.header)
        places = {name: self.header.index(name) for name in dict.fromkeys(columns)}
        listed = self._rows()
        size = first
        while chunk := _chunk(listed, size):
            size = CHUNK
            broken: dict[int, str] = {}
            for place, (_, cells) in enumerate(chunk):
                if len(cells) != width:
                    broken[place] = f"has {len(cells)} cells, the header has {width}"
                    cells[:] = [""] * width
            numbers = np.array([row for row, _ in chunk], np.int64)
            texts = {
                name: pd.Series([cells[place] for _, cells in chunk], dtype=object)
                for name, place in places.items()
            }
            yield Part(numbers, texts, broken)


def _chunk(rows: Iterator[tuple[int, list[str]]], size: int) -> list[tuple[int, list[str]]]:
    """Return the next rows, fewer where these are very wide."""
    chunk = []
    cells = 0
    for row in rows:
        chunk.append(row)
        cells += len(row[1])
        if len(chunk) == size or cells > MOST_CELLS:
            break
    return chunk
