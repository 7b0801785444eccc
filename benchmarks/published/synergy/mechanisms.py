"""How the jobs of a round get their GPUs, CPUs and memory in Synergy's public simulator."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, NamedTuple

import dlsched
from dlsched.problems.sensitivity.definition.schema import Choice, Instance, Job, Solution
from dlsched.problems.sensitivity.instances.state import Rounds, Wish
from dlsched.problems.sensitivity.programs.pooled import ideal_allocation
from dlsched.run import Run
from dlsched.simulation.engine.decision import PolicyError
from dlsched.simulation.engine.policy import refuse_unused
from dlsched.simulation.policies.synergy_rounds import INDIFFERENT, OPT, chosen
from published.synergy.jobs import SimulatedJob, fitting
from published.synergy.servers import Servers

PLACING: Final = ("proportional", "greedy", "tune")
"""Mechanisms of the public code that are repeated here, in floats."""


class Given(NamedTuple):
    """What a job gets: its CPUs and memory per GPU, its GPUs by server, and its speed-up."""

    choice: Choice
    shares: dict[int, int]
    speedup: float


class Size(NamedTuple):
    """Number of servers; GPUs, CPUs and memory of each."""

    servers: int
    gpus: int
    cpus: float
    memory: float


class Mechanism:
    """One way to give the jobs of a round what they need.

    Parameters
    ----------
    method
        One of `PLACING`, `OPT`, or any method of the problem sensitivity, which solves the
        round's instance.
    options
        Options of `dlsched.solve` for such a method.

    Attributes
    ----------
    tried
        The jobs that the last round tried to place; all others have the speed-up of their best
        case.
    """

    def __init__(self, method: Any, rounds: Rounds, seed: int, options: Mapping[str, Any]) -> None:
        self.method = method
        self.rounds = rounds
        self.seed = seed
        self.options = dict(options)
        if method in (*PLACING, OPT):
            refuse_unused(self.options, str(method))
        self.known: dict[tuple[tuple[str, int], ...], list[Given]] = {}
        self.tried: list[SimulatedJob] = []
        servers = rounds.servers
        amounts = map(float, (servers["cpus"], servers["memory"]))
        self.size = Size(servers["count"], servers["gpus"], *amounts)

    @property
    def fair(self) -> bool:
        """Whether orders take the remaining time at the proportional share."""
        return self.method not in ("greedy", "tune")

    @property
    def total(self) -> tuple[int, float, float]:
        """GPUs, CPUs and memory of the cluster."""
        count, gpus, cpus, memory = self.size
        return count * gpus, count * cpus, count * memory

    def decide(self, jobs: list[SimulatedJob], order: str) -> list[SimulatedJob]:
        """Give the sorted jobs what they get; return those that run.

        The public code walks the whole queue while GPUs are free, under LAS only the jobs of the
        round, which TUNE takes with the largest first.
        """
        for job in self.tried:
            job.speedup = job.best_speedup
            job.shares = {}
        if self.method not in PLACING:
            self.tried = fitting(jobs, self.total[0])
            return self._solve(self.tried)
        queue: Sequence[SimulatedJob] = jobs
        if order == "las":
            queue = fitting(jobs, self.total[0])
            if self.method == "tune":
                queue = sorted(queue, key=lambda job: -job.gpus)
        servers = Servers(*self.size)
        place = getattr(servers, self.method)
        self.tried, placed = [], []
        for job in queue:
            self.tried.append(job)
            if job.gpus <= servers.free and place(job):
                placed.append(job)
            if not servers.free:
                break
        return placed

    def _solve(self, jobs: list[SimulatedJob]) -> list[SimulatedJob]:
        """Solve the round's instance; a round with jobs of the same profiles is solved once."""
        if not jobs:
            return []
        ordered = jobs
        if self.method in INDIFFERENT:
            ordered = sorted(jobs, key=lambda job: (job.profile, job.gpus))
        key = tuple((job.profile, job.gpus) for job in ordered)
        if key not in self.known:
            wishes = [Wish(str(i), job.profile, job.gpus) for i, job in enumerate(ordered)]
            instance = self.rounds.instance(wishes)
            self.known[key] = self._pooled(instance) if self.method == OPT else self._real(instance)
        given = self.known[key]
        for job, got in zip(ordered, given, strict=True):
            job.take(got.choice, got.shares)
            job.speedup = got.speedup
        return jobs

    def _real(self, instance: Instance) -> list[Given]:
        result = dlsched.solve(instance, self.method, seed=self.seed, **self.options)
        if not isinstance(result.solution, Solution):
            raise PolicyError(f"{self.method} found no allocation: {result.status}")
        given = []
        for job in instance.jobs:
            got = result.solution.allocation[job.id]
            shares = {int(server): gpus for server, gpus in got.gpus.items()}
            given.append(_given(instance, job, chosen(instance, job, got), shares))
        return given

    def _pooled(self, instance: Instance) -> list[Given]:
        """Return stage one's choices, and GPUs in the order of the servers."""
        ideal = ideal_allocation(instance, Run(seed=self.seed))
        servers = Servers(self.size.servers, self.size.gpus, float("inf"), float("inf"))
        given = []
        for job in instance.jobs:
            missing = instance.profile(job).gpus
            shares: dict[int, int] = {}
            for s, free in enumerate(servers.gpus):
                if free and missing:
                    shares[s] = min(free, missing)
                    missing -= shares[s]
                    servers.gpus[s] -= shares[s]
            given.append(_given(instance, job, ideal[job.id], shares))
        return given


def _given(instance: Instance, job: Job, choice: Choice, shares: dict[int, int]) -> Given:
    usual = instance.shares[job.profile].throughput
    return Given(choice, shares, float(Fraction(choice.throughput) / usual))
