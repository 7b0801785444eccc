"""Instance and solution of sensitivity: CPUs, memory and servers of jobs (Synergy, section 4)."""

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
    granularity,
    simplify,
)

MOST_GPUS = 10**6
"""Upper limit of the GPUs in a cluster."""


class Servers(Document):
    """Identical servers: their number, and the GPUs, CPUs and memory (GB) of each."""

    count: PositiveCount
    """Number of servers. Unit: servers."""
    gpus: PositiveCount
    """GPUs of each server. Unit: GPUs."""
    cpus: PositiveAmount
    """CPUs of each server. Unit: CPUs."""
    memory: PositiveAmount
    """Memory of each server. Unit: GB."""

    @property
    def proportional(self) -> tuple[Number, Number]:
        """CPUs and memory (GB) of a server divided by its GPUs."""
        cpus = Fraction(self.cpus) / self.gpus
        memory = Fraction(self.memory) / self.gpus
        return simplify(cpus), simplify(memory)


class Choice(NamedTuple):
    """CPUs and memory (GB) per GPU of a job, and the job's throughput with them."""

    cpus: Number
    memory: Number
    throughput: Number

    def rank(self) -> tuple[Number, Number, Number]:
        """Return a key that is larger for faster choices, of equals for fewer CPUs and memory."""
        return self.throughput, -self.cpus, -self.memory


class Amounts(NamedTuple):
    """The number of which all amounts of a resource are multiples, and the largest of them."""

    granularity: Fraction
    largest: Number


class Profile(Document):
    """Throughput by CPUs (rows) and memory (columns), both per GPU; 0 means not measured."""

    gpus: PositiveCount
    """GPUs of a job of this profile. Unit: GPUs."""
    cpus: tuple[PositiveAmount, ...]
    """CPUs per GPU of the rows of ``throughput``, ascending. Unit: CPUs per GPU."""
    memory: tuple[PositiveAmount, ...]
    """Memory per GPU of the columns of ``throughput``, ascending. Unit: GB per GPU."""
    throughput: tuple[tuple[Amount, ...], ...]
    """Throughput, usually relative to the proportional share; 0 means not measured.

    Unit: any, the same for all.
    """

    @model_validator(mode="after")
    def _shaped(self) -> Self:
        for name in ("cpus", "memory"):
            axis = getattr(self, name)
            if not axis:
                raise Flaw((name,), "is empty", "give at least one value")
            for i, (a, b) in enumerate(pairwise(axis), start=1):
                if b <= a:
                    problem = f"{float(b):g} is not above {float(a):g}"
                    raise Flaw((name, i), problem, "sort the axis")
        if len(self.throughput) != len(self.cpus):
            remedy = f"give {len(self.cpus)}, one for each number of CPUs"
            raise Flaw(("throughput",), f"has {len(self.throughput)} rows", remedy)
        for r, row in enumerate(self.throughput):
            if len(row) != len(self.memory):
                remedy = f"give {len(self.memory)}, one for each memory size"
                raise Flaw(("throughput", r), f"has {len(row)} entries", remedy)
        return self

    def at(self, cpus: Number, memory: Number) -> Number | None:
        """Return the throughput with these amounts per GPU; ``None`` off the axes."""
        if cpus not in self.cpus or memory not in self.memory:
            return None
        return self.throughput[self.cpus.index(cpus)][self.memory.index(memory)]


class Job(Document):
    """A training job and the name of its profile."""

    id: Id
    """Id of the job."""
    profile: Id
    """Name of its profile."""


