"""Instance and solution of utility: which GPUs each gang job gets in each slot (Hadar)."""

from fractions import Fraction
from itertools import pairwise
from typing import Literal, NamedTuple, Self

from pydantic import StrictBool, model_validator

from dlsched import schema
from dlsched.schema import (
    Amount,
    Count,
    Document,
    Flaw,
    Id,
    Number,
    PositiveAmount,
    PositiveCount,
    derived,
)

MOST_SLOTS = 10**5
"""The longest horizon that is accepted."""
_LEAST_WORTH = Fraction(1, 10**300)
"""Utilities lie between this and its reciprocal, where floats have full precision."""


class Machine(Document):
    """A machine and its GPUs by type."""

    id: Id
    """Id of the machine."""
    gpus: dict[Id, Count]
    """GPUs by type. Unit: GPUs."""


class Utility(Document):
    """The kind of utility function, of a job's completion time in slots."""

    kind: Literal["effective_throughput", "linear", "table"] = "effective_throughput"
    """Iterations per second until completion, slots left then, or the table of each job."""


class Job(Document):
    """A gang job: GPUs that it holds at once, iterations, and iterations per second by type.

    `utilities`, for the utility kind "table", has its utility by completion time in slots.
    """

    id: Id
    """Id of the job."""
    arrival: PositiveCount
    """First slot in which it may run; slots count from 1. Unit: slots."""
    workers: PositiveCount
    """GPUs that it holds at once, all or none. Unit: GPUs."""
    iterations: PositiveAmount
    """Iterations until it is complete. Unit: iterations."""
    rates: dict[Id, Amount]
    """Speed by GPU type; a type that is absent cannot be used. Unit: iterations per second."""
    utilities: tuple[Amount, ...] | None = None
    """Utility of finishing after 1, 2, ... slots, never increasing, for the kind "table"."""


class Speed(NamedTuple):
    """Iterations done in a slot, and the types that are at least that fast."""

    gain: Number
    types: frozenset[str]


