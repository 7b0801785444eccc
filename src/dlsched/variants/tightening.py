"""Rows with coefficients of integer variables no larger than the row needs.

3 <= 1e13 y with a binary y says y = 1, but y = 3e-13 is an integer by a solver's tolerances. As
3 <= 3 y it says the same of whole numbers, and excludes fractions near them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from dlsched.solvers.row_scale import ExactRow
from dlsched.variants.exact_values import sum_of

Terms: TypeAlias = Mapping[int, Fraction]
"""Coefficients by column."""
LEAST = Fraction(1, 10**7)
"""A solver may leave out coefficients below this part of a row's largest, though a row be decided
by them: HiGHS those below a hundredth of it."""


class Column(NamedTuple):
    """A variable or a sum: its bounds, ``None`` for none, and whether it is integer."""

    lower: Fraction | None
    upper: Fraction | None
    integer: bool = False

    @property
    def empty(self) -> bool:
        """Whether no value is within the bounds."""
        return self.lower is not None and self.upper is not None and self.lower > self.upper

    def has(self, value: Fraction) -> bool:
        """Whether a value is within the bounds."""
        return self.nearest(value) == value

    def nearest(self, value: Fraction) -> Fraction:
        """Return the value within the bounds that is nearest."""
        if self.lower is not None and value < self.lower:
            return self.lower
        return self.upper if self.upper is not None and value > self.upper else value

    def room(self, value: Fraction, step: int) -> Fraction | None:
        """Return how far a value may go up (1) or down (-1); ``None`` for without end."""
        end = self.upper if step > 0 else self.lower
        return None if end is None else step * (end - value)

    def times(self, factor: Fraction) -> Column:
        """Return the bounds of a multiple."""
        low, high = (None if end is None else end * factor for end in (self.lower, self.upper))
        return Column(low, high) if factor > 0 else Column(high, low)

    def whole(self) -> Column:
        """Return the bounds of the whole numbers within."""
        low = None if self.lower is None else Fraction(math.ceil(self.lower))
        high = None if self.upper is None else Fraction(math.floor(self.upper))
        return Column(low, high, True)

    def meet(self, other: Column) -> Column:
        """Return the bounds of what is within both."""
        lows = [end for end in (self.lower, other.lower) if end is not None]
        highs = [end for end in (self.upper, other.upper) if end is not None]
        return Column(max(lows, default=None), min(highs, default=None), self.integer)


def with_smaller(row: ExactRow, columns: Mapping[int, Column]) -> ExactRow:
    """Return a row; one with one limit and coefficients too unlike for a solver has smaller ones.

    It holds at the same points, of those where integer variables are integers within their bounds.
    """
    if not differ_much(row.terms) or (row.lower is None) == (row.upper is None):
        return row
    sign = 1 if row.upper is None else -1
    least = row.lower if row.upper is None else -row.upper
    assert least is not None
    turned = {key: sign * coefficient for key, coefficient in row.terms.items()}
    smaller, limit = _at_least(turned, least, columns)
    terms = {key: sign * coefficient for key, coefficient in smaller.items()}
    return ExactRow(terms, limit, None) if sign == 1 else ExactRow(terms, None, -limit)


def differ_much(terms: Terms) -> bool:
    """Whether a solver may leave out a coefficient as too small."""
    sizes = [abs(coefficient) for coefficient in terms.values()]
    return bool(sizes) and min(sizes) < max(sizes) * LEAST


def _at_least(
    terms: Terms, limit: Fraction, columns: Mapping[int, Column]
) -> tuple[Terms, Fraction]:
    """Return a row "at least" with smaller coefficients of integer variables, and its limit.

    Where every term is at its least, something is missing to the limit. A term that grows by more
    than this with one step of its variable satisfies the row as well if it grows by just this.
    """
    ends = {key: columns[key].lower if c > 0 else columns[key].upper for key, c in terms.items()}
    known = {key: end for key, end in ends.items() if end is not None}
    if len(known) < len(terms):
        return terms, limit
    missing = limit - sum_of(terms, known)
    if missing <= 0:
        return terms, limit
    smaller = {
        key: max(-missing, min(missing, c)) if columns[key].integer else c
        for key, c in terms.items()
    }
    least = sum_of(smaller, known)
    return smaller, missing + least
