"""Reductions as whole multiples of one unit, so that sums of them are exact."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[Any]
"""64-bit integers, or Python's where those are too short."""
Ratio: TypeAlias = tuple[int, int]
"""Numerator and denominator."""

SAFE = 2**62
"""Sums below this are computed in 64 bits."""
MOST_BITS = 4096
"""Longest common denominator of exact reductions; jobs of hundreds of workers can exceed it."""
ROUNDED_BITS = 512
"""Bits of the largest reduction where they are rounded."""


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


def integers(values: Sequence[int], jobs: int) -> Integers:
    """Return values as an array in which the sum of one per job, and a launch, is exact."""
    total = sum(map(abs, values)) + 1
    dtype: Any = np.int64 if total * jobs < SAFE else object
    return np.array(values, dtype=dtype)
