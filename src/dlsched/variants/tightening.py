"""Rows with coefficients of integer variables no larger than the row needs.

3 <= 1e13 y with a binary y says y = 1, but y = 3e-13 is an integer by a solver's tolerances. As
3 <= 3 y it says the same of whole numbers, and excludes fractions near them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from dlsched.solvers.row_scale import RowScale
from dlsched.variants.exact_values import exact

Terms: TypeAlias = dict[int, Fraction]
"""Coefficients by column."""
LEAST = Fraction(1, 10**7)
"""A solver may leave out coefficients below this part of a row's largest, though a row be decided
by them: HiGHS those below a hundredth of it."""


@dataclass(frozen=True)
class Column:
    """A variable that is not constant: its bounds, and whether it is integer."""

    lower: Fraction | None
    upper: Fraction | None
    integer: bool

    @classmethod
    def of(cls, variable: Any) -> Column:
        """Return that of a Pyomo variable."""
        low, high = (None if b is None or math.isinf(b) else exact(b) for b in variable.bounds)
        return cls(low, high, not variable.is_continuous())


def tightened(
    row: RowScale, columns: Mapping[int, Column], values: Mapping[int, Fraction]
) -> Iterator[tuple[Terms, Fraction | None, Fraction | None]]:
    """Yield rows that say together what a row says: coefficients, lower and upper limit.

    Parameters
    ----------
    row
        The row; its terms are by keys of `columns` or of `values`.
    columns
        The variables.
    values
        The constants.
    """
    constant = sum((c * values[key] for key, c in row.terms.items() if key in values), Fraction(0))
    terms = {key: c for key, c in row.terms.items() if key in columns and c}
    lower, upper = (None if limit is None else limit - constant for limit in row[3:5])
    if lower == upper:
        yield terms, lower, upper
        return
    if lower is not None:
        yield *at_least(terms, lower, columns), None
    if upper is not None:
        yield *at_least(_negative(terms), -upper, columns), None


def with_smaller(
    terms: Terms, lower: Fraction | None, upper: Fraction | None, columns: Mapping[int, Column]
) -> tuple[Terms, Fraction | None, Fraction | None]:
    """Return a row; one with one limit and coefficients too unlike for a solver has smaller ones.

    It holds at the same points, of those where integer variables are integers within their bounds.
    """
    if not differ_much(terms) or (lower is None) == (upper is None):
        return terms, lower, upper
    if lower is not None:
        return *at_least(terms, lower, columns), None
    assert upper is not None
    smaller, limit = at_least(_negative(terms), -upper, columns)
    return _negative(smaller), None, -limit


def differ_much(terms: Terms) -> bool:
    """Whether a solver may leave out a coefficient as too small."""
    sizes = [abs(coefficient) for coefficient in terms.values()]
    return bool(sizes) and min(sizes) < max(sizes) * LEAST


def _negative(terms: Terms) -> Terms:
    return {key: -coefficient for key, coefficient in terms.items()}


def at_least(
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
    missing = limit - sum((c * known[key] for key, c in terms.items()), Fraction(0))
    if missing <= 0:
        return terms, limit
    smaller = {
        key: max(-missing, min(missing, c)) if columns[key].integer else c
        for key, c in terms.items()
    }
    least = sum((c * known[key] for key, c in smaller.items()), Fraction(0))
    scale = 1 / missing
    return {key: c * scale for key, c in smaller.items()}, (missing + least) * scale
