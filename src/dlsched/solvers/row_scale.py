"""A row of a variant in exact arithmetic, and what it is multiplied by for solvers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from dlsched.solvers.standard_form import INF


class RowScale(NamedTuple):
    """A row in exact arithmetic, and what it is multiplied by.

    Attributes
    ----------
    factor
        What the row is multiplied by.
    whole
        Whether it is then one of whole numbers only.
    terms
        The row's coefficients by the ids of its variables.
    lower, upper
        Its limits, without the constant of its terms; ``None`` for none.
    beyond
        Whether it has integer variables only, with coefficients that a solver may leave out.
    """

    factor: Fraction
    whole: bool
    terms: Mapping[int, Fraction]
    lower: Fraction | None
    upper: Fraction | None
    beyond: bool = False

    def coefficient(self, variable: Any) -> float:
        """Return the coefficient of a variable, multiplied."""
        return float(self.terms.get(id(variable), Fraction(0)) * self.factor)

    def limit(self, kind: int) -> float:
        """Return a row's limit, multiplied; `kind` is 1 for an upper one, -1 for a lower one.

        In whole numbers it is the nearest one that is as strict. What equals no whole number
        becomes a half, which solvers' tolerances do not admit.
        """
        limit = self.lower if kind == -1 else self.upper
        if limit is None:
            return -INF if kind == -1 else INF
        exact = limit * self.factor
        if not self.whole:
            return float(exact)
        if kind:
            return float(math.floor(exact) if kind == 1 else math.ceil(exact))
        return float(exact) if exact.denominator == 1 else math.floor(exact) + 0.5
