"""Bounds from dual vectors, in exact arithmetic, independent of the solver that found the vector.

For any row multipliers y, every feasible x of a minimization satisfies

    c x  >=  sum_i (y_i > 0 ? y_i row_lower_i : y_i row_upper_i)
           + sum_j min over x_j in [lower_j, upper_j] of (c_j - y A_j) x_j,

so an inexact y gives a weaker bound, never an invalid one (Neumaier and Shcherbina, "Safe bounds in
linear and mixed-integer programming", 2004). All sums are computed in integers or fractions. An
integer coefficient below 2**53 is exact; any other one is known to half a unit in the last place,
because the instance's exact value may be a decimal or a third. A level whose costs are multiples of
its granularity is counted in units of it, and so its costs are exact. Where these units are too
many, an integer cost may be a fraction, too, that a double cannot tell from it.
"""

import math
from fractions import Fraction

import numpy as np

from dlsched.results.objective import SOLVER_PRECISION
from dlsched.schema.quantities import Number, simplify
from dlsched.solvers.outcome import Vector
from dlsched.solvers.standard_form import INF, StandardForm

_MIN_BITS = 20
_MAX_BITS = 40
"""In 64-bit arithmetic, multipliers are rounded to multiples of 1/2**bits, with this many bits."""
_LARGEST_SUM = 2**61
"""No sum in 64-bit arithmetic is larger."""
_LARGEST_MULTIPLIER = 1e100
"""Multipliers from here on, and those that are not numbers, are replaced by 0."""
_SLACK = 1e-6
"""A solver's tolerances relative to a value, and absolute in the unit that it sees."""
_ULP_BITS = 53
_HALF_ULP = Fraction(1, 2**_ULP_BITS)
_INEXACT = 2**53
"""Integers from here on may be rounded in a double."""
_LEAST_NORMAL = 2.0**-1022
"""Doubles below this have fewer than 53 binary places, down to one: half of it may be an error."""


def dual_bound(form: StandardForm, level: int, multipliers: Vector) -> Number | None:
    """Return a bound on one level for all feasible points; ``None`` if it is infinite.

    Parameters
    ----------
    form, level
        Rows, columns and the level's costs; the bound is a lower one if the level is minimized.
    multipliers
        One number per row, of any origin; the strongest bound is that of the relaxation's duals.
    """
    sign = form.sign(level)
    unit, costs, offset = form.scaled(level)
    finite = np.where(np.abs(multipliers) < _LARGEST_MULTIPLIER, multipliers, 0.0)
    y = form.usable(sign * finite / float(unit))
    granularity = form.granularities[level]
    rounded = granularity.denominator > 1 and unit != granularity
    bound = None if rounded else _integer_bound(form, sign * costs, y)
    if bound is None:
        bound = _fraction_bound(form, sign * costs, y, rounded)
    if bound is None:
        return None
    certain = bound - _error(offset, rounded) - Fraction(form.offset_error(level)) / unit
    return unit * (sign * certain + Fraction(offset))


def round_to_granularity(value: Number, granularity: Fraction, sense: str) -> Number:
    """Return the strongest multiple of the granularity that is a bound if the value is one.

    With a granularity of 0, it is the value.
    """
    if granularity:
        steps = Fraction(value) / granularity
        whole = math.ceil(steps) if sense == "min" else math.floor(steps)
        return simplify(granularity * whole)
    return simplify(value)


def claimed_bound(form: StandardForm, level: int, bound: float) -> Number | float:
    """Return a solver's bound on a level, weakened by the tolerances that it rests on.

    It is rounded to the level's granularity if that is larger than the tolerances, and is a
    floating-point number with a relative error of 1e-9 otherwise.
    """
    sign = form.sign(level)
    granularity = form.granularities[level]
    unit = float(form.conditioned(level).unit)
    slack = Fraction(_SLACK) * Fraction(max(unit, abs(bound)))
    weakened = Fraction(bound) - sign * slack
    if granularity > 2 * slack:
        return round_to_granularity(weakened, granularity, form.senses[level])
    if below_any_cost(form, level, weakened):
        return simplify(Fraction(form.offsets[level]))
    tolerance = SOLVER_PRECISION * abs(bound) + _SLACK * unit
    return bound - sign * tolerance


def below_any_cost(form: StandardForm, level: int, bound: Number) -> bool:
    """Whether a bound shows that every column with a positive gain is 0 in all solutions."""
    costs = form.costs[level]
    paid = costs > 0
    if form.senses[level] == "min" or (costs < 0).any() or (form.lower[paid] < 0).any():
        return False
    least = Fraction(float(costs[paid].min())) if paid.any() else 1
    gain = (bound - Fraction(form.offsets[level])) * (1 + Fraction(SOLVER_PRECISION))
    return bool(form.integer[paid].all()) and gain < least


