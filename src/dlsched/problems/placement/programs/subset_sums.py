"""What the sums of some amounts can be, exactly."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from fractions import Fraction

from dlsched.schema import Number, granularity

MOST_UNITS = 100_000
"""With more units in all amounts together, sums are not enumerated."""


class Sums:
    """The sums of any of the amounts, each taken once or not.

    Parameters
    ----------
    amounts
        Not negative.
    """

    def __init__(self, amounts: Iterable[Number]) -> None:
        positive = [Fraction(v) for v in amounts if v]
        self.unit = granularity(positive) or Fraction(1)
        self.known = [0]
        units = [int(v / self.unit) for v in positive]
        self.enumerated = sum(units) <= MOST_UNITS
        if self.enumerated:
            reached = 1  # bit i: whether i units are a sum
            for count in units:
                reached |= reached << count
            self.known = [i for i, bit in enumerate(f"{reached:b}"[::-1]) if bit == "1"]

    def around(self, point: Fraction) -> tuple[Fraction, Fraction] | None:
        """Return the largest sum up to a point, and the least above it; None if there is none.

        No sum is between them. If sums are not enumerated, both are the point.
        """
        if not self.enumerated:
            return point, point
        i = bisect_right(self.known, point / self.unit)
        if not 0 < i < len(self.known):
            return None
        return self.known[i - 1] * self.unit, self.known[i] * self.unit
