"""The form of a model: its coefficients as integers, rounded outward where they are not.

An integer below 2**53 in a row of a model is the exact value. A level with a granularity has
exactly the nearest multiples of it as costs, or, if it is an integer, integers below 2**53; costs
of a level without one may be integers only because they were rounded. Every other coefficient is
known to half a unit in the last place; its row, or its level, is replaced by one in multiples of a
power of two that every solution satisfies, too.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Literal, NamedTuple

import numpy as np

from dlsched.proofs.forms.form import Form, Goal, Row
from dlsched.proofs.forms.limit import poll
from dlsched.solvers.outcome import Vector
from dlsched.solvers.standard_form import StandardForm

BITS = 36
"""Coefficients that are not integers are rounded to multiples of two to minus this, or finer: the
largest of a row then has at least this number of bits."""
_EXACT = 2**53
_HALF_ULP = Fraction(1, _EXACT)


def form_of(name: str, compiled: StandardForm, precision: int = 0) -> Form:
    """Return the integer form of a compiled model.

    Parameters
    ----------
    precision
        The largest coefficient of each row has at least this number of bits, so that multipliers of
        rows have about as many digits as each other; by default `BITS`, and integers stay as they
        are.

    Raises
    ------
    ValueError
        If a column has no finite bounds.
    """
    infinite = np.flatnonzero(~(np.isfinite(compiled.lower) & np.isfinite(compiled.upper)))
    if infinite.size:
        names = [variable.name for variable in compiled.variables]
        which = names[infinite[0]] if names else "every column"
        raise ValueError(f"{which} needs finite bounds, as every column of a form")
    box = _Box(
        [math.floor(v) for v in compiled.lower.tolist()],
        [math.ceil(v) for v in compiled.upper.tolist()],
    )
    matrix = compiled.A.tocsr()
    rows: list[Row] = []
    for i, (low, high) in enumerate(zip(compiled.row_lower, compiled.row_upper, strict=True)):
        span = slice(matrix.indptr[i], matrix.indptr[i + 1])
        cells = zip(matrix.indices[span].tolist(), matrix.data[span].tolist(), strict=True)
        entries = {j: a for j, a in cells if a}
        rows += _rows(entries, float(low), float(high), box, precision)
    goals = [_goal(compiled, level, box, precision) for level in range(len(compiled.costs))]
    return Form(name, box.lower, box.upper, compiled.integer.tolist(), rows, goals)


class _Box(NamedTuple):
    """The bounds of the columns, rounded outward."""

    lower: list[int]
    upper: list[int]


def _whole(value: float) -> bool:
    return math.isinf(value) or (value.is_integer() and abs(value) < _EXACT)


def _rows(
    entries: Mapping[int, float], low: float, high: float, box: _Box, precision: int
) -> Iterator[Row]:
    """Yield a row in integers; one that is not whole becomes a row for each of its sides."""
    poll()
    if all(map(_whole, [*entries.values(), low, high])):
        shift = _bits(entries.values(), precision) if precision else 0
        least, most = (None if math.isinf(end) else int(end) << shift for end in (low, high))
        yield Row({j: int(a) << shift for j, a in entries.items()}, least, most, shift)
        return
    bits = _bits(entries.values(), precision)
    if not math.isinf(high):
        rounded, slack = _rounded(entries, 1, bits, box)
        most_steps = _widened(high, 1) * 2**bits
        yield Row(rounded, None, math.ceil(most_steps + slack), bits)
    if not math.isinf(low):
        rounded, slack = _rounded(entries, -1, bits, box)
        least_steps = _widened(low, -1) * 2**bits
        yield Row(rounded, math.floor(least_steps - slack), None, bits)


def _goal(compiled: StandardForm, level: int, box: _Box, precision: int) -> Goal:
    name = compiled.level_names[level]
    sign = compiled.sign(level)
    granularity = compiled.granularities[level]
    unit, costs, offset = compiled.scaled(level)
    if not granularity or unit != granularity or not all(map(_whole, costs.tolist())):
        unit = Fraction(1)
        costs = compiled.costs[level]
        offset = compiled.offsets[level]
        integers = all(map(_whole, [*costs.tolist(), offset]))
        counted_in_units = granularity.denominator == 1 and (granularity or not costs.any())
        if not integers or not counted_in_units:
            return _rounded_goal(name, sign, costs, offset, box, precision)
    counted = {j: sign * int(c) for j, c in enumerate(costs.tolist()) if c}
    return Goal(name, sign, counted, sign * int(offset), unit, True)


def _rounded_goal(
    name: str, sign: Literal[1, -1], costs: Vector, offset: float, box: _Box, precision: int
) -> Goal:
    """Return a level whose costs are rounded in its favour."""
    entries = {j: sign * c for j, c in enumerate(costs.tolist()) if c}
    bits = _bits([*entries.values(), offset], precision)
    rounded, slack = _rounded(entries, 1, bits, box)
    steps = _widened(sign * offset, -1) * 2**bits
    least = math.floor(steps - slack)
    return Goal(name, sign, rounded, least, Fraction(1, 2**bits), False)


def _bits(values: Iterable[float], precision: int) -> int:
    """Return the binary places with which the largest of some values has that number of bits."""
    largest = max(map(abs, values), default=1.0)
    return max(0, (precision or BITS) - math.frexp(largest)[1])


def _widened(value: float, direction: int) -> Fraction:
    """Return the value moved by its possible error, up (1) or down (-1)."""
    error = Fraction(0) if _whole(value) else abs(Fraction(value)) * _HALF_ULP
    return Fraction(value) + direction * error


class _Rounded(NamedTuple):
    coefficients: dict[int, int]
    slack: Fraction


def _rounded(entries: Mapping[int, float], sense: int, bits: int, box: _Box) -> _Rounded:
    """Return integers r and a slack with ``sense * r x <= sense * 2**bits * a x + slack``.

    That holds for every x within the columns' bounds. For a column with values of one sign the
    coefficient is rounded accordingly, and needs no slack.
    """
    rounded: dict[int, int] = {}
    slack = Fraction(0)
    for j, a in entries.items():
        low = _widened(a, -1) * 2**bits
        high = _widened(a, 1) * 2**bits
        lower = box.lower[j]
        upper = box.upper[j]
        if lower < 0 < upper:
            r = round(Fraction(a) * 2**bits)
            error = max(abs(r - low), abs(r - high))
            slack += error * max(-lower, upper)
        else:
            down = (lower >= 0) == (sense > 0)
            r = math.floor(low) if down else math.ceil(high)
        if r:
            rounded[j] = r
    return _Rounded(rounded, slack)
