"""The jobs of Synergy's public simulator."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from dlsched.problems.sensitivity.definition.schema import Choice


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

    def progress(self, interval: float) -> int:
        """Return the whole iterations that fit a round."""
        return math.floor(interval / (self.seconds / self.speedup))

    def take(self, choice: Choice, shares: Mapping[int, int]) -> None:
        """Hold what a solution of the round's instance gives; not its speed-up."""
        self.shares = dict(shares)
        self.cpus = self.gpus * float(choice.cpus)
        self.memory = self.gpus * float(choice.memory)


def fitting(jobs: list[SimulatedJob], gpus: int) -> list[SimulatedJob]:
    """Return the jobs of the round: in order, each whose GPUs fit what is left."""
    chosen = []
    for job in jobs:
        if job.gpus <= gpus:
            gpus -= job.gpus
            chosen.append(job)
    return chosen
