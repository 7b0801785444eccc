"""Reduced-cost fixing: columns whose value is the same in every optimum.

For row multipliers y, a minimization's value at x is at least b(y), see `certificate`, plus |d_j|
for every integer column j that is not at the bound that its reduced cost d_j = c_j - y A_j favours.
If that exceeds the value of a feasible point, x_j is at that bound in every optimum.
"""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dlsched.solvers.outcome import Vector
from dlsched.solvers.standard_form import StandardForm

Flags = NDArray[np.bool_]
_ROUNDING = 1e-9
"""Allowance for rounding errors, relative to the sum of the terms' absolute values."""
_ROUNDED_TERMS = 2.0**-49
"""The same of a few roundings of each term."""
_HALF_ULP = 2.0**-53
"""The same of one rounding."""
_INEXACT = 2.0**53


def fix_by_reduced_cost(
    form: StandardForm, level: int, value: float, duals: Vector
) -> StandardForm:
    """Return the form with such columns fixed and their costs in the offset.

    `form`, `level`, `value`: what is optimized, and the level's value at a feasible point. `duals`:
    row multipliers, of any origin; those of the relaxation fix the most columns.
    """
    sign = float(form.sign(level))
    cost = sign * form.costs[level]
    offset = form.offsets[level]
    target = sign * (value - offset)
    doubt = _ROUNDED_TERMS * (abs(value) + abs(offset)) + form.offset_error(level)
    fixed: Flags = np.zeros(len(cost), dtype=bool)
    values = np.zeros(len(cost))
    for y in (np.zeros(form.shape[0]), sign * duals):
        fixable, favoured = _fixable(form, cost, target + doubt, y)
        values = np.where(fixable & ~fixed, favoured, values)
        fixed |= fixable
    costs = list(form.costs)
    costs[level] = np.where(fixed, 0.0, form.costs[level])
    offsets = list(form.offsets)
    errors = list(form.offset_errors or (0.0,) * len(offsets))
    offsets[level], errors[level] = _folded(form, level, values)
    return replace(
        form,
        lower=np.where(fixed, values, form.lower),
        upper=np.where(fixed, values, form.upper),
        costs=tuple(costs),
        offsets=tuple(offsets),
        offset_errors=tuple(errors),
    )


def _folded(form: StandardForm, level: int, values: Vector) -> tuple[float, float]:
    """Return a level's offset with the costs of fixed columns, and by how much it may be off.

    Terms that cancel leave their rounding errors, so costs are summed in units of the granularity
    if they are multiples of it.
    """
    unit, costs, offset = form.scaled(level)
    terms = costs * values
    total = math.fsum([*terms[terms != 0].tolist(), offset])
    granularity = form.granularities[level]
    known = unit == granularity or granularity.denominator == 1
    whole = known & (costs == np.rint(costs)) & (np.abs(terms) < _INEXACT)
    # Of a cost that is rounded, and of its product with a value that is neither 0 nor 1.
    errors = 2 * _HALF_ULP * np.abs(np.where(whole, 0.0, terms))
    offset_whole = known and offset.is_integer() and abs(offset) < _INEXACT
    rounding = 0.0 if offset_whole else _HALF_ULP * abs(offset)
    exact = offset_whole and bool(whole.all()) and abs(total) < _INEXACT
    rounding += 0.0 if exact else _HALF_ULP * abs(total)
    error = float(unit) * (math.fsum(errors.tolist()) * (1 + _ROUNDED_TERMS) + rounding)
    return float(unit * Fraction(total)), form.offset_error(level) + error


def _fixable(form: StandardForm, cost: Vector, target: float, y: Vector) -> tuple[Flags, Vector]:
    """Return which integer columns are at the favoured bound in every optimum, and these bounds."""
    usable = form.usable(y)
    reduced = cost - form.A.T @ usable
    favoured = np.where(reduced >= 0, form.lower, form.upper)
    row_terms = usable * form.sides(usable)
    column_terms = reduced * np.where(reduced == 0, 0.0, favoured)
    terms = np.concatenate([row_terms, column_terms])
    if not np.all(np.isfinite(terms)):
        return np.zeros(len(cost), dtype=bool), favoured
    gain = np.abs(reduced)
    error = _ROUNDING * (np.abs(terms).sum() + gain + abs(target))
    return form.integer & (terms.sum() + gain - error > target), favoured
