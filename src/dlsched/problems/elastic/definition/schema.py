"""Instance and solution of elastic: how many workers each job gets (Lyra, section 5.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, TypeAlias

from pydantic import Field, PlainValidator, StrictBool, WithJsonSchema, model_validator

from dlsched import schema
from dlsched.schema import (
    Count,
    Document,
    Flaw,
    Id,
    Number,
    PositiveAmount,
    PositiveCount,
    derived,
    whole,
)

if TYPE_CHECKING:
    import pandas

MOST_CHOICES = 10**6
"""Most choices that an instance may have; each is a column of the model."""
POOLS = ("training", "loan")
"""Ids of the pools: the training servers, and the inference servers on loan."""
_LEAST_SHARE = Fraction(10) ** -100
"""Least speed and least efficiency: sums of times divided by both have doubles."""
PoolId: TypeAlias = Literal["training", "loan"]
_LATER = ("pools", "mixed_efficiency")
_LATER_JOB = {"fungible": False, "heterogeneous": False, "base_pool": None}
"""Fields for two pools, which the digest of an instance with one capacity leaves out."""


class Job(Document):
    """A training job that runs with ``min_workers`` to ``max_workers`` workers.

    ``min_running_time`` is its running time in seconds with ``max_workers``, if time scales as
    1 / workers; otherwise ``running_times`` gives the time for each number of workers.
    """

    id: Id
    """Id of the job."""
    gpus_per_worker: PositiveCount
    """GPUs that each of its workers takes. Unit: GPUs."""
    min_workers: PositiveCount
    """Base demand: the least workers with which it runs. Unit: workers."""
    max_workers: PositiveCount
    """The most workers; equal to ``min_workers`` for an inelastic job. Unit: workers."""
    min_running_time: PositiveAmount | None = None
    """Running time with ``max_workers``, if time scales as 1 / workers. Unit: seconds."""
    running_times: tuple[PositiveAmount, ...] | None = None
    """Running time with each number of workers, from least to most. Unit: seconds."""
    running: StrictBool = False
    """Whether it runs already: it then keeps its base workers, outside the capacity."""
    fungible: StrictBool = False
    """Whether its workers can be on loan instead of in training; needs pools."""
    heterogeneous: StrictBool = False
    """Whether its workers can be in training, on loan, or some in each; needs pools."""
    base_pool: PoolId | None = None
    """Pool of a running job's base workers; by default the fastest that it can use. Needs pools."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.max_workers < self.min_workers:
            problem = f"{self.max_workers} is below min_workers {self.min_workers}"
            raise Flaw(("max_workers",), problem, "write a number that is not smaller")
        if (self.min_running_time is None) == (self.running_times is None):
            remedy = "give the time with max_workers, or a list from min to max workers, not both"
            raise Flaw((), "needs one of min_running_time and running_times", remedy)
        choices = self.max_workers - self.min_workers + 1
        if self.running_times is not None and len(self.running_times) != choices:
            remedy = f"give {choices}, one for each number of workers from min to max"
            raise Flaw(("running_times",), f"has {len(self.running_times)} entries", remedy)
        if self.base_pool is not None and not self.running:
            raise Flaw(("base_pool",), "is for running jobs only", "remove it, or set running")
        if self.base_pool == "loan" and not (self.fungible or self.heterogeneous):
            remedy = "set fungible or heterogeneous, or write training"
            raise Flaw(("base_pool",), "is a pool that the job cannot use", remedy)
        return self

    def running_time(self, workers: int) -> Number:
        """Return the running time in seconds with a number of workers from min to max."""
        if self.running_times is not None:
            return self.running_times[workers - self.min_workers]
        assert self.min_running_time is not None
        return Fraction(self.min_running_time * self.max_workers, workers)

    def reduction(self, workers: int) -> Number:
        """Return the seconds saved against running with ``min_workers``."""
        if workers == self.min_workers:  # most jobs of a large instance: fractions take long
            return 0
        return self.running_time(self.min_workers) - self.running_time(workers)

    def gpus(self, workers: int) -> int:
        """Return the GPUs that a number of workers takes from the epoch's capacity.

        The base workers of a running job take none, since they hold their GPUs already.
        """
        return self.gpus_per_worker * (workers - self.min_workers * self.running)


_Share = Annotated[PositiveAmount, Field(json_schema_extra={"default": 0.7, "maximum": 1})]


class Pool(Document):
    """GPUs of one kind."""

    id: PoolId
    """Which pool it is: the training servers, or the inference servers on loan."""
    capacity: Count
    """GPUs that are free in this epoch. Unit: GPUs."""
    speed: PositiveAmount
    """Speed of a worker; running times are for workers of speed 1."""


