"""Reduced-cost fixing: columns whose value is the same in every optimum.

For row multipliers y, a minimization's value at x is at least b(y), see `certificate`, plus |d_j|
for every integer column j that is not at the bound that its reduced cost d_j = c_j - y A_j favours.
If that exceeds the value of a feasible point, x_j is at that bound in every optimum.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dlsched.solvers.outcome import Vector
from dlsched.solvers.standard_form import StandardForm

_ROUNDING = 1e-9
"""Allowance for rounding errors, relative to the sum of the terms' absolute values."""


def fix_by_reduced_cost(
    form: StandardForm, level: int, value: float, duals: Vector
) -> StandardForm:
    """Return the form with such columns fixed and their costs in the offset.

    Parameters
    ----------
    form, level, value
        What is optimized, and the level's value at a feasible point.
    duals
        Row multipliers, of any origin; those of the relaxation fix the most columns.
    """
    sign = 1.0 if form.senses[level] == "min" else -1.0
    cost, target = sign * form.costs[level], sign * (value - form.offsets[level])
    fixed: NDArray[np.bool_] = np.zeros(len(cost), dtype=bool)
    at = np.zeros(len(cost))
    for y in (np.zeros(form.shape[0]), sign * duals):
        fixable, bound = _fixable(form, cost, target, y)
        at = np.where(fixable & ~fixed, bound, at)
        fixed |= fixable
    costs, offsets = list(form.costs), list(form.offsets)
    costs[level] = np.where(fixed, 0.0, form.costs[level])
    offsets[level] += float(form.costs[level] @ at)
    return replace(
        form,
        lower=np.where(fixed, at, form.lower),
        upper=np.where(fixed, at, form.upper),
        costs=tuple(costs),
        offsets=tuple(offsets),
    )


def _fixable(
    form: StandardForm, cost: Vector, target: float, y: Vector
) -> tuple[NDArray[np.bool_], Vector]:
    """Return which integer columns are at the favoured bound in every optimum, and these bounds."""
    y = np.where(((y > 0) & np.isinf(form.row_lower)) | ((y < 0) & np.isinf(form.row_upper)), 0, y)
    sides = np.where(y > 0, form.row_lower, np.where(y < 0, form.row_upper, 0.0))
    reduced = cost - form.A.T @ y
    favoured = np.where(reduced >= 0, form.lower, form.upper)
    terms = np.concatenate([y * sides, reduced * np.where(reduced == 0, 0.0, favoured)])
    if not np.all(np.isfinite(terms)):
        return np.zeros(len(cost), dtype=bool), favoured
    error = _ROUNDING * (np.abs(terms).sum() + np.abs(reduced) + abs(target))
    return form.integer & (terms.sum() + np.abs(reduced) - error > target), favoured