def _integer_bound(form: StandardForm, cost: Vector, y: Vector) -> Fraction | None:
    """Compute the bound in 64-bit integers; ``None`` if the data are not integers or too large."""
    A = form.A
    sides = form.sides(y)
    data = (cost, A.data, sides, form.lower, form.upper)
    if not all(np.all(np.isfinite(v) & (v == np.rint(v))) for v in data):
        return None
    # No sum below exceeds this before scaling, with rounding errors of 1 per multiplier included.
    absolute = np.abs(y)
    most = absolute + 1
    largest_reduced = float(np.max(abs(A).T @ most + np.abs(cost), initial=0.0))
    largest_bound = float(np.max(np.abs([form.lower, form.upper]), initial=1.0))
    largest = max(
        1.0,
        largest_reduced * largest_bound * len(cost),
        float(most @ np.abs(sides)),
        float(absolute.max(initial=0.0)),  # in rows without entries
    )
    if not largest <= _LARGEST_SUM / 2**_MIN_BITS:
        return None
    scale = 2 ** min(_MAX_BITS, int(math.log2(_LARGEST_SUM / largest)))
    multipliers = np.rint(y * scale).astype(np.int64)
    reduced = cost.astype(np.int64) * scale - A.astype(np.int64).T @ multipliers
    favoured = np.where(reduced > 0, form.lower, form.upper).astype(np.int64)
    total = int(multipliers @ sides.astype(np.int64)) + int(reduced @ favoured)
    return Fraction(total, scale)


def _fraction_bound(
    form: StandardForm, cost: Vector, y: Vector, rounded: bool = False
) -> Fraction | None:
    """Compute the bound in exact arithmetic; ``None`` if it is infinite.

    With `rounded`, costs that are integers may be rounded fractions. A double is an integer over a
    power of 2, so the sums of a column are integers in units of one such power.
    """
    total = Fraction(0)
    for side, multiplier in zip(form.sides(y).tolist(), y.tolist(), strict=True):
        if multiplier:
            weight = Fraction(multiplier)
            total += weight * Fraction(side) - abs(weight) * _error(side)
    costs = _Dyadic(cost)
    weights = _Dyadic(y)
    entries = _Dyadic(form.A.data)
    product = weights.bits + entries.bits
    bits = max(product, costs.bits)
    row_shift = bits - product + _ULP_BITS
    cost_shift = bits - costs.bits + _ULP_BITS
    unit = 1 << bits + _ULP_BITS
    indptr = form.A.indptr.tolist()
    indices = form.A.indices.tolist()
    lower = form.lower.tolist()
    upper = form.upper.tolist()
    binaries = 0  # their sum, in the same units
    for j, c in enumerate(costs.numbers):
        dot = 0
        slack = 0
        for k in range(indptr[j], indptr[j + 1]):
            weight_in_row = weights.numbers[indices[k]]
            if weight_in_row:
                part = weight_in_row * entries.numbers[k]
                dot += part
                if not entries.whole[k]:
                    slack += abs(part) << (_ULP_BITS - 1 if entries.tiny[k] else 0)
        reduced = (c << cost_shift) - (dot << row_shift)
        error = slack << row_shift - _ULP_BITS
        if rounded or not costs.whole[j]:
            error += abs(c) << cost_shift - (1 if costs.tiny[j] else _ULP_BITS)
        if (lower[j], upper[j]) == (0.0, 1.0):
            binaries += min(reduced - error, 0)
            continue
        least = Fraction(reduced - error, unit)
        most = Fraction(reduced + error, unit)
        product_bound = _least_product(least, most, lower[j], upper[j])
        if product_bound is None:
            return None
        total += product_bound
    return total + Fraction(binaries, unit)


class _Dyadic:
    """Doubles as integers in units of ``2**-bits``."""

    def __init__(self, values: Vector) -> None:
        distinct, places = np.unique(values, return_inverse=True)  # a matrix has few
        ratios = [value.as_integer_ratio() for value in distinct.tolist()]
        longest = max((denominator.bit_length() for _, denominator in ratios), default=1)
        self.bits = longest - 1
        numbers = [n << longest - d.bit_length() for n, d in ratios]
        whole = [d == 1 and abs(n) < _INEXACT for n, d in ratios]
        tiny = (np.abs(distinct) < _LEAST_NORMAL).tolist()
        positions = places.tolist()
        self.numbers = [numbers[i] for i in positions]
        self.whole = [whole[i] for i in positions]
        self.tiny = [tiny[i] for i in positions]


def _error(coefficient: float, rounded: bool = False) -> Fraction:
    """Return half a unit in the last place of a number that is not an integer, or `rounded`."""
    whole = float(coefficient).is_integer() and abs(coefficient) < _INEXACT
    if whole and not rounded:
        return Fraction(0)
    tiny = abs(coefficient) < _LEAST_NORMAL
    return abs(Fraction(coefficient)) * (Fraction(1, 2) if tiny else _HALF_ULP)


def _least_product(low: Fraction, high: Fraction, lower: float, upper: float) -> Fraction | None:
    """Return the least d x over d in [low, high], x in [lower, upper]; ``None`` if unbounded."""
    if (high > 0 and lower == -INF) or (low < 0 and upper == INF):
        return None
    ends = []
    if lower > -INF:
        ends.append(Fraction(lower) - _error(lower))
    if upper < INF:
        ends.append(Fraction(upper) + _error(upper))
    products = [d * x for d in (low, high) for x in ends]
    return min(products, default=Fraction(0))
