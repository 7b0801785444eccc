"""The jobs of Synergy's public simulator, and the orders in which it takes them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from dlsched.problems.sensitivity.definition.schema import Choice

STARVING = 1000 * 3600
"""Seconds without GPUs after which a job comes before all others, except under FIFO."""


@dataclass(slots=True, eq=False)
class SimulatedJob:
    """One job; amounts are of the whole job, times in seconds.

    Attributes
    ----------
    index
        Position in the workload.
    seconds
        Seconds per iteration at the proportional share.
    best, fair
        CPUs and memory (GB) of the best case and of the proportional share.
    best_speedup
        Throughput of the best case, relative to that of the proportional share.
    total, done
        Iterations.
    attained
        Seconds of the rounds in which it ran.
    last
        When its last lease ended; None before that.
    speedup
        That of the round, or of the last round if it has none yet.
    shares
        GPUs by server in this round, in the order in which they were taken; empty if it waits.
    cpus, memory
        What it holds in this round.
    """

    index: int
    gpus: int
    profile: str
    arrival: float
    seconds: float
    total: int
    best: tuple[float, float]
    fair: tuple[float, float]
    best_speedup: float
    done: int = 0
    attained: float = 0.0
    last: float | None = None
    first: bool = False
    speedup: float = 1.0
    shares: dict[int, int] = field(default_factory=dict)
    cpus: float = 0.0
    memory: float = 0.0

    def __post_init__(self) -> None:
        """A job that never ran has the speed-up of its best case."""
        self.speedup = self.best_speedup

    @property
    def above_share(self) -> bool:
        """Whether its best case needs more CPUs or memory than the proportional share."""
        return self.best[0] > self.fair[0] or self.best[1] > self.fair[1]

    def remaining(self, fair: bool) -> float:
        """Return the seconds left at the proportional share, or at the speed-up last known."""
        seconds = self.seconds * (self.total - self.done)
        return seconds if fair else seconds / self.speedup

    def progress(self, interval: float) -> int:
        """Return the whole iterations that fit a round."""
        return math.floor(interval / (self.seconds / self.speedup))

    def take(self, choice: Choice, shares: Mapping[int, int]) -> None:
        """Hold what a solution of the round's instance gives; not its speed-up."""
        self.shares = dict(shares)
        self.cpus = self.gpus * float(choice.cpus)
        self.memory = self.gpus * float(choice.memory)


@dataclass(frozen=True, slots=True)
class Moment:
    """What an order depends on besides the job.

    Attributes
    ----------
    fair
        Whether remaining times are those at the proportional share.
    gpus, cpus, memory
        The cluster's totals.
    """

    time: float
    fair: bool
    gpus: int
    cpus: float
    memory: float


def fifo(job: SimulatedJob, _moment: Moment) -> float:
    """Return the time of arrival."""
    return job.arrival


def srtf(job: SimulatedJob, moment: Moment) -> float:
    """Return the remaining time."""
    return job.remaining(moment.fair)


def las(job: SimulatedJob, _moment: Moment) -> float:
    """Return the attained GPU time."""
    return job.attained * job.gpus


def ftf_least(job: SimulatedJob, moment: Moment) -> float:
    """Return the time since arrival with the remaining time, over the time at the fair share."""
    elapsed = moment.time - job.arrival + job.remaining(moment.fair)
    return elapsed / (job.seconds * job.total)


def ftf_largest(job: SimulatedJob, moment: Moment) -> float:
    """Return minus that, for Themis's order, which the public code does not have."""
    return -ftf_least(job, moment)


def drf(job: SimulatedJob, moment: Moment) -> float:
    """Return the dominant share of the best case."""
    return max(_shares(job, moment))


def tetris(job: SimulatedJob, moment: Moment) -> float:
    """Return the remaining time, weighted by the sum of the best case's shares."""
    duration = job.remaining(moment.fair)
    return sum([share * duration for share in _shares(job, moment)])


def _shares(job: SimulatedJob, moment: Moment) -> list[float]:
    cpus, memory = job.best
    return [job.gpus / moment.gpus, cpus / moment.cpus, memory / moment.memory]


KEYS: Mapping[str, Callable[[SimulatedJob, Moment], float]] = {
    "fifo": fifo,
    "srtf": srtf,
    "las": las,
    "ftf": ftf_least,
    "ftf_least": ftf_least,
    "ftf_largest": ftf_largest,
    "drf": drf,
    "tetris": tetris,
}
"""Keys of the orders, least first; ties by arrival."""


def sort(jobs: list[SimulatedJob], order: str, moment: Moment) -> None:
    """Sort the jobs in place; starving ones come first, except under FIFO."""
    key = KEYS[order]
    jobs.sort(key=lambda job: (order != "fifo" and not job.first, key(job, moment), job.arrival))


def fitting(jobs: list[SimulatedJob], gpus: int) -> list[SimulatedJob]:
    """Return the jobs of the round: in order, each whose GPUs fit what is left."""
    chosen = []
    for job in jobs:
        if job.gpus <= gpus:
            gpus -= job.gpus
            chosen.append(job)
    return chosen
