"""What a solver cannot decide in double precision, and the exact values of a point's levels."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from dlsched.results.objective import SOLVER_PRECISION, Objective
from dlsched.results.result import Report
from dlsched.schema.quantities import Number, simplify
from dlsched.solvers.outcome import Vector
from dlsched.solvers.row_scale import RowScale
from dlsched.solvers.standard_form import StandardForm

LARGEST_TERM = 2.0**30
"""Sums of terms up to this have rounding errors below 1e-6, a solver's tolerance of rows."""

LEAST_TERM = 1e-6
"""Terms below this are within a solver's tolerance of rows."""

BEYOND_PRECISION = "the data need more than the solver's precision"
"""The beginning of the reason why no optimum is stated."""
_NO_GAP = 1e-14
"""Relative differences up to this are those of sums of doubles, where no exact sum is known."""
_LAST_DIGIT = 2.0**-52
_INTEGRALITY = 1e-9
"""Largest distance from integers at which a point is taken to be integral."""


def precision_reason(level: str, gap: float) -> str:
    """Return to which precision a level is proved optimal; nothing if it is exactly."""
    if not gap:
        return ""
    return (
        f"proved optimal within {gap:.1e} of {level}: smaller differences are beyond the "
        f"solver's precision"
    )


def undecided_gap(value: Number | float, granularity: Fraction, gap: float) -> float:
    """Return the part of a level's value in which its optimum may be better; 0 if in none.

    Exact values have exact gaps. Values that differ by less than a double's last digit are equal to
    a solver.
    """
    if not isinstance(value, float):
        return gap
    if 0 < granularity < _LAST_DIGIT * abs(value):
        return max(gap, _LAST_DIGIT)
    return gap if granularity and gap > _NO_GAP else 0.0


def undecided_row(form: StandardForm, scales: Mapping[str, RowScale] | None = None) -> str | None:
    """Return the name of a row whose rounding errors may exceed a solver's tolerance, if any.

    A solver may then cut off feasible points, and call a point optimal that is not. A side that no
    point within the columns' bounds exceeds does not count, nor does a row without other sides.

    `form`: the rows. `scales`: what is known of rows in exact arithmetic, by name.
    """
    rows = form.A.tocsr()
    number = form.shape[0]
    row_of = np.repeat(np.arange(number), np.diff(rows.indptr))
    lower = form.lower[rows.indices]
    upper = form.upper[rows.indices]
    ends = np.sort([rows.data * lower, rows.data * upper], axis=0)
    least, most = (np.bincount(row_of, weights=end, minlength=number) for end in ends)
    low_matters = least < form.row_lower
    high_matters = most > form.row_upper
    farthest = np.maximum(np.abs(lower), np.abs(upper))
    farthest[np.isinf(farthest)] = 1.0
    largest = np.zeros(number)
    np.maximum.at(largest, row_of, np.abs(rows.data) * farthest)
    for side, matters in ((form.row_lower, low_matters), (form.row_upper, high_matters)):
        binding = np.where(matters & np.isfinite(side), np.abs(side), 0.0)
        largest = np.maximum(largest, binding)
    too_fine = np.zeros(number, dtype=bool)
    if any(scale.beyond for scale in (scales or {}).values()):
        too_fine = np.array([_is_beyond(row, scales or {}) for row in form.constraints])
    beyond = np.flatnonzero(((largest > LARGEST_TERM) | too_fine) & (low_matters | high_matters))
    if not beyond.size:
        return None
    row = int(beyond[0])
    return form.row_names[row] if len(form.constraints) else f"row {row}"


def undecided_level(form: StandardForm) -> str | None:
    """Return the name of a level that cannot be held by a row in double precision, if any.

    The row that holds it would have rounding errors above a solver's tolerance, or terms of a
    variant below it, which a solver leaves out: it would cut off points that later levels need.
    What can only be 0 is no such term. The last level is not held.
    """
    for level, name in enumerate(form.level_names[:-1]):
        costs = form.conditioned(level).costs
        ends = np.maximum(np.abs(form.lower), np.abs(form.upper))
        used = (costs != 0) & (ends > 0)
        if not used.any():
            continue
        farthest = np.where(np.isfinite(ends), ends, 1.0)[used]
        if (np.abs(costs[used]) * farthest).max() > LARGEST_TERM:
            return name
        steps = np.where(form.integer[used], 1.0, farthest)
        fine = (np.abs(costs[used]) * steps).min() < LEAST_TERM
        if form.units is not None and fine and not form.counted(level):
            return name
    return None


def _is_beyond(row: Any, scales: Mapping[str, RowScale]) -> bool:
    scale = scales.get(row if isinstance(row, str) else row.name)
    return scale is not None and scale.beyond


def is_integral(form: StandardForm, level: int, values: Vector) -> bool:
    """Whether rounding a point to integers changes neither the point nor its value noticeably.

    A cost of 1e10 makes a difference of 10 of a distance of 1e-9.
    """
    rounded = np.where(form.integer, np.rint(values), values)
    if np.any(np.abs(values - rounded) >= _INTEGRALITY):
        return False
    costs = np.abs(form.costs[level])
    change = abs(float(form.costs[level] @ (values - rounded)))
    least = float(costs[costs > 0].min(initial=math.inf))
    value = abs(form.value(level, rounded))
    return change == 0 or change <= SOLVER_PRECISION * max(value, least)


Check: TypeAlias = Callable[[Any, Any], Report]
"""A problem's checker."""


@dataclass
class ExactLevels:
    """The levels of the points of one model, as exactly as they can be had.

    Attributes
    ----------
    check
        The checker of the solutions that `read` returns of the variables' values; ``None`` where it
        does not say what the model's levels are.
    """

    instance: Any
    read: Callable[[], Any]
    check: Check | None
    _last: tuple[Vector | None, Objective | None] = field(default=(None, None), init=False)

    def value(self, form: StandardForm, level: int, point: Vector) -> Number | float:
        """Return a point's value of a level, exactly if the level has a granularity.

        Where doubles do not hold costs in units of it, the checker sums them.
        """
        value = form.value(level, point)
        granularity = form.granularities[level]
        if form.counted(level):
            return simplify(round(Fraction(value) / granularity) * granularity)
        objective = self._checked(form, point) if granularity else None
        return objective.as_dict().get(form.level_names[level], value) if objective else value

    def _checked(self, form: StandardForm, point: Vector) -> Objective | None:
        """Return a point's objective by the checker; ``None`` if it is not feasible."""
        if self.check is None:
            return None
        known, objective = self._last
        if known is not point:
            form.load(point)
            report = self.check(self.instance, self.read())
            objective = report.objective if report.feasible else None
            self._last = point, objective
        return objective

    def worse_before(
        self, form: StandardForm, optima: Sequence[Number | float], point: Vector
    ) -> str | None:
        """Return the name of a level that is held at its optimum and at which a point is worse.

        The row that holds it has a solver's tolerance.
        """
        for level, optimum in enumerate(optima):
            value = self.value(form, level, point)
            exact = not isinstance(value, float) and not isinstance(optimum, float)
            if exact and form.sign(level) * (value - optimum) > 0:
                return form.level_names[level]
        return None
