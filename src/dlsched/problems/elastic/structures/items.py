"""The optional items of a multiple-choice knapsack, job by job, with any number of capacities.

Every job can be left at its base without cost: a pending job without workers, a running one with
its least number. So an instance is a set of optional items, at most one per job, each with the GPUs
it takes, whether it launches its job, and the running time it saves. Times are multiples of the
reductions' granularity, hence integers, and exact unless that has thousands of digits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dlsched.schema import Number, simplify

Ints = NDArray[Any]
"""64-bit integers, or Python's where those are too short."""
Ratio: TypeAlias = tuple[int, int]
"""Numerator and denominator."""

SAFE = 2**62
"""Sums below this are computed in 64 bits."""
MOST_BITS = 4096
"""Longest common denominator of exact reductions; jobs of hundreds of workers can exceed it."""
ROUNDED_BITS = 512
"""Bits of the largest reduction where they are rounded."""


@dataclass(frozen=True)
class OptionalItems:
    """Items of an instance, job by job; at most one of each job is chosen.

    Attributes
    ----------
    job, launch, value
        One entry per item: the number of its job, 1 if it starts a pending job, and the reduction
        in units.
    unit
        The granularity of the reductions, in seconds.
    """

    job: NDArray[np.int64]
    launch: NDArray[np.int64]
    value: Ints
    unit: Fraction

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self.job)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Position of each job's first item."""
        return firsts(self.job)

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        """Position after each job's last item."""
        return np.append(self.starts[1:], len(self))[: len(self.starts)]

    @cached_property
    def row(self) -> NDArray[np.int64]:
        """For each item the position of its job among those with items."""
        return np.repeat(np.arange(len(self.starts)), self.ends - self.starts)

    def seconds(self, units: int) -> Number:
        """Return a number of units in seconds."""
        return simplify(units * self.unit)


def firsts(jobs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the positions at which a job's entries begin."""
    return np.flatnonzero(np.diff(jobs, prepend=-1))


def in_units(ratios: Sequence[Ratio]) -> tuple[list[int], Fraction]:
    """Return numbers as multiples of the largest unit that divides them all, and that unit.

    If the unit has a denominator of more than `MOST_BITS` bits, the numbers are rounded up, the
    largest one to `ROUNDED_BITS` bits. Sums of them are then still bounds, and off by less than any
    precision that a solver has.
    """
    scale = 1
    for denominator in {denominator for _, denominator in ratios}:
        scale = math.lcm(scale, denominator)
        if scale.bit_length() > MOST_BITS:
            largest = max(abs(numerator) // denominator for numerator, denominator in ratios)
            shift = max(0, ROUNDED_BITS - largest.bit_length())
            rounded = [-(-(numerator << shift) // denominator) for numerator, denominator in ratios]
            return rounded, Fraction(1, 2**shift)
    scaled = [numerator * (scale // denominator) for numerator, denominator in ratios]
    divisor = math.gcd(*scaled) or 1
    return [value // divisor for value in scaled], Fraction(divisor, scale)


def integers(values: Sequence[int], jobs: int) -> Ints:
    """Return values as an array in which the sum of one per job, and a launch, is exact."""
    total = sum(map(abs, values)) + 1
    kind: Any = np.int64 if total * jobs < SAFE else object
    return np.array(values, dtype=kind)
