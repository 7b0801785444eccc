"""How much a machine can do until when, where servers are on loan for some of the time."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

Steps = tuple[tuple[int, int], ...]
"""(time in microseconds, work per microsecond from then on), the first at 0; whole numbers."""


class Capacity:
    """What a machine can do, if the work per microsecond changes at given times.

    Attributes
    ----------
    starts, rate, done
        By step: its start, the work per microsecond in it, and the work before it.
    """

    def __init__(self, steps: Steps) -> None:
        self.starts = [start for start, _ in steps]
        self.rate = [rate for _, rate in steps]
        self.done = [0]
        for (start, rate), (end, _) in pairwise(steps):
            self.done.append(self.done[-1] + rate * (end - start))

    def until(self, time: int) -> int:
        """Return the work until a time."""
        k = bisect_right(self.starts, time) - 1
        return self.done[k] + self.rate[k] * (time - self.starts[k])

    def step(self, done: int) -> int:
        """Return the step in which the work comes up to a number."""
        return max(0, bisect_left(self.done, done) - 1)

    def reached(self, done: int) -> Fraction:
        """Return the earliest time at which the work comes up to a number.

        If nothing is done any more, it is the time since when.
        """
        k = self.step(done)
        if not self.rate[k]:
            return Fraction(self.starts[k])
        return self.starts[k] + Fraction(done - self.done[k], self.rate[k])

    def pieces(self, begin: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Yield (step, first, last) of a stretch of work, cut where the rate changes.

        First and last are counted from the work before the step.
        """
        k = self.step(begin + 1)
        while begin < end:
            stop = end if k + 1 == len(self.done) else min(end, self.done[k + 1])
            if stop > begin:
                yield k, begin - self.done[k], stop - self.done[k]
            begin, k = stop, k + 1
