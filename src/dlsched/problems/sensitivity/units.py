"""The units in which a solver sees CPUs and memory."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from dlsched.schema import Number, granularity

_LEAST_STEP = Fraction(1, 1000)
_LARGEST = 10**6
_MOST_STEPS = 2**40


def row_unit(capacity: Number, sizes: Iterable[Number]) -> Fraction:
    """Return the unit of a capacity's row, for a solver with absolute tolerances of about 1e-6.

    1, as the instance writes it, unless amounts differ by less than 1/1000 or exceed a million:
    then the largest number of which all are multiples. Where that is finer than a double can
    count, a millionth of the capacity, about: a solution may then need the checker's word.
    """
    amounts = [capacity, *sizes]
    step, largest = granularity(amounts), max(amounts)
    if step >= _LEAST_STEP and largest <= _LARGEST:
        return Fraction(1)
    return step if largest / step < _MOST_STEPS else Fraction(capacity) / 2**20
