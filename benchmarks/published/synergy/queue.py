"""The jobs present in Synergy's public simulator, and the orders in which it takes them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from published.synergy.jobs import SimulatedJob

STARVING = 1000 * 3600
"""Seconds without GPUs after which a job comes before all others, except under FIFO."""

Keys: TypeAlias = NDArray[np.float64]


class Queue:
    """The jobs present, and what their order depends on, by their positions in the workload.

    All of it is in arrays, as a long queue is sorted anew in every round, and in floats with the
    operations of the public code one by one, so that ties are its own.

    Parameters
    ----------
    order
        A name of `KEYS`.
    fair
        Whether remaining times are those at the proportional share, or at the speed-up last known.
    total
        GPUs, CPUs and memory of the cluster.

    Attributes
    ----------
    present
        Positions of the jobs present, in the order of the last `sorted`, new ones last.
    """

    def __init__(
        self,
        jobs: Sequence[SimulatedJob],
        order: str,
        fair: bool,
        total: tuple[int, float, float],
    ) -> None:
        self.jobs, self.order, self.fair = jobs, order, fair
        self.present = np.zeros(0, np.int64)
        self.arrival = np.array([job.arrival for job in jobs])
        self.left = np.array([job.seconds * (job.total - job.done) for job in jobs])
        self.alone = np.array([job.seconds * job.total for job in jobs])
        self.gpus = np.array([job.gpus for job in jobs])
        self.attained = np.array([job.attained for job in jobs])
        self.speedup = np.array([job.best_speedup for job in jobs])
        self.shares = np.array(
            [[a / b for a, b in zip((job.gpus, *job.best), total, strict=True)] for job in jobs]
        )
        self._last = self.arrival.copy()
        self._starving = np.zeros(len(jobs), bool)
        self._tried: list[int] = []

    def add(self, index: int) -> None:
        """Add a job that arrives."""
        self.present = np.append(self.present, index)

    def sorted(self, now: float) -> list[SimulatedJob]:
        """Sort the jobs present and return them; starving ones come first, except under FIFO."""
        present = self.present
        keys = [self.arrival[present], KEYS[self.order](self, present, now)]
        if self.order != "fifo":
            keys.append(~self._starving[present])
        self.present = present[np.lexsort(keys)]
        return [self.jobs[i] for i in self.present.tolist()]

    def tried(self, jobs: Iterable[SimulatedJob], now: float) -> None:
        """Take over the speed-ups of the jobs that the round tried; find those that starve."""
        for i in self._tried:
            self.speedup[i] = self.jobs[i].best_speedup
        self._tried = [job.index for job in jobs]
        for i in self._tried:
            self.speedup[i] = self.jobs[i].speedup
        if self.order != "fifo":
            present = self.present
            self._starving[present] |= now - self._last[present] > STARVING

    def ran(self, jobs: Iterable[SimulatedJob], end: float) -> None:
        """Take over what the jobs of the round have done; those that are done leave."""
        done = []
        for job in jobs:
            i = job.index
            self.left[i] = job.seconds * (job.total - job.done)
            self.attained[i] = job.attained
            self._last[i] = end
            if job.done >= job.total:
                done.append(i)
        if done:
            self.present = self.present[~np.isin(self.present, done)]

    def remaining(self, at: NDArray[np.int64]) -> Keys:
        """Return the seconds left of some jobs."""
        seconds: Keys = self.left[at]
        return seconds if self.fair else seconds / self.speedup[at]


def ftf(queue: Queue, at: NDArray[np.int64], now: float) -> Keys:
    """Return the time since arrival with the remaining time, over the time at the fair share."""
    ratio: Keys = (now - queue.arrival[at] + queue.remaining(at)) / queue.alone[at]
    return ratio


def tetris(queue: Queue, at: NDArray[np.int64], _now: float) -> Keys:
    """Return the remaining time, weighted by the sum of the best case's shares.

    It is a key of the job alone, which falls as it works: no alignment with what servers have free,
    as in Tetris's own packing score.
    """
    gpus, cpus, memory = (queue.remaining(at)[:, None] * queue.shares[at]).T
    weighted: Keys = gpus + cpus + memory
    return weighted


KEYS: Mapping[str, Callable[[Queue, NDArray[np.int64], float], Keys]] = {
    "fifo": lambda queue, at, _: queue.arrival[at],
    "srtf": lambda queue, at, _: queue.remaining(at),
    "las": lambda queue, at, _: queue.attained[at] * queue.gpus[at],
    "ftf": ftf,
    "ftf_least": ftf,
    "ftf_largest": lambda queue, at, now: -ftf(queue, at, now),
    "drf": lambda queue, at, _: queue.shares[at].max(axis=1),
    "tetris": tetris,
}
"""Keys of the orders, least first; ties by arrival, then as in the round before.

The public code does not have ``ftf_largest``, which is Themis's order; ``drf`` is by the dominant
share of the best case.
"""
