"""A row of a variant in exact arithmetic, and what it is multiplied by for solvers."""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from dlsched.solvers.standard_form import INF


class ExactRow(NamedTuple):
    """A row in exact arithmetic.

    Attributes
    ----------
    terms
        Coefficients by the ids of variables.
    lower, upper
        Limits of the sum of the terms; ``None`` for none.
    """

    terms: Mapping[int, Fraction]
    lower: Fraction | None
    upper: Fraction | None

    def holds(self, value: Fraction) -> bool:
        """Whether a sum of the terms is within the limits."""
        above = self.lower is None or value >= self.lower
        return above and (self.upper is None or value <= self.upper)


class RowScale(NamedTuple):
    """A row as solvers get it.

    Attributes
    ----------
    stated
        The row as the variant states it.
    row
        One that says the same of whole numbers, with smaller coefficients where these suffice.
    factor
        What `row` is multiplied by.
    whole
        Whether it is then one of whole numbers only.
    beyond
        Whether it has coefficients that a solver may leave out.
    """

    stated: ExactRow
    row: ExactRow
    factor: Fraction
    whole: bool
    beyond: bool = False

    def coefficient(self, variable: Any) -> float:
        """Return the coefficient of a variable, multiplied."""
        return float(self.row.terms.get(id(variable), Fraction(0)) * self.factor)

    def limit(self, kind: int) -> float:
        """Return a row's limit, multiplied; `kind` is 1 for an upper one, -1 for a lower one.

        In whole numbers it is the nearest one that is as strict. What equals no whole number
        becomes a half, which solvers' tolerances do not admit.
        """
        limit = self.row.lower if kind == -1 else self.row.upper
        if limit is None:
            return -INF if kind == -1 else INF
        exact = limit * self.factor
        if not self.whole:
            return float(exact)
        if kind:
            return float(math.floor(exact) if kind == 1 else math.ceil(exact))
        return float(exact) if exact.denominator == 1 else math.floor(exact) + 0.5
