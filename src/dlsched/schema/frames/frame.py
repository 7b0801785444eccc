"""One data frame that was given, checked against its layout, with its cells as plain data."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dlsched.errors import InstanceError
from dlsched.schema.frames.layout import SINGLE, Table, nested_fields

if TYPE_CHECKING:
    import pandas

WHERE = "from_frames"
"""What errors name as their source."""


def place(frame: str, row: int | None, column: str | None) -> str:
    """Return a place in words: ``jobs, row 3, column id``; rows count from 0, as for ``iloc``."""
    words = [frame]
    if row is not None:
        words.append(f"row {row}")
    if column is not None:
        words.append(f"column {column}")
    return ", ".join(words)


def flaw(
    frame: str, row: int | None, column: str | None, problem: str, remedy: str
) -> InstanceError:
    """Return the error of a place in a frame."""
    return InstanceError(WHERE, place(frame, row, column), problem, remedy)


def unknown(path: str, problem: str, name: str, known: Sequence[str]) -> InstanceError:
    """Return the error of an unknown name, with the nearest known one."""
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    remedy = f"{hint}drop it, or rename it (known: {', '.join(known)})"
    return InstanceError(WHERE, path, problem, remedy)


_PLAIN = frozenset((str, int, bool))

MISSING: Any = None
"""What a cell without a value becomes: None, NaN, NaT, NA."""


def plain(value: Any) -> Any:
    """Return a value as plain data: no NumPy types, whole floats as integers, no value as None.

    A column of integers with gaps is a column of floats in pandas, so 2.0 stands for 2. What comes
    from a database may be a ``Decimal``.
    """
    if type(value) in _PLAIN:
        return value
    import pandas as pd

    if isinstance(value, np.generic):
        value = value.item()
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return MISSING
    if isinstance(value, (float, Decimal, Fraction)):
        return _whole(value)
    if isinstance(value, (Mapping, pd.Series)):
        return {plain(key): plain(entry) for key, entry in dict(value).items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(entry) for entry in value]
    return value


def _whole(value: float | Decimal | Fraction) -> Any:
    """Return a whole number as an integer, other numbers as they are."""
    if isinstance(value, Fraction) or math.isfinite(value):
        whole = int(value)
        return whole if whole == value else value
    return value


def column(series: pandas.Series[Any]) -> list[Any]:
    """Return a column's cells as plain data."""
    values: list[Any] = series.tolist()
    for i in np.flatnonzero(series.isna()):
        values[i] = MISSING
    return list(map(plain, values))


class Frame:
    """A frame: its columns as plain data, and the rows of each parent.

    Attributes
    ----------
    columns
        Name to cells.
    rows
        Cells of the parents' columns to the positions of their rows.

    Raises
    ------
    InstanceError
        If a column is unknown or stands twice, or one that identifies rows is missing or has a gap.
    """

    def __init__(self, where: Table, given: pandas.DataFrame) -> None:
        self.where = where
        named = [name for name in given.index.names if name is not None and name not in given]
        table = given.reset_index(level=named) if named else given
        names = [str(name) for name in table.columns]
        self._validate(names)
        self.columns = {name: column(table.iloc[:, i]) for i, name in enumerate(names)}
        for name in (*where.parents, *where.index):
            if name not in self.columns:
                raise flaw(where.name, None, name, "is missing", f"add it; {self._about(name)}")
        self.rows: dict[tuple[Any, ...], list[int]] = {}
        for row in range(len(given)):
            self.rows.setdefault(self.cells(row, where.parents), []).append(row)

    def _validate(self, names: Sequence[str]) -> None:
        """Refuse a column that is unknown or stands twice."""
        nested = nested_fields(self.where.model) if self.where.name != SINGLE else ()
        known = [*self.where.columns, *nested]
        wide = tuple(f"{field}." for field in nested)
        for i, name in enumerate(names):
            here = place(self.where.name, None, name)
            if name in names[:i]:
                raise InstanceError(WHERE, here, "stands twice", "give every column its own name")
            if name not in known and not name.startswith(wide):
                raise unknown(here, "is an unknown column", name, known)

    def cells(self, row: int, names: Iterable[str]) -> tuple[Any, ...]:
        """Return the cells of a row that identify something; none may be missing.

        `InstanceError` is raised if a column is missing, or a cell is empty or a list.
        """
        identity = []
        for name in names:
            if name not in self.columns:
                raise flaw(self.where.name, None, name, "is missing", "add the column")
            value = self.columns[name][row]
            if value is MISSING or isinstance(value, (list, dict)):
                problem = "is empty" if value is MISSING else "is a list"
                raise flaw(self.where.name, row, name, problem, self._about(name))
            identity.append(value)
        return tuple(identity)

    def _about(self, name: str) -> str:
        """Return what belongs into a column that identifies rows."""
        if name in self.where.parents:
            return f"write the id of the {name} that the row belongs to"
        return "write what identifies the entry: its id, its key, or its number in the list"