class Instance(schema.Instance):
    """Machines over a horizon of slots, and the jobs that arrive."""

    problem: Literal["utility"] = "utility"
    slots: PositiveCount
    """Length of the horizon. Unit: slots."""
    slot_seconds: PositiveAmount
    """Length of a slot. Unit: seconds."""
    progress: Literal["per_job", "per_worker"] = "per_job"
    """Whether ``rates`` are those of the whole job or of each worker."""
    utility: Utility = Utility()
    """The kind of utility function."""
    must_finish: StrictBool = False
    """Whether a schedule in which a job does not finish is infeasible."""
    forking: StrictBool = False
    """Whether jobs run as copies, one on a machine and one GPU each (HadarE)."""
    machines: tuple[Machine, ...]
    """The machines."""
    jobs: tuple[Job, ...]
    """The jobs."""

    @model_validator(mode="after")
    def _resolve(self) -> Self:
        if self.slots > MOST_SLOTS:
            raise Flaw(("slots",), f"{self.slots} is too many", f"keep to {MOST_SLOTS} slots")
        schema.require_unique((machine.id for machine in self.machines), "machines")
        schema.require_unique((job.id for job in self.jobs), "jobs")
        for j, job in enumerate(self.jobs):
            if job.arrival > self.slots:
                raise Flaw(
                    ("jobs", j, "arrival"),
                    f"{job.arrival} is after the last slot, {self.slots}",
                    "drop the job, or add slots",
                )
            self._validate_worth(j, job)
            self._validate_table(j, job)
        return self

    def _validate_worth(self, j: int, job: Job) -> None:
        if self.utility.kind == "effective_throughput":
            rate = Fraction(job.iterations) / Fraction(self.slot_seconds)
            if not _LEAST_WORTH <= rate <= 1 / _LEAST_WORTH:
                raise Flaw(
                    ("jobs", j, "iterations"),
                    "a second, by slot_seconds, are more than 1e300 or less than 1e-300",
                    "use other units of time or work",
                )

    def _validate_table(self, j: int, job: Job) -> None:
        path = ("jobs", j, "utilities")
        if self.utility.kind != "table":
            if job.utilities is not None:
                raise Flaw(path, "are not used", 'leave them out, or set utility.kind "table"')
            return
        longest = self.slots - job.arrival + 1
        if job.utilities is None or len(job.utilities) < longest:
            have = "are missing" if job.utilities is None else f"has {len(job.utilities)} entries"
            raise Flaw(path, have, f"give {longest}, one for each completion time in slots")
        for i, a in enumerate(job.utilities):
            if 0 < a < _LEAST_WORTH:
                raise Flaw((*path, i), "is too small", "write 0, or a number from 1e-300")
        for i, (a, b) in enumerate(pairwise(job.utilities), start=1):
            if b > a:
                raise Flaw((*path, i), "is above the one before", "let them never increase")

    @derived
    def machine_index(self) -> dict[str, int]:
        """Position of each machine."""
        return {machine.id: m for m, machine in enumerate(self.machines)}

    @derived
    def supply(self) -> dict[str, int]:
        """GPUs of each type on all machines, in file order; types without GPUs are left out."""
        total: dict[str, int] = {}
        for machine in self.machines:
            for kind, count in machine.gpus.items():
                if count:
                    total[kind] = total.get(kind, 0) + count
        return total

    def gain(self, job: Job, rate: Number) -> Number:
        """Return the iterations done in a slot at this rate (Hadar, 1a)."""
        times = job.workers if self.progress == "per_worker" and not self.forking else 1
        return rate * self.slot_seconds * times

    def rate(self, job: Job, kind: str) -> Number:
        """Return a job's rate on a type in iterations per second; 0 if it has none."""
        return job.rates.get(kind, 0)

    @derived
    def speeds(self) -> tuple[tuple[Speed, ...], ...]:
        """For each job the speeds it can run at, fastest first.

        Its rate is the lowest of the types it holds (1b), so at a speed it may use every type that
        is as fast or faster; speeds for which the cluster has too few GPUs are left out.
        """
        return tuple(self._speeds(job) for job in self.jobs)

    @derived
    def fastest(self) -> tuple[Number, ...]:
        """For each job the most iterations that it can do in a slot; 0 if it cannot run."""
        if not self.forking:
            return tuple(speeds[0].gain if speeds else 0 for speeds in self.speeds)
        types = [[kind for kind, n in machine.gpus.items() if n] for machine in self.machines]

        def best(job: Job) -> Number:
            return sum(max((self.rate(job, k) for k in kinds), default=0) for kinds in types)

        return tuple(self.gain(job, best(job)) for job in self.jobs)

    @derived
    def fewest(self) -> tuple[int, ...]:
        """For each job the fewest slots in which it can finish alone; 0 if it cannot."""
        fewest = []
        for job, gain in zip(self.jobs, self.fastest, strict=True):
            slots = int(-(-job.iterations // gain)) if gain else 0
            fewest.append(slots if slots <= self.slots - job.arrival + 1 else 0)
        return tuple(fewest)

    @derived
    def runs(self) -> int:
        """The number of triples of job, slot and speed."""
        pairs = zip(self.jobs, self.speeds, strict=True)
        return sum((self.slots - job.arrival + 1) * len(speeds) for job, speeds in pairs)

    def _speeds(self, job: Job) -> tuple[Speed, ...]:
        rates = {kind: self.rate(job, kind) for kind in self.supply if self.rate(job, kind)}
        speeds = []
        for rate in sorted(set(rates.values()), reverse=True):
            kinds = frozenset(kind for kind, r in rates.items() if r >= rate)
            if self.forking or sum(self.supply[kind] for kind in kinds) >= job.workers:
                speeds.append(Speed(self.gain(job, rate), kinds))
        return tuple(speeds)

    def worth(self, job: Job, completion: int) -> Number:
        """Return the utility of a completion time in slots, first and last slot included."""
        if self.utility.kind == "effective_throughput":
            return Fraction(job.iterations) / (completion * Fraction(self.slot_seconds))
        if self.utility.kind == "linear":
            return self.slots + 1 - completion
        assert job.utilities is not None
        return job.utilities[completion - 1]


class Held(Document):
    """The GPUs that a job holds in a slot, by machine and type."""

    slot: PositiveCount
    """The slot, from 1. Unit: slots."""
    gpus: dict[Id, dict[Id, PositiveCount]]
    """GPUs by machine and type. Unit: GPUs."""


class Solution(schema.Solution):
    """For each job the slots in which it runs, and the GPUs that it holds there."""

    problem: Literal["utility"] = "utility"
    schedule: dict[Id, tuple[Held, ...]]
    """By job the slots in which it runs, with its GPUs."""
