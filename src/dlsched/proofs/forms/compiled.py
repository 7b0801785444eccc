"""The form of a model: its coefficients as integers, rounded outward where they are not.

An integer below 2**53 in a row of a model is the exact value. A level with a granularity has
exactly the nearest multiples of it as costs, or, if it is an integer, integers below 2**53; costs
of a level without one may be integers only because they were rounded. Every other coefficient is
known to half a unit in the last place; its row, or its level, is replaced by one in multiples of a
power of two that every solution satisfies, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Literal

from dlsched.proofs.forms.form import Form, Goal, Row
from dlsched.proofs.forms.limit import poll
from dlsched.solvers.standard_form import StandardForm

BITS = 36
"""Coefficients that are not integers are rounded to multiples of two to minus this, or finer: the
largest of a row then has at least this number of bits."""
_EXACT = 2**53
_HALF_ULP = Fraction(1, _EXACT)


def form_of(name: str, compiled: StandardForm) -> Form:
    """Return the integer form of a compiled model.

    Raises
    ------
    ValueError
        If a column has no finite bounds.
    """
    lower, upper = compiled.lower.tolist(), compiled.upper.tolist()
    if not all(map(math.isfinite, [*lower, *upper])):
        raise ValueError("every column of a form needs finite bounds")
    low, high = [math.floor(v) for v in lower], [math.ceil(v) for v in upper]
    entries: list[dict[int, float]] = [{} for _ in range(compiled.shape[0])]
    A = compiled.A
    for j in range(compiled.shape[1]):
        for k in range(A.indptr[j], A.indptr[j + 1]):
            if A.data[k]:
                entries[A.indices[k]][j] = float(A.data[k])
    rows = [
        row
        for i, found in enumerate(entries)
        for row in _rows(
            found, float(compiled.row_lower[i]), float(compiled.row_upper[i]), low, high
        )
    ]
    goals = [_goal(compiled, level, low, high) for level in range(len(compiled.costs))]
    return Form(name, low, high, compiled.integer.tolist(), rows, goals)


def _whole(value: float) -> bool:
    return math.isinf(value) or (value.is_integer() and abs(value) < _EXACT)


def _rows(
    entries: Mapping[int, float], low: float, high: float, lower: list[int], upper: list[int]
) -> Iterator[Row]:
    """Yield a row in integers; one that is not whole becomes a row for each of its sides."""
    poll()
    if all(map(_whole, [*entries.values(), low, high])):
        ends = [None if math.isinf(end) else int(end) for end in (low, high)]
        yield Row({j: int(a) for j, a in entries.items()}, ends[0], ends[1])
        return
    bits = _bits(entries.values())
    if not math.isinf(high):
        rounded, slack = _rounded(entries, 1, bits, lower, upper)
        yield Row(rounded, None, math.ceil(_widened(high, 1) * 2**bits + slack), bits)
    if not math.isinf(low):
        rounded, slack = _rounded(entries, -1, bits, lower, upper)
        yield Row(rounded, math.floor(_widened(low, -1) * 2**bits - slack), None, bits)


def _goal(compiled: StandardForm, level: int, lower: list[int], upper: list[int]) -> Goal:
    sign: Literal[1, -1] = 1 if compiled.senses[level] == "min" else -1
    granularity, offset = compiled.granularities[level], compiled.offsets[level]
    entries = {j: sign * c for j, c in enumerate(compiled.costs[level].tolist()) if c}
    name = compiled.level_names[level]
    unit, costs, whole = compiled.scaled(level)
    if granularity and unit == granularity and all(map(_whole, costs.tolist())):
        counted = {j: sign * int(c) for j, c in enumerate(costs.tolist()) if c}
        return Goal(name, sign, counted, sign * int(whole), unit, True)
    integers = granularity.denominator == 1 and (granularity or not entries)
    if integers and all(map(_whole, [*entries.values(), offset])):
        counted = {j: int(c) for j, c in entries.items()}
        return Goal(name, sign, counted, sign * int(offset), Fraction(1), True)
    bits = _bits([*entries.values(), offset])
    rounded, slack = _rounded(entries, 1, bits, lower, upper)
    least = math.floor(_widened(sign * offset, -1) * 2**bits - slack)
    return Goal(name, sign, rounded, least, Fraction(1, 2**bits), False)


def _bits(values: Iterable[float]) -> int:
    largest = max(map(abs, values), default=1.0)
    return max(0, BITS - math.frexp(largest)[1])


def _widened(value: float, direction: int) -> Fraction:
    """Return the value moved by its possible error, up (1) or down (-1)."""
    error = Fraction(0) if _whole(value) else abs(Fraction(value)) * _HALF_ULP
    return Fraction(value) + direction * error


def _rounded(
    entries: Mapping[int, float], sense: int, bits: int, lower: list[int], upper: list[int]
) -> tuple[dict[int, int], Fraction]:
    """Return integers r and a slack with ``sense * r x <= sense * 2**bits * a x + slack``.

    That holds for every x within the columns' bounds. For a column with values of one sign the
    coefficient is rounded accordingly, and needs no slack.
    """
    rounded: dict[int, int] = {}
    slack = Fraction(0)
    for j, a in entries.items():
        low, high = (_widened(a, d) * 2**bits for d in (-1, 1))
        if lower[j] >= 0:
            r = math.floor(low) if sense > 0 else math.ceil(high)
        elif upper[j] <= 0:
            r = math.ceil(high) if sense > 0 else math.floor(low)
        else:
            r = round(Fraction(a) * 2**bits)
            worst = max(abs(r - low), abs(r - high))
            slack += worst * max(-lower[j], upper[j])
        if r:
            rounded[j] = r
    return rounded, slack
