"""Amounts that change at given times: sums of several, and what is done with them until when."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from operator import itemgetter, mul
from typing import Generic, TypeVar

Amount = TypeVar("Amount", int, Fraction)
Steps = tuple[tuple[int, int], ...]
"""(time in microseconds, work per microsecond from then on), the first at 0; whole numbers."""
AmountSteps = tuple[tuple[int, Fraction], ...]
"""(time in microseconds, amount from then on), the first at 0."""


def weighted_sum(weights: Iterable[Fraction | int], values: Iterable[Fraction | int]) -> Fraction:
    """Return the sum of weight x value, exactly."""
    return sum(map(mul, weights, values), Fraction(0))


def weighted_steps(
    weights: Sequence[Fraction | int], amounts: Sequence[AmountSteps]
) -> AmountSteps:
    """Return the weighted sum of amounts over time."""
    times = sorted({time for steps in amounts for time, _ in steps})
    total = []
    for time in times:
        last = [bisect_right(steps, time, key=itemgetter(0)) - 1 for steps in amounts]
        present = [steps[k][1] for steps, k in zip(amounts, last, strict=True)]
        total.append((time, weighted_sum(weights, present)))
    return tuple(total)


class Capacity(Generic[Amount]):
    """What a machine can do, if the work per microsecond changes at given times.

    Attributes
    ----------
    starts, rate, done
        By step: its start, the work per microsecond in it, and the work before it.
    """

    def __init__(self, steps: Sequence[tuple[int, Amount]]) -> None:
        self.starts: list[int] = [start for start, _ in steps]
        self.rate: list[Amount] = [rate for _, rate in steps]
        self.done: list[Amount] = [0 * self.rate[0]]
        for (start, rate), (end, _) in pairwise(steps):
            self.done.append(self.done[-1] + rate * (end - start))

    def until(self, time: int) -> Amount:
        """Return the work until a time."""
        k = bisect_right(self.starts, time) - 1
        return self.done[k] + self.rate[k] * (time - self.starts[k])

    def step(self, done: Amount) -> int:
        """Return the step in which the work comes up to a number."""
        return max(0, bisect_left(self.done, done) - 1)

    def reached(self, done: Amount) -> Fraction:
        """Return the earliest time at which the work comes up to a number.

        If nothing is done any more, it is the time since when.
        """
        k = self.step(done)
        if not self.rate[k]:
            return Fraction(self.starts[k])
        return self.starts[k] + Fraction(done - self.done[k], self.rate[k])

    def pieces(self, begin: Amount, end: Amount) -> Iterator[tuple[int, Amount, Amount]]:
        """Yield (step, first, last) of a stretch of work, cut where the rate changes.

        First and last are counted from the work before the step.
        """
        k = self.step(begin + 1)
        while begin < end:
            is_last = k + 1 == len(self.done)
            stop = end if is_last else min(end, self.done[k + 1])
            if stop > begin:
                before = self.done[k]
                yield k, begin - before, stop - before
            begin = stop
            k += 1
