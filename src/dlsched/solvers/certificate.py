"""A bound from a dual vector, computed exactly and without the solver that found the vector.

For any row multipliers y, every feasible x of a minimisation satisfies

    c x  >=  sum_i (y_i > 0 ? y_i row_lower_i : y_i row_upper_i)
           + sum_j min over x_j in [lower_j, upper_j] of (c_j - y A_j) x_j,

so a wrong or inexact y costs strength, never validity (Neumaier and Shcherbina, "Safe bounds in
linear and mixed-integer programming", 2004). Everything is computed in integers and fractions. A
coefficient that is a whole number is taken as it is; any other one is taken as known only to half
a unit in its last place, because the instance's exact value may be a decimal or a third. A level
whose grid makes its costs whole is counted in units of the grid, and so needs no such allowance.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from dlsched.schema import Number
from dlsched.solvers.outcome import Vector
from dlsched.solvers.standard_form import StandardForm

_COARSEST, _FINEST = 20, 40
"""In 64-bit arithmetic, multipliers are rounded to multiples of 1/2**20 at worst."""
_SAFE = 2**61
_ABSURD = 1e100
"""Multipliers from here on, and those that are not numbers, count as 0: any choice is valid."""
_HALF_ULP = Fraction(1, 2**53)


def dual_bound(form: StandardForm, level: int, multipliers: Vector) -> Number | None:
    """Return a bound on one level that every feasible point respects; ``None`` if infinite.

    Parameters
    ----------
    form, level
        Rows, columns and the level's costs; the bound is a lower one if the level is minimised.
    multipliers
        One number per row, from anywhere; the duals of the relaxation make it strong.
    """
    sign = 1 if form.senses[level] == "min" else -1
    unit, costs, offset = form.scaled(level)
    y = sign * np.where(np.abs(multipliers) < _ABSURD, multipliers, 0.0) / float(unit)
    y[(y > 0) & np.isinf(form.row_lower)] = 0
    y[(y < 0) & np.isinf(form.row_upper)] = 0
    bound = _whole(form, sign * costs, y)
    if bound is None:
        bound = _general(form, sign * costs, y)
    if bound is None:
        return None
    return unit * (sign * (bound - _doubt(offset)) + Fraction(offset))


def round_to_granularity(value: Number, grid: Fraction, sense: str) -> Number:
    """Round a bound to the nearest multiple of the grid that still holds; 0 means no grid."""
    if grid:
        steps = Fraction(value) / grid
        value = grid * (math.ceil(steps) if sense == "min" else math.floor(steps))
    return int(value) if value.denominator == 1 else value


def _whole(form: StandardForm, cost: Vector, y: Vector) -> Fraction | None:
    """Compute the bound in 64-bit integers; ``None`` where data or size forbid it."""
    A, absolute = form.A, np.abs(y)
    sides = np.where(y > 0, form.row_lower, form.row_upper)
    sides = np.where(y == 0, 0.0, sides)
    data = (cost, A.data, sides, form.lower, form.upper)
    if not all(np.all(np.isfinite(v) & (v == np.rint(v))) for v in data):
        return None
    # No sum below exceeds this many units of the grid, roundings (1 per multiplier) included.
    heaviest = float(np.max(abs(A).T @ (absolute + 1) + np.abs(cost), initial=0.0))
    reach = float(np.max(np.abs([form.lower, form.upper]), initial=1.0))
    largest = max(1.0, heaviest * reach * len(cost), float((absolute + 1) @ np.abs(sides)))
    if not largest <= _SAFE / 2**_COARSEST:
        return None
    scale = 2 ** min(_FINEST, int(math.log2(_SAFE / largest)))
    yi = np.rint(y * scale).astype(np.int64)
    Ai = A.astype(np.int64)
    reduced = cost.astype(np.int64) * scale - Ai.T @ yi
    at = np.where(reduced > 0, form.lower, form.upper).astype(np.int64)
    return Fraction(int(yi @ sides.astype(np.int64)) + int(reduced @ at), scale)


def _general(form: StandardForm, cost: Vector, y: Vector) -> Fraction | None:
    total = Fraction(0)
    for i in np.flatnonzero(y):
        side = form.row_lower[i] if y[i] > 0 else form.row_upper[i]
        weight = Fraction(y[i])
        total += weight * Fraction(side) - abs(weight) * _doubt(side)
    indptr, indices, entries = form.A.indptr, form.A.indices, form.A.data
    for j, c in enumerate(cost.tolist()):
        reduced, doubt = Fraction(c), _doubt(c)
        for k in range(indptr[j], indptr[j + 1]):
            weight = Fraction(y[indices[k]])
            reduced -= weight * Fraction(entries[k])
            doubt += abs(weight) * _doubt(entries[k])
        least = _least(reduced - doubt, reduced + doubt, form.lower[j], form.upper[j])
        if least is None:
            return None
        total += least
    return total


def _doubt(coefficient: float) -> Fraction:
    """Half a unit in the last place of a number that is not whole."""
    if float(coefficient).is_integer():
        return Fraction(0)
    return abs(Fraction(coefficient)) * _HALF_ULP


def _least(low: Fraction, high: Fraction, lower: float, upper: float) -> Fraction | None:
    """Return the least d x over d in [low, high], x in [lower, upper]; ``None`` if unbounded."""
    if (high > 0 and lower == -np.inf) or (low < 0 and upper == np.inf):
        return None
    ends = []
    if np.isfinite(lower):
        ends.append(Fraction(lower) - _doubt(lower))
    if np.isfinite(upper):
        ends.append(Fraction(upper) + _doubt(upper))
    return min((d * x for d in (low, high) for x in ends), default=Fraction(0))
