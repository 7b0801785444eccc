"""Scaling of CPUs and memory for solvers."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from dlsched.schema import Number, granularity

_LEAST_STEP = Fraction(1, 1000)
_LARGEST = 10**6
_MOST_STEPS = 2**40


def row_unit(capacity: Number, sizes: Iterable[Number]) -> Fraction:
    """Return the divisor of a capacity constraint for solvers with absolute tolerances.

    1, unless amounts differ by less than 1/1000 or exceed a million: then their granularity. If
    the amounts are more than 2**40 multiples of that, capacity / 2**20: the solver may then accept
    an overload, which only the checker detects.
    """
    amounts = [capacity, *sizes]
    step, largest = granularity(amounts), max(amounts)
    if step >= _LEAST_STEP and largest <= _LARGEST:
        return Fraction(1)
    return step if largest / step < _MOST_STEPS else Fraction(capacity) / 2**20
