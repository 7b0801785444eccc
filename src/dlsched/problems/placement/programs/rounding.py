"""Doubles on the safe side of exact numbers, and the sigmoid from below."""

import math
from fractions import Fraction

_LARGEST = 40
"""Larger arguments of the sigmoid are replaced by this one, where it is 1 but for 5e-18."""
_SERIES_BITS = 80
"""Terms of the exponential series are multiples of two to minus this."""


def below(value: Fraction | float) -> float:
    """Return the largest double that is not above a number."""
    nearest = float(value)
    return nearest if Fraction(nearest) <= value else math.nextafter(nearest, -math.inf)


def above(value: Fraction | float) -> float:
    """Return the least double that is not below a number."""
    return 0.0 - below(-value)


def sigmoid_below(x: Fraction) -> Fraction:
    """Return 1 / (1 + e^-x) for x of at least 0, rounded down; for a larger x it is no smaller.

    The terms of the series of e^x are not negative, so the sum is rounded down as they are.
    """
    unit = 2**_SERIES_BITS
    argument = math.floor(min(x, _LARGEST) * unit)
    total = 0
    term = unit
    count = 0
    while term:
        total = total + term
        count = count + 1
        term = term * argument // (count * unit)
    return Fraction(total, total + unit)
