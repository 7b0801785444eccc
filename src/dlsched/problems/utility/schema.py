"""Instance and solution of utility: which GPUs each gang job gets in each slot (Hadar)."""

from __future__ import annotations

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
"""A longer horizon is refused."""
_LEAST_WORTH = Fraction(1, 10**300)
"""Utilities are kept within this and its reciprocal, where floats have all their digits."""


class Machine(Document):
    """A machine and its GPUs by type."""

    id: Id
    gpus: dict[Id, Count]


class Utility(Document):
    """What a job is worth, by its completion time in slots."""

    kind: Literal["effective_throughput", "linear", "table"] = "effective_throughput"


class Job(Document):
    """A gang job: how many GPUs it holds at once, its work, and its rate on each type per second.

    `utilities`, for the utility kind "table", has its worth by completion time in slots.
    """

    id: Id
    arrival: PositiveCount
    workers: PositiveCount
    iterations: PositiveAmount
    rates: dict[Id, Amount]
    utilities: tuple[Amount, ...] | None = None


class Speed(NamedTuple):
    """A way to run for a slot: the progress, and the types that are at least that fast."""

    gain: Number
    types: frozenset[str]


class Instance(schema.Instance):
    """Machines over a horizon of slots, and the jobs that arrive."""

    problem: Literal["utility"] = "utility"
    slots: PositiveCount
    slot_seconds: PositiveAmount
    progress: Literal["per_job", "per_worker"] = "per_job"
    utility: Utility = Utility()
    must_finish: StrictBool = False
    forking: StrictBool = False
    machines: tuple[Machine, ...]
    jobs: tuple[Job, ...]

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
            self._check_worth(j, job)
            self._check_table(j, job)
        return self

    def _check_worth(self, j: int, job: Job) -> None:
        if self.utility.kind == "effective_throughput":
            rate = Fraction(job.iterations) / Fraction(self.slot_seconds)
            if not _LEAST_WORTH <= rate <= 1 / _LEAST_WORTH:
                raise Flaw(
                    ("jobs", j, "iterations"),
                    "a second, by slot_seconds, are more than 1e300 or less than 1e-300",
                    "use other units of time or work",
                )

    def _check_table(self, j: int, job: Job) -> None:
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
                raise Flaw((*path, i), "is above the one before", "let utilities never increase")

    @derived
    def machine_index(self) -> dict[str, int]:
        """Position of each machine."""
        return {machine.id: m for m, machine in enumerate(self.machines)}

    @derived
    def supply(self) -> dict[str, int]:
        """GPUs of each type on all machines, in the order of the file; none without GPUs."""
        total: dict[str, int] = {}
        for machine in self.machines:
            for kind, count in machine.gpus.items():
                if count:
                    total[kind] = total.get(kind, 0) + count
        return total

    def gain(self, job: Job, rate: Number) -> Number:
        """Return the progress of a slot at this rate (Hadar, 1a)."""
        times = job.workers if self.progress == "per_worker" and not self.forking else 1
        return rate * self.slot_seconds * times

    def rate(self, job: Job, kind: str) -> Number:
        """Return a job's rate on a type; 0 if it has none."""
        return job.rates.get(kind, 0)

    @derived
    def speeds(self) -> tuple[tuple[Speed, ...], ...]:
        """For each job the speeds it can run at, fastest first.

        Its rate is the lowest of the types it holds (1b), so at a speed it may use every type that
        is as fast or faster; those with too few GPUs in the cluster are left out.
        """
        return tuple(self._speeds(job) for job in self.jobs)

    def _speeds(self, job: Job) -> tuple[Speed, ...]:
        rates = {kind: self.rate(job, kind) for kind in self.supply if self.rate(job, kind)}
        found = []
        for rate in sorted(set(rates.values()), reverse=True):
            kinds = frozenset(kind for kind, r in rates.items() if r >= rate)
            if self.forking or sum(self.supply[kind] for kind in kinds) >= job.workers:
                found.append(Speed(self.gain(job, rate), kinds))
        return tuple(found)

    def worth(self, job: Job, completion: int) -> Number:
        """Return the utility of finishing after so many slots, arrival and last slot included."""
        if self.utility.kind == "effective_throughput":
            return Fraction(job.iterations) / (completion * Fraction(self.slot_seconds))
        if self.utility.kind == "linear":
            return self.slots + 1 - completion
        assert job.utilities is not None
        return job.utilities[completion - 1]


class Held(Document):
    """The GPUs that a job holds in a slot, by machine and type."""

    slot: PositiveCount
    gpus: dict[Id, dict[Id, PositiveCount]]


class Solution(schema.Solution):
    """For each job the slots in which it runs, and on what."""

    problem: Literal["utility"] = "utility"
    schedule: dict[Id, tuple[Held, ...]]
