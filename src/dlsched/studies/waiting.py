"""GPUs that are idle while jobs wait, divided among the jobs that wait.

At a moment with h GPUs held of M, and waiting jobs that ask for W GPUs in all, a job that asks for
g is charged with g / W of the M - h idle ones. The integral over a job's waiting is its share, so
that the shares add up to the GPU-time that is idle while anybody waits, however jobs are grouped.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dlsched.simulation.measures.queue import steps

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Spans:
    """Stretches of time, of jobs by position; times in seconds.

    Attributes
    ----------
    job, gpus
        Position of the job; what it holds, or asks for.
    start, end
        Shapes as those of `job`.
    """

    job: Ints
    start: Floats
    end: Floats
    gpus: Floats

    def curve(self) -> tuple[Floats, Floats]:
        """Return the GPUs over time: times, and the value from each on."""
        times = np.concatenate((self.start, self.end))
        return steps(times, np.concatenate((self.gpus, -self.gpus)))

    def within(self, since: float, until: float) -> Spans:
        """Return what of the stretches lies in a window."""
        start, end = self.start.clip(since, until), self.end.clip(since, until)
        kept = end > start
        return Spans(self.job[kept], start[kept], end[kept], self.gpus[kept])


def gaps(held: Spans, begin: Floats, sizes: Floats) -> Spans:
    """Return when jobs wait: from their begin on, whenever they hold nothing before their last end.

    Parameters
    ----------
    begin, sizes
        When each job could first run, and what it asks for; of all jobs, by position.
    """
    order = np.lexsort((held.start, held.job))
    job, start, end = held.job[order], held.start[order], held.end[order]
    first = np.ones(len(job), np.bool_)
    first[1:] = job[1:] != job[:-1]
    before = np.where(first, begin[job], np.concatenate(([0.0], end[:-1])))
    waits = start > before
    return Spans(job[waits], before[waits], start[waits], sizes[job[waits]])


def idle_shares(held: Spans, waits: Spans, capacity: float, jobs: int) -> Floats:
    """Return the idle GPU-seconds that each job is charged with, shape (jobs,)."""
    shares = np.zeros(jobs)
    if not len(waits.job):
        return shares
    times = np.unique(np.concatenate((held.start, held.end, waits.start, waits.end)))
    taken = _at(times, *held.curve())
    wanted = _at(times, *waits.curve())
    idle = (capacity - taken).clip(min=0)
    rate = np.divide(idle, wanted, out=np.zeros(len(times)), where=wanted > 0.5)
    total = np.concatenate(([0.0], np.cumsum(rate[:-1] * np.diff(times))))
    first, last = (np.searchsorted(times, edge) for edge in (waits.start, waits.end))
    np.add.at(shares, waits.job, waits.gpus * (total[last] - total[first]))
    return shares


def _at(times: Floats, moments: Floats, values: Floats) -> Floats:
    """Return the values of a curve from some times on; 0 before its first moment."""
    place = np.searchsorted(moments, times, side="right") - 1
    found: Floats = np.where(place >= 0, values[place.clip(min=0)], 0.0)
    return found


def held_time(held: Spans, capacity: float, since: float, until: float) -> float:
    """Return the GPU-seconds held in a window; GPUs that jobs share count at most once."""
    inside = held.within(since, until)
    if not len(inside.job):
        return 0.0
    times, values = inside.curve()
    return float((values[:-1].clip(max=capacity) * np.diff(times)).sum())
