"""Columns that no optimum uses, by their reduced costs against a known solution.

For row multipliers y, a minimisation's value at x is at least b(y) plus |d_j| for every column j
that is one step or more away from the bound that its reduced cost d_j = c_j - y A_j favours; see
`certificate`. If that exceeds the value of a known solution, every optimum has x_j at that bound.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dlsched.solvers.outcome import Vector
from dlsched.solvers.standard_form import StandardForm

_ROUNDING = 1e-9
"""Allowance for rounding, relative to the largest terms of the sums."""


def fix_by_reduced_cost(
    form: StandardForm, level: int, value: float, duals: Vector
) -> StandardForm:
    """Return the form with columns fixed that are at a bound in every optimum, at no cost.

    Parameters
    ----------
    form, level
        What is optimised.
    value
        The level's value at a feasible point.
    duals
        Row multipliers, from anywhere; those of the relaxation fix the most.
    """
    sign = 1.0 if form.senses[level] == "min" else -1.0
    cost, goal = sign * form.costs[level], sign * (value - form.offsets[level])
    fixed: NDArray[np.bool_] = np.zeros(len(cost), dtype=bool)
    low = np.zeros(len(cost), dtype=bool)
    for y in (np.zeros(form.shape[0]), sign * duals):
        idle, at_lower = _idle(form, cost, goal, y)
        low |= idle & at_lower & ~fixed
        fixed |= idle
    at = np.where(low, form.lower, form.upper)
    costs, offsets = list(form.costs), list(form.offsets)
    costs[level] = np.where(fixed, 0.0, form.costs[level])
    offsets[level] += float(form.costs[level][fixed] @ at[fixed])
    return replace(
        form,
        lower=np.where(fixed, at, form.lower),
        upper=np.where(fixed, at, form.upper),
        costs=tuple(costs),
        offsets=tuple(offsets),
    )


def _idle(
    form: StandardForm, cost: Vector, goal: float, y: Vector
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which integer columns are at a bound in every optimum, and whether at the lower."""
    y = np.where(((y > 0) & np.isinf(form.row_lower)) | ((y < 0) & np.isinf(form.row_upper)), 0, y)
    sides = np.where(y > 0, form.row_lower, np.where(y < 0, form.row_upper, 0.0))
    reduced = cost - form.A.T @ y
    favoured = np.where(reduced >= 0, form.lower, form.upper)
    terms = np.concatenate([y * sides, reduced * np.where(reduced == 0, 0.0, favoured)])
    if not np.all(np.isfinite(terms)):
        none = np.zeros(len(cost), dtype=bool)
        return none, none
    doubt = _ROUNDING * (np.abs(terms).sum() + np.abs(reduced) + abs(goal))
    idle = form.integer & (terms.sum() + np.abs(reduced) - doubt > goal)
    return idle, reduced >= 0