class Instance(schema.Instance):
    """Servers, profiles and jobs; all jobs must be placed unless they may wait."""

    problem: Literal["sensitivity"] = "sensitivity"
    servers: Servers
    """The identical servers."""
    allow_split: StrictBool = True
    """Whether a job of several GPUs may be on several servers."""
    may_wait: StrictBool = False
    """Whether a job may be absent from the solution."""
    profiles: dict[Id, Profile]
    """Profiles by name."""
    jobs: tuple[Job, ...]
    """The jobs."""

    @model_validator(mode="after")
    def _resolve(self) -> Self:
        total = self.servers.count * self.servers.gpus
        if total > MOST_GPUS:
            problem = f"makes {total} GPUs"
            raise Flaw(("servers", "count"), problem, f"keep the cluster within {MOST_GPUS}")
        for name, profile in self.profiles.items():
            self._require_share(name, profile)
        schema.require_unique((job.id for job in self.jobs), "jobs")
        for j, job in enumerate(self.jobs):
            if job.profile not in self.profiles:
                raise schema.dangling(("jobs", j, "profile"), "profile", job.profile, self.profiles)
        return self

    def _require_share(self, name: Id, profile: Profile) -> None:
        """Refuse a profile without a throughput at the proportional share."""
        cpus, memory = self.servers.proportional
        remedy = "measure it there: no job may be slower than that"
        for axis, share in (("cpus", cpus), ("memory", memory)):
            if share not in getattr(profile, axis):
                problem = f"lacks {float(share):g}, the proportional share of a GPU"
                raise Flaw(("profiles", name, axis), problem, remedy)
        if not profile.at(cpus, memory):
            problem = "is 0 at the proportional share of a GPU"
            raise Flaw(("profiles", name, "throughput"), problem, remedy)

    @model_serializer(mode="wrap")
    def _brief(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Omit `may_wait` where it is false: digests date from before the field existed."""
        data: dict[str, Any] = handler(self)
        if not self.may_wait:
            data.pop("may_wait", None)
        return data

    def profile(self, job: Job) -> Profile:
        """Return a job's profile."""
        return self.profiles[job.profile]

    @derived
    def choices(self) -> dict[Id, tuple[Choice, ...]]:
        """For each profile the measured choices at least as fast as the proportional share.

        A choice that needs more CPUs or memory per GPU than a server has is left out.
        """
        servers = self.servers
        choices: dict[Id, tuple[Choice, ...]] = {}
        for name, profile in self.profiles.items():
            least = self.shares[name].throughput
            choices[name] = tuple(
                Choice(cpus, memory, throughput)
                for cpus, row in zip(profile.cpus, profile.throughput, strict=True)
                for memory, throughput in zip(profile.memory, row, strict=True)
                if throughput >= least and cpus <= servers.cpus and memory <= servers.memory
            )
        return choices

    @derived
    def undominated(self) -> dict[Id, tuple[Choice, ...]]:
        """The choices that no other choice dominates (no more CPUs and memory, no slower)."""
        return {
            name: tuple(
                b for b in choices if not any(_dominates(a, b) for a in choices if a is not b)
            )
            for name, choices in self.choices.items()
        }

    def replacement(self, profile: Id, cpus: Number, memory: Number) -> Choice:
        """Return an undominated choice with no more CPUs and memory than this, and no slower."""
        throughput = self.profiles[profile].at(cpus, memory) or 0
        return next(
            c
            for c in self.undominated[profile]
            if c.cpus <= cpus and c.memory <= memory and c.throughput >= throughput
        )

    @derived
    def best_cases(self) -> dict[Id, Choice]:
        """For each profile the best-case demand (section 3.2): the least for full throughput.

        Of the fastest choices the one with fewest CPUs, then least memory **(D)**. A job that fits
        the GPUs of one server gets at most that server's CPUs and memory (section 6).
        """
        servers = self.servers
        best = {}
        for name, choices in self.choices.items():
            gpus = self.profiles[name].gpus
            possible = [
                c
                for c in choices
                if gpus > servers.gpus
                or (gpus * c.cpus <= servers.cpus and gpus * c.memory <= servers.memory)
            ]
            best[name] = max(possible, key=Choice.rank)
        return best

    @derived
    def shares(self) -> dict[Id, Choice]:
        """For each profile the choice of the proportional share."""
        cpus, memory = self.servers.proportional
        return {
            name: Choice(cpus, memory, profile.at(cpus, memory) or 0)
            for name, profile in self.profiles.items()
        }

    @derived
    def amounts(self) -> tuple[Amounts, Amounts]:
        """Of CPUs and of memory the amounts of servers, of a GPU's share and of all choices."""
        share_cpus, share_memory = self.servers.proportional
        every = [choice for choices in self.choices.values() for choice in choices]
        cpus = [self.servers.cpus, share_cpus, *(choice.cpus for choice in every)]
        memory = [self.servers.memory, share_memory, *(choice.memory for choice in every)]
        return Amounts(granularity(cpus), max(cpus)), Amounts(granularity(memory), max(memory))


def _dominates(a: Choice, b: Choice) -> bool:
    """Whether choice `a` takes no more CPUs and memory than `b` and is no slower."""
    return a.cpus <= b.cpus and a.memory <= b.memory and a.throughput >= b.throughput


class Allocation(Document):
    """CPUs and memory (GB) per GPU, and the GPUs on each server by the server's index."""

    cpus: PositiveAmount
    """CPUs per GPU, a value of the profile's axis. Unit: CPUs per GPU."""
    memory: PositiveAmount
    """Memory per GPU, a value of the profile's axis. Unit: GB per GPU."""
    gpus: dict[Id, PositiveCount]
    """GPUs by index of the server, from "0". Unit: GPUs."""


class Solution(schema.Solution):
    """The allocation of each job; a job that waits is absent."""

    problem: Literal["sensitivity"] = "sensitivity"
    allocation: dict[Id, Allocation]
    """What each job gets; a job that waits is absent."""
