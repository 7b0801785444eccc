"""Instance and solution of sensitivity: CPUs, memory and servers of jobs (Synergy, section 4)."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal, NamedTuple, Self

from pydantic import SerializerFunctionWrapHandler, StrictBool, model_serializer, model_validator

from dlsched import schema
from dlsched.schema import (
    Amount,
    Document,
    Flaw,
    Id,
    Number,
    PositiveAmount,
    PositiveCount,
    derived,
)

MOST_GPUS = 10**6
"""A cluster with more GPUs than this is refused."""


class Servers(Document):
    """Servers that are all alike: how many, and what each one has (memory in GB)."""

    count: PositiveCount
    gpus: PositiveCount
    cpus: PositiveAmount
    memory: PositiveAmount

    @property
    def proportional(self) -> tuple[Number, Number]:
        """CPUs and memory per GPU: the share that a job gets without looking at it."""
        return _plain(Fraction(self.cpus) / self.gpus), _plain(Fraction(self.memory) / self.gpus)


class Choice(NamedTuple):
    """What a job may get per GPU, and its throughput with that."""

    cpus: Number
    memory: Number
    throughput: Number


class Profile(Document):
    """Throughput by CPUs (rows) and memory (columns), both per GPU; 0 was not measured."""

    gpus: PositiveCount
    cpus: tuple[PositiveAmount, ...]
    memory: tuple[PositiveAmount, ...]
    throughput: tuple[tuple[Amount, ...], ...]

    @model_validator(mode="after")
    def _shaped(self) -> Self:
        for name in ("cpus", "memory"):
            axis = getattr(self, name)
            if not axis:
                raise Flaw((name,), "is empty", "give at least one value")
            for i, (a, b) in enumerate(pairwise(axis), start=1):
                if b <= a:
                    raise Flaw(
                        (name, i), f"{float(b):g} is not above {float(a):g}", "sort the axis"
                    )
        if len(self.throughput) != len(self.cpus):
            raise Flaw(
                ("throughput",),
                f"has {len(self.throughput)} rows",
                f"give {len(self.cpus)}, one for each number of CPUs",
            )
        for r, row in enumerate(self.throughput):
            if len(row) != len(self.memory):
                raise Flaw(
                    ("throughput", r),
                    f"has {len(row)} entries",
                    f"give {len(self.memory)}, one for each memory size",
                )
        return self

    def at(self, cpus: Number, memory: Number) -> Number | None:
        """Return the throughput with so much per GPU; ``None`` off the axes."""
        if cpus not in self.cpus or memory not in self.memory:
            return None
        return self.throughput[self.cpus.index(cpus)][self.memory.index(memory)]


class Job(Document):
    """A training job and the profile it has."""

    id: Id
    profile: Id


class Instance(schema.Instance):
    """Servers, profiles, and the jobs: all of them must be placed, unless they may wait."""

    problem: Literal["sensitivity"] = "sensitivity"
    servers: Servers
    allow_split: StrictBool = True
    may_wait: StrictBool = False
    profiles: dict[Id, Profile]
    jobs: tuple[Job, ...]

    @model_validator(mode="after")
    def _resolve(self) -> Self:
        if self.servers.count * self.servers.gpus > MOST_GPUS:
            raise Flaw(
                ("servers", "count"),
                f"makes {self.servers.count * self.servers.gpus} GPUs",
                f"keep the cluster within {MOST_GPUS}",
            )
        cpus, memory = self.servers.proportional
        for name, profile in self.profiles.items():
            for axis, share in (("cpus", cpus), ("memory", memory)):
                if share not in getattr(profile, axis):
                    raise Flaw(
                        ("profiles", name, axis),
                        f"lacks {float(share):g}, the proportional share of a GPU",
                        "measure it there: no job may be slower than that",
                    )
            if not profile.at(cpus, memory):
                raise Flaw(
                    ("profiles", name, "throughput"),
                    "is 0 at the proportional share of a GPU",
                    "measure it there: no job may be slower than that",
                )
        schema.require_unique((job.id for job in self.jobs), "jobs")
        for j, job in enumerate(self.jobs):
            if job.profile not in self.profiles:
                raise schema.dangling(("jobs", j, "profile"), "profile", job.profile, self.profiles)
        return self

    @model_serializer(mode="wrap")
    def _brief(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out `may_wait` where it is false: digests are older than the field."""
        data: dict[str, Any] = handler(self)
        if not self.may_wait:
            data.pop("may_wait", None)
        return data

    def profile(self, job: Job) -> Profile:
        """Return a job's profile."""
        return self.profiles[job.profile]

    @derived
    def choices(self) -> dict[Id, tuple[Choice, ...]]:
        """For each profile what a job of it may get: measured, and not below proportional.

        What no server has for even one GPU is left out.
        """
        cpus, memory = self.servers.proportional
        found = {}
        for name, profile in self.profiles.items():
            least = profile.at(cpus, memory)
            assert least is not None
            found[name] = tuple(
                Choice(c, m, t)
                for c, row in zip(profile.cpus, profile.throughput, strict=True)
                for m, t in zip(profile.memory, row, strict=True)
                if t and t >= least and c <= self.servers.cpus and m <= self.servers.memory
            )
        return found

    @derived
    def undominated(self) -> dict[Id, tuple[Choice, ...]]:
        """The choices of which no other takes no more and gives no less."""
        return {name: _pareto(choices) for name, choices in self.choices.items()}

    def replacement(self, profile: Id, cpus: Number, memory: Number) -> Choice:
        """Return an undominated choice that takes no more than this one, and is no slower."""
        throughput = self.profiles[profile].at(cpus, memory) or 0
        return next(
            c
            for c in self.undominated[profile]
            if c.cpus <= cpus and c.memory <= memory and c.throughput >= throughput
        )

    @derived
    def best_cases(self) -> dict[Id, Choice]:
        """For each profile the best-case demand (section 3.2): the least that saturates.

        Of the fastest choices the one with fewest CPUs, then least memory **(D)**. Jobs whose GPUs
        one server has get no more CPUs or memory than a server has (section 6).
        """
        servers, found = self.servers, {}
        for name, choices in self.choices.items():
            gpus = self.profiles[name].gpus
            allowed = [
                c
                for c in choices
                if gpus > servers.gpus
                or (gpus * c.cpus <= servers.cpus and gpus * c.memory <= servers.memory)
            ]
            found[name] = max(allowed, key=lambda c: (c.throughput, -c.cpus, -c.memory))
        return found

    @derived
    def shares(self) -> dict[Id, Choice]:
        """For each profile the proportional share."""
        cpus, memory = self.servers.proportional
        return {
            name: Choice(cpus, memory, profile.at(cpus, memory) or 0)
            for name, profile in self.profiles.items()
        }

    def proportional(self, profile: Id) -> Choice:
        """Return the choice that every job has by right."""
        return self.shares[profile]


def _pareto(choices: tuple[Choice, ...]) -> tuple[Choice, ...]:
    kept = []
    for i, a in enumerate(choices):
        better = any(
            b.cpus <= a.cpus
            and b.memory <= a.memory
            and b.throughput >= a.throughput
            and (b[:3] != a[:3] or j < i)
            for j, b in enumerate(choices)
            if j != i
        )
        if not better:
            kept.append(a)
    return tuple(kept)


def _plain(number: Fraction) -> Number:
    return int(number) if number.denominator == 1 else number


class Allocation(Document):
    """CPUs and memory per GPU, and the GPUs on each server, by the server's index."""

    cpus: PositiveAmount
    memory: PositiveAmount
    gpus: dict[Id, PositiveCount]


class Solution(schema.Solution):
    """What each job gets, and where; a job that waits is absent."""

    problem: Literal["sensitivity"] = "sensitivity"
    allocation: dict[Id, Allocation]
