"""Drafts of forms: rows and costs in fractions, which are rounded outward to integers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction

from dlsched.proofs.forms.form import Form, Goal, Row
from dlsched.proofs.forms.limit import poll

BITS = 44
"""The largest number of a row has at least this number of bits, and so has that of the costs.

As this holds for rows of small integers too, the multipliers of a leaf have about as many digits as
each other.
"""

Terms = Mapping[int, Fraction | int]
"""Coefficients by column."""


class Draft:
    """Columns from 0 to an integer, and rows that every point of the exact rows satisfies.

    No column is negative, so a sum with coefficients rounded down is no larger.
    """

    def __init__(self) -> None:
        self.upper: list[int] = []
        self.integer: list[bool] = []
        self.rows: list[Row] = []

    def column(self, upper: Fraction | int, integer: bool = False) -> int:
        """Add a column from 0 to a number, which is rounded up; return its position."""
        self.upper.append(math.ceil(upper))
        self.integer.append(integer)
        return len(self.upper) - 1

    def at_most(self, terms: Terms, high: Fraction | int) -> None:
        """State that a sum is at most a number."""
        bits = _bits([*terms.values(), high])
        side = math.ceil(high * 2**bits)
        self.rows.append(Row(_rounded(terms, bits, math.floor), None, side, bits))

    def at_least(self, terms: Terms, low: Fraction | int) -> None:
        """State that a sum is at least a number."""
        bits = _bits([*terms.values(), low])
        side = math.floor(low * 2**bits)
        self.rows.append(Row(_rounded(terms, bits, math.ceil), side, None, bits))

    def equal(self, terms: Mapping[int, int], value: int) -> None:
        """State that a sum with whole coefficients is a whole number."""
        bits = _bits([*terms.values(), value])
        side = value * 2**bits
        self.rows.append(Row(_rounded(terms, bits, math.floor), side, side, bits))

    def form(self, name: str, level: str, costs: Terms) -> Form:
        """Return the form of a level that is minimized and at least these costs."""
        bits = _bits(costs.values())
        cells = _rounded(costs, bits, math.floor)
        goal = Goal(level, 1, cells, 0, Fraction(1, 2**bits), False)
        lower = [0] * len(self.upper)
        return Form(name, lower, self.upper, self.integer, self.rows, [goal])


def _rounded(terms: Terms, bits: int, rounding: Callable[[Fraction | int], int]) -> dict[int, int]:
    """Return coefficients times ``2**bits``, rounded; those that are 0 are left out."""
    cells = {j: rounding(a * 2**bits) for j, a in terms.items()}
    return {j: a for j, a in cells.items() if a}


def _bits(values: Iterable[Fraction | int]) -> int:
    poll()
    largest = max(map(abs, map(Fraction, values)), default=Fraction(0))
    integer_bits = largest.numerator.bit_length() - largest.denominator.bit_length()
    return max(0, BITS - integer_bits)
