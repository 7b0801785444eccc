"""A trace: jobs with their time of submission, GPUs and duration."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Self

from pydantic import field_validator, model_validator

from dlsched.schema import Amount, Count, Document, Flaw, Id, Number, require_unique


class TraceJob(Document):
    """One job of a trace. All times are in seconds, exact as the file's decimals.

    Attributes
    ----------
    gpus
        GPUs that the job holds while it runs; 0 for a job that needs none.
    submit
        Time of its submission, from any origin.
    duration
        Running time with those GPUs.
    interval
        As recorded and not used: traces differ in which interval it is.
    iteration_time, stages
        Seconds per iteration, in total and by resource. The stages need not add up to the total.
    """

    id: Id
    gpus: Count
    submit: Amount
    duration: Amount
    iterations: Count | None = None
    model: str | None = None
    batch_size: Count | None = None
    interval: Amount | None = None
    iteration_time: Amount | None = None
    stages: tuple[Amount, ...] = ()
    priority: Amount | None = None


class Trace(Document):
    """Jobs in the order of submission; those submitted at the same time, in the order given.

    Attributes
    ----------
    source
        Python expression that returns the trace.
    """

    name: Id
    jobs: tuple[TraceJob, ...]
    source: str | None = None

    @field_validator("jobs")
    @classmethod
    def _in_order(cls, jobs: tuple[TraceJob, ...]) -> tuple[TraceJob, ...]:
        require_unique(job.id for job in jobs)
        return tuple(sorted(jobs, key=lambda job: job.submit))

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        if not self.jobs:
            raise Flaw(("jobs",), "there is no job", "give at least one")
        return self

    @property
    def first(self) -> Number:
        """Submission of the first job: the origin of a replay's clock."""
        return self.jobs[0].submit

    @property
    def span(self) -> Number:
        """Seconds from the first submission to the last."""
        return self.jobs[-1].submit - self.first

    @cached_property
    def ticks_per_second(self) -> int:
        """Fewest ticks per second such that all times are whole: 1000 for milliseconds."""
        times = {
            t.denominator for job in self.jobs for t in (job.submit - self.first, job.duration)
        }
        return math.lcm(*times)

    @cached_property
    def ticks(self) -> tuple[list[int], list[int]]:
        """Submissions, counted from the first one, and durations; both in ticks."""
        rate, first = self.ticks_per_second, self.first
        return (
            [int((job.submit - first) * rate) for job in self.jobs],
            [int(job.duration * rate) for job in self.jobs],
        )
