"""How much GPU time a cluster has until when, where servers are on loan for some of the time."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

from dlsched.simulation.clock import ticks
from dlsched.simulation.cluster import LOAN, Cluster

Steps = tuple[tuple[int, int], ...]


def steps(cluster: Cluster) -> Steps:
    """Return (time in microseconds, GPUs from then on) of a cluster, from time 0 on.

    Of the loan pool the largest servers count that may be lent together.
    """
    always = sum(server.gpus for server in cluster.servers if server.pool != LOAN)
    lent = sorted((s.gpus for s in cluster.servers if s.pool == LOAN), reverse=True)
    found = {0: always}
    for loan in cluster.loans:
        found[ticks(loan.time)] = always + sum(lent[: loan.servers])
    return tuple(found.items())


class Capacity:
    """GPU time of a number of GPUs that changes at given times; all numbers are whole.

    Parameters
    ----------
    steps
        (time in microseconds, GPUs from then on); the first is at 0.

    Attributes
    ----------
    starts, gpus, done
        By step: its start, its GPUs, and the GPU time before it.
    """

    def __init__(self, steps: Steps) -> None:
        self.starts = [start for start, _ in steps]
        self.gpus = [gpus for _, gpus in steps]
        self.done = [0]
        for (start, gpus), (end, _) in pairwise(steps):
            self.done.append(self.done[-1] + gpus * (end - start))

    def until(self, time: int) -> int:
        """Return the GPU time until a time."""
        k = bisect_right(self.starts, time) - 1
        return self.done[k] + self.gpus[k] * (time - self.starts[k])

    def step(self, done: int) -> int:
        """Return the step in which the GPU time comes up to a number above 0."""
        return bisect_left(self.done, done) - 1

    def reached(self, done: int) -> Fraction:
        """Return the earliest time at which the GPU time comes up to a number above 0.

        If there are no GPUs any more, it is the time since which there are none.
        """
        k = self.step(done)
        if not self.gpus[k]:
            return Fraction(self.starts[k])
        return self.starts[k] + Fraction(done - self.done[k], self.gpus[k])

    def pieces(self, begin: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Yield (step, first, last) of a stretch of GPU time, cut where the GPUs change.

        First and last are GPU times, counted from that before the step.
        """
        k = self.step(begin + 1)
        while begin < end:
            stop = end if k + 1 == len(self.done) else min(end, self.done[k + 1])
            if stop > begin:
                yield k, begin - self.done[k], stop - self.done[k]
            begin, k = stop, k + 1
