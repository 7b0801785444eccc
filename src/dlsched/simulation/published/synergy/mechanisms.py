"""How the jobs of a round get their GPUs, CPUs and memory in Synergy's public simulator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, TypeAlias

import dlsched
from dlsched.problems.sensitivity.definition.schema import Choice, Instance, Solution
from dlsched.problems.sensitivity.instances.state import Rounds, Wish
from dlsched.problems.sensitivity.programs.pooled import ideal_allocation
from dlsched.run import Run
from dlsched.simulation.engine.policy import PolicyError, refuse_unused
from dlsched.simulation.policies.synergy_rounds import INDIFFERENT, OPT
from dlsched.simulation.published.synergy.jobs import SimulatedJob, fitting
from dlsched.simulation.published.synergy.servers import Servers

PLACING: Final = ("proportional", "greedy", "tune")
"""Mechanisms of the public code that are repeated here, in floats."""


Given: TypeAlias = tuple[Choice, dict[int, int], float]
"""What a job gets: its choice, its GPUs by server, and its speed-up."""


class Mechanism:
    """One way to give the jobs of a round what they need.

    Parameters
    ----------
    method
        One of `PLACING`, `OPT`, or any method of the problem sensitivity, which solves the
        round's instance.
    options
        Options of `dlsched.solve` for such a method.
    """

    def __init__(
        self, method: Any, rounds: Rounds, seed: int, options: Mapping[str, Any] | None = None
    ) -> None:
        self.method, self.rounds, self.seed = method, rounds, seed
        self.options = dict(options or {})
        if method in (*PLACING, OPT):
            refuse_unused(self.options, str(method))
        self.known: dict[tuple[tuple[str, int], ...], Any] = {}
        self._tried: list[SimulatedJob] = []
        self._placed: list[SimulatedJob] = []
        self._full = False
        servers = rounds.servers
        self.size = (
            servers["count"], servers["gpus"], float(servers["cpus"]), float(servers["memory"])
        )  # fmt: skip

    @property
    def fair(self) -> bool:
        """Whether orders take the remaining time at the proportional share."""
        return self.method not in ("greedy", "tune")

    @property
    def total(self) -> tuple[int, float, float]:
        """GPUs, CPUs and memory of the cluster."""
        count, gpus, cpus, memory = self.size
        return count * gpus, count * cpus, count * memory

    def run(self, jobs: list[SimulatedJob], order: str) -> list[SimulatedJob]:
        """Give the jobs in order what they get; return those that run.

        The public code walks the whole queue while GPUs are free, under LAS only the jobs of the
        round, which TUNE takes with the largest first.
        """
        if self.method not in PLACING:
            return self._solve(fitting(jobs, self.total[0]))
        queue: Sequence[SimulatedJob] = jobs
        if order == "las":
            queue = fitting(jobs, self.total[0])
            if self.method == "tune":
                queue = sorted(queue, key=lambda job: -job.gpus)
        servers = Servers(*self.size)
        place = getattr(servers, self.method)
        self._tried, self._placed = [], []
        for job in queue:
            self._tried.append(job)
            if job.gpus <= servers.free and place(job):
                self._placed.append(job)
            if not servers.free:
                break
        self._full = not servers.free
        return self._placed

    def again(self, jobs: list[SimulatedJob], order: str) -> list[SimulatedJob] | None:
        """Return the jobs that run if the last round was the same; None if it has to be run.

        It was if the same jobs are tried in the same order. They then hold what they held.
        """
        if self.method not in PLACING or order == "las" or not self._placed:
            return None
        tried = jobs[: len(self._tried)] if self._full else jobs
        return self._placed if tried == self._tried else None

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
        for job, (choice, shares, speedup) in zip(ordered, given, strict=True):
            job.take(choice, shares)
            job.speedup = speedup
        return jobs

    def _real(self, instance: Instance) -> list[Given]:
        result = dlsched.solve(instance, self.method, seed=self.seed, **self.options)
        if not isinstance(result.solution, Solution):
            raise PolicyError(f"{self.method} found no allocation: {result.status}")
        found = []
        for job in instance.jobs:
            got = result.solution.allocation[job.id]
            throughput = instance.profile(job).at(got.cpus, got.memory)
            assert throughput is not None, "the checker has accepted it"
            choice = Choice(got.cpus, got.memory, throughput)
            shares = {int(server): gpus for server, gpus in got.gpus.items()}
            found.append((choice, shares, _speedup(instance, job.profile, choice)))
        return found

    def _pooled(self, instance: Instance) -> list[Given]:
        """Return stage one's choices, and GPUs in the order of the servers."""
        ideal = ideal_allocation(instance, Run(seed=self.seed))
        servers = Servers(self.size[0], self.size[1], float("inf"), float("inf"))
        found = []
        for job in instance.jobs:
            gpus = instance.profile(job).gpus
            shares: dict[int, int] = {}
            for s, free in enumerate(servers.gpus):
                if free and gpus:
                    shares[s] = min(free, gpus)
                    gpus -= shares[s]
                    servers.gpus[s] -= shares[s]
            choice = ideal[job.id]
            found.append((choice, shares, _speedup(instance, job.profile, choice)))
        return found


def _speedup(instance: Instance, profile: str, choice: Choice) -> float:
    return float(Fraction(choice.throughput) / instance.shares[profile].throughput)
