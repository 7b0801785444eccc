"""Instance and solution of elastic: how many workers each job gets (Lyra, section 5.2)."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, NamedTuple, Self

from pydantic import StrictBool, model_validator

from dlsched import schema
from dlsched.schema import Count, Document, Flaw, Id, Number, PositiveAmount, PositiveCount, derived

MOST_CHOICES = 10**6
"""Most choices that an instance may have; each is a column of the model."""


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

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.max_workers < self.min_workers:
            raise Flaw(
                ("max_workers",),
                f"{self.max_workers} is below min_workers {self.min_workers}",
                "write a number that is not smaller",
            )
        if (self.min_running_time is None) == (self.running_times is None):
            raise Flaw(
                (),
                "needs one of min_running_time and running_times",
                "give the time with max_workers, or a list from min to max workers, not both",
            )
        choices = self.max_workers - self.min_workers + 1
        if self.running_times is not None and len(self.running_times) != choices:
            raise Flaw(
                ("running_times",),
                f"has {len(self.running_times)} entries",
                f"give {choices}, one for each number of workers from min to max",
            )
        return self

    def running_time(self, workers: int) -> Number:
        """Return the running time in seconds with a number of workers from min to max."""
        if self.running_times is not None:
            return self.running_times[workers - self.min_workers]
        assert self.min_running_time is not None
        return Fraction(self.min_running_time * self.max_workers, workers)

    def reduction(self, workers: int) -> Number:
        """Return the seconds saved against running with ``min_workers``."""
        return self.running_time(self.min_workers) - self.running_time(workers)

    def gpus(self, workers: int) -> int:
        """Return the GPUs that a number of workers takes from the epoch's capacity.

        The base workers of a running job take none, since they hold their GPUs already.
        """
        return self.gpus_per_worker * (workers - self.min_workers * self.running)


class Item(NamedTuple):
    """One choice of the multiple-choice knapsack: a job with a number of workers."""

    job: str
    workers: int
    gpus: int
    reduction: Number


class Instance(schema.Instance):
    """The GPUs that are free for one scheduling epoch, and the jobs that can use them."""

    problem: Literal["elastic"] = "elastic"
    capacity: Count
    """GPUs that are free in this epoch. Unit: GPUs."""
    jobs: tuple[Job, ...]
    """Running and pending jobs, in the order of the queue."""

    @model_validator(mode="after")
    def _resolve(self) -> Self:
        schema.require_unique((job.id for job in self.jobs), "jobs")
        choices = 0
        for j, job in enumerate(self.jobs):
            choices += job.max_workers - job.min_workers + 1
            if choices > MOST_CHOICES:
                raise Flaw(
                    ("jobs", j, "max_workers"),
                    f"brings the numbers of workers to choose from above {MOST_CHOICES}",
                    "narrow the ranges, or split the instance",
                )
        return self

    @derived
    def choices(self) -> tuple[tuple[Item, ...], ...]:
        """For each job its numbers of workers from min to max, with the GPUs and the reduction."""
        return tuple(
            tuple(
                Item(job.id, w, job.gpus(w), job.reduction(w))
                for w in range(job.min_workers, job.max_workers + 1)
            )
            for job in self.jobs
        )

    @property
    def items(self) -> tuple[tuple[Item, ...], ...]:
        """For each job the choices that take GPUs: the knapsack's items, as in Figure 6."""
        return tuple(tuple(item for item in row if item.gpus) for row in self.choices)


class Solution(schema.Solution):
    """The number of workers of each job; an absent job gets none."""

    problem: Literal["elastic"] = "elastic"
    workers: dict[Id, Count]
    """Number of workers by job; an absent job gets none. Unit: workers."""
