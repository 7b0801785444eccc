"""The simulator's clock: whole microseconds, so that times are compared and added exactly."""

from fractions import Fraction
from typing import Final

from dlsched.schema import Number

TICKS: Final = 1_000_000
"""Ticks of the clock per second."""
HORIZON: Final = 2**63
"""The clock ends when time in ticks, times the GPUs of the cluster, no longer fits 64 bits."""


def ticks(seconds: Number | float) -> int:
    """Return a time in ticks, rounded up to a whole one; times of up to six decimals are exact.

    A float counts as the shortest decimal that reads as it.
    """
    exact = Fraction(repr(float(seconds))) if isinstance(seconds, float) else seconds
    return -(-exact.numerator * TICKS // exact.denominator)


def seconds(time: int) -> Number:
    """Return a time of a log in seconds, exact."""
    whole, rest = divmod(time, TICKS)
    return Fraction(time, TICKS) if rest else whole
