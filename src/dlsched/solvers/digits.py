"""Rows of large integers as rows of small ones, which solvers' absolute tolerances can tell apart.

For integers ``a``, ``b``, integer columns x and a base B, let ``a = B h + l``, ``b = B g + k``,
``0 <= l, k < B``. Then

    a x <= b   exactly if there is an integer c with   l x - B c <= k   and   h x + c <= g :

the first row and B times the second one sum up to ``a x <= b``; and if that holds, the integer
``c = ceil((l x - k) / B)`` meets the first row, and the second one, which is ``a x <= b`` divided
by B and rounded down.
"""

import math
from collections.abc import Hashable, Mapping
from typing import Generic, NamedTuple, TypeAlias, TypeVar

BASE = 2**12
"""A carry that is an integer but for a solver's 1e-6 changes a row by less than one hundredth."""
LARGEST = 2**20
"""Rows with integers up to this are passed to solvers as they are."""

Key = TypeVar("Key", bound=Hashable)


class Carry(NamedTuple):
    """The bounds of a column that carries from a digit's row to the next one."""

    low: int
    high: int


Cells: TypeAlias = Mapping[Key, int]
"""Integers by column: the coefficients of a row, bounds, or values."""


class DigitRow(NamedTuple, Generic[Key]):
    """One digit's row: ``cells x + (the carry before) - BASE (its own carry) <= high``.

    The first digit has no carry before it, the last one none of its own: ``carry`` is ``None``.
    """

    cells: dict[Key, int]
    high: int
    carry: Carry | None


class IntegerRow(NamedTuple, Generic[Key]):
    """A row ``cells x <= high``."""

    cells: dict[Key, int]
    high: int


def small(cells: Cells[Key], high: int) -> bool:
    """Whether a row ``cells x <= high`` needs no digits."""
    return max(map(abs, [*cells.values(), high])) <= LARGEST


def digit_rows(cells: Cells[Key], high: int, most: Cells[Key]) -> list[DigitRow[Key]]:
    """Return ``cells x <= high`` in digits, the lowest first; one row if its integers are small.

    `cells`, `high`: the row. `most`: upper bound of each column, whose lower bound is 0.
    """
    rows: list[DigitRow[Key]] = []
    before = Carry(0, 0)
    while not small(cells, high):
        digits = {key: a % BASE for key, a in cells.items() if a % BASE}
        largest = sum(a * most[key] for key, a in digits.items())
        high, k = divmod(high, BASE)
        low_carry = -((k - before.low) // BASE)
        high_carry = -((k - before.high - largest) // BASE)
        before = Carry(low_carry, high_carry)
        rows.append(DigitRow(digits, k, before))
        cells = {key: a // BASE for key, a in cells.items() if a // BASE}
    return [*rows, DigitRow(dict(cells), high, None)]


def tightened(cells: Cells[Key], high: int, most: Cells[Key]) -> IntegerRow[Key]:
    """Return a row with smaller integers that the same integers x from 0 to `most` satisfy.

    Where a column with a negative coefficient is 1, no more is needed than what makes the row hold
    for all others. A row that always holds is returned without cells.
    """
    largest = sum(a * most[key] for key, a in cells.items() if a > 0)
    if largest <= high:
        return IntegerRow({}, 0)
    smaller = {key: max(a, high - largest) for key, a in cells.items() if a}
    divisor = math.gcd(*smaller.values())
    return _divided(smaller, high, divisor)


def rounded_down(cells: Cells[Key], high: int, most: Cells[Key]) -> IntegerRow[Key]:
    """Return a row of small integers that all integers x from 0 with ``cells x <= high`` satisfy.

    A row of small integers stays as it is. A larger one is divided, and both sides are rounded
    down, the right one because the left one is then an integer.
    """
    if small(cells, high):
        return IntegerRow(dict(cells), high)
    row = tightened(cells, high, most)
    largest = max(map(abs, [*row.cells.values(), row.high]))
    divisor = -(-largest // LARGEST) or 1
    return _divided(row.cells, row.high, divisor)


def _divided(cells: Cells[Key], high: int, divisor: int) -> IntegerRow[Key]:
    """Return a row divided by a number, with both sides rounded down."""
    return IntegerRow({key: a // divisor for key, a in cells.items()}, high // divisor)


def carries(rows: list[DigitRow[Key]], x: Cells[Key]) -> list[int]:
    """Return the least carries with which the columns x satisfy all rows but the last."""
    values: list[int] = []
    before = 0
    for row in rows:
        if row.carry is not None:
            total = sum(a * x[key] for key, a in row.cells.items())
            before = -((row.high - total - before) // BASE)
            values.append(before)
    return values