class Instance(schema.Instance):
    """The GPUs that are free for one scheduling epoch, and the jobs that can use them.

    The GPUs are of one kind, ``capacity``, or of two kinds, ``pools``.
    """

    FIXED_IDS: ClassVar[frozenset[str]] = frozenset(POOLS)

    problem: Literal["elastic"] = "elastic"
    capacity: Count | None = None
    """GPUs that are free in this epoch; left out if there are pools. Unit: GPUs."""
    pools: tuple[Pool, ...] = ()
    """Instead of the capacity: training and loan, the two pools of GPUs of different speed."""
    mixed_efficiency: _Share = Fraction("0.7")
    """Share of its workers' speed that a job has with workers in both pools, at most 1."""
    jobs: tuple[Job, ...]
    """Running and pending jobs, in the order of the queue."""

    @model_validator(mode="after")
    def _resolve(self) -> Self:
        schema.require_unique((job.id for job in self.jobs), "jobs")
        if not self.pools:
            self._require_one_pool()
        elif self.capacity is not None:
            raise Flaw(("capacity",), "stands beside pools", "remove one of the two")
        elif sorted(pool.id for pool in self.pools) != sorted(POOLS):
            raise Flaw(("pools",), "is not one training and one loan", "give each pool once")
        if self.mixed_efficiency > 1:
            raise Flaw(("mixed_efficiency",), "is above 1", "write a share, as 0.7")
        if self.mixed_efficiency < _LEAST_SHARE:
            raise Flaw(("mixed_efficiency",), "is too small", "write a share from 1e-100")
        for p, pool in enumerate(self.pools):
            if pool.speed < _LEAST_SHARE:
                raise Flaw(("pools", p, "speed"), "is too small", "write a number from 1e-100")
        totals = accumulate(map(self._count, self.jobs))
        above = next((j for j, total in enumerate(totals) if total > MOST_CHOICES), None)
        if above is not None:
            problem = f"brings the numbers of workers to choose from above {MOST_CHOICES}"
            place = ("jobs", above, "max_workers")
            raise Flaw(place, problem, "narrow the ranges, or split the instance")
        return self

    def _require_one_pool(self) -> None:
        """Refuse what only an instance with pools can have."""
        if self.capacity is None:
            raise Flaw(("capacity",), "is missing", "add it, or two pools")
        for j, job in enumerate(self.jobs):
            for name, default in _LATER_JOB.items():
                if getattr(job, name) != default:
                    raise Flaw(("jobs", j, name), "needs pools", "remove it, or give two pools")
        if self.mixed_efficiency != Fraction("0.7"):
            raise Flaw(("mixed_efficiency",), "needs pools", "remove it, or give two pools")

    def _count(self, job: Job) -> int:
        """Return at least the number of a job's choices, without enumerating them."""
        numbers = job.max_workers - job.min_workers + 1
        if self.pools and job.heterogeneous:
            return numbers * (job.min_workers + job.max_workers + 2) // 2
        return numbers * (1 + bool(self.pools and job.fungible))

    def digested(self) -> dict[str, Any]:
        """Return the data that the digest is taken over; with one pool, as before pools."""
        data = super().digested()
        if not self.pools:
            jobs = [{k: v for k, v in job.items() if k not in _LATER_JOB} for job in data["jobs"]]
            data = {k: v for k, v in data.items() if k not in _LATER} | {"jobs": jobs}
        return data

    @property
    def gpus(self) -> int:
        """The free GPUs of both pools, or the capacity."""
        return sum(pool.capacity for pool in self.pools) + (self.capacity or 0)

    @derived
    def capacities(self) -> tuple[int, ...]:
        """The free GPUs of training and on loan, or the capacity alone."""
        return tuple(pool.capacity for pool in self.by_pool) or (self.gpus,)

    @derived
    def by_pool(self) -> tuple[Pool, ...]:
        """The training pool, then the loan pool; none if there is one capacity."""
        return tuple(sorted(self.pools, key=lambda pool: POOLS.index(pool.id)))


def _workers(value: object) -> int | dict[str, int]:
    """Return a number of workers, or numbers by pool."""
    if not isinstance(value, Mapping):
        return _count(value)
    counts = {}
    for name, number in value.items():
        if not isinstance(name, str) or not name:
            raise Flaw((str(name),), "is not the id of a pool", "write training or loan")
        try:
            counts[name] = _count(number)
        except Flaw as flaw:
            raise Flaw((name,), flaw.problem, flaw.remedy) from None
    return counts


def _count(value: object) -> int:
    number = whole(value)
    if number < 0:
        raise Flaw((), f"{schema.shown(value)} is too small", "write a number at least 0")
    return number


_COUNT = {"type": "integer", "minimum": 0}
Workers = Annotated[
    int | dict[Id, int],
    PlainValidator(_workers),
    WithJsonSchema({"anyOf": [_COUNT, {"type": "object", "additionalProperties": _COUNT}]}),
]
"""Workers of a job: their number, or their number by pool."""


class Solution(schema.Solution):
    """The number of workers of each job; an absent job gets none."""

    problem: Literal["elastic"] = "elastic"
    workers: dict[Id, Workers]
    """Number of workers by job, of an instance with pools by job and pool; an absent job or pool
    gets none. Unit: workers."""

    @property
    def counts(self) -> dict[str, int]:
        """Number of workers by job, over both pools."""
        return {
            job: sum(given.values()) if isinstance(given, Mapping) else given
            for job, given in self.workers.items()
        }

    def split(self, job: str) -> tuple[int, int]:
        """Return a job's workers in training and on loan; none if they are not given by pool."""
        given = self.workers.get(job)
        if not isinstance(given, Mapping):
            return 0, 0
        return given.get("training", 0), given.get("loan", 0)

    def to_frames(self) -> dict[str, pandas.DataFrame]:
        """Return all fields as data frames; workers by pool have a row per job and pool."""
        frames = super().to_frames()
        if any(isinstance(given, Mapping) for given in self.workers.values()):
            import pandas as pd

            rows = list(self._rows())
            frames["workers"] = pd.DataFrame(rows, columns=["key", "pool", "workers"])
        return frames

    def _rows(self) -> Iterator[tuple[str, str | None, int]]:
        for job, given in self.workers.items():
            if isinstance(given, Mapping):
                yield from ((job, pool, number) for pool, number in given.items())
            else:
                yield job, None, given
