"""The workload of a simulation: jobs in the order of submission."""

from bisect import bisect_right
from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

from pydantic import Field, field_validator, model_validator

from dlsched.display.markup import document_html
from dlsched.errors import InstanceError
from dlsched.records.job import TraceJob
from dlsched.records.trace import Trace, read_trace
from dlsched.schema import Amount, Document, Flaw, Id, Number, derived, require_unique
from dlsched.simulation.workload.cluster import Server
from dlsched.simulation.workload.job import Job
from dlsched.simulation.workload.profiles import PROFILES, READERS, validate_options


class Matrix(Document):
    """Throughput by CPUs and memory per GPU (Synergy, section 3.1), in any unit.

    Attributes
    ----------
    cpus, memory
        The axes, per GPU; memory in GB.
    throughput
        One row per entry of `cpus`, one column per entry of `memory`; 0 where not measured.
    share
        CPUs and GB per GPU of the proportional share, at which a job's speed counts as 1.
    """

    cpus: tuple[Amount, ...]
    memory: tuple[Amount, ...]
    throughput: tuple[tuple[Amount, ...], ...]
    share: tuple[Amount, Amount]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for name in ("cpus", "memory"):
            axis = getattr(self, name)
            if not axis or any(b <= a for a, b in pairwise(axis)):
                raise Flaw((name,), "is empty or not ascending", "sort the axis")
        widths = {len(row) for row in self.throughput}
        if len(self.throughput) != len(self.cpus) or widths != {len(self.memory)}:
            raise Flaw(
                ("throughput",),
                "has not one row per entry of cpus, one column per entry of memory",
                "fill it with 0 where nothing was measured",
            )
        if not self.at(*self.share):
            raise Flaw(("share",), "has no throughput", "measure it there")
        return self

    def at(self, cpus: Number, memory: Number) -> Number:
        """Return the throughput with these amounts per GPU, rounded down to the axes."""
        row, column = bisect_right(self.cpus, cpus), bisect_right(self.memory, memory)
        return self.throughput[row - 1][column - 1] if row and column else 0

    def speed(self, cpus: Number, memory: Number) -> Fraction:
        """Return the same relative to the proportional share."""
        return Fraction(self.at(cpus, memory)) / self.at(*self.share)

    def proportional(self, server: Server, gpus: int) -> tuple[Number, Number]:
        """Return the CPUs and GB that a job holds with GPUs of a server where none are stated.

        It is the proportional share, or what the server has for each of its GPUs if that is less.
        Engine, audit and bounds go by this.
        """
        cpus, memory = (
            gpus * (share if amount is None else min(share, Fraction(amount) / server.gpus))
            for share, amount in zip(self.share, (server.cpus, server.memory), strict=True)
        )
        return cpus, memory


class Workload(Document):
    """Jobs in the order of submission; those submitted at the same time, in the order given.

    Attributes
    ----------
    matrices
        Matrices of throughput that jobs name in `Job.profile`.
    quotas
        GPUs that jobs of a tenant may hold at the same time within its quota (MAST, section 4.2);
        a tenant that is not named has no limit.
    """

    name: Id
    jobs: tuple[Job, ...]
    matrices: dict[str, Matrix] = Field(default_factory=dict)
    quotas: dict[Id, Amount] = Field(default_factory=dict)

    @classmethod
    def from_trace(
        cls,
        trace: Trace | str | Path,
        profiles: str | None = None,
        *,
        together: bool = False,
        limit: int | None = None,
        **options: Any,
    ) -> Self:
        """Return the jobs of a trace, with what a set of profiles adds to them.

        The clock starts at the first submission. Jobs that need no GPU are left out. A job that
        became eligible after its submission is submitted here when it became eligible: no policy
        could have started it before. What a scheduler recorded of a job is taken over; its user is
        the job's `Job.tenant`.

        Parameters
        ----------
        trace
            A trace, or what `dlsched.records.read_trace` takes: a file's path or a name. With the
            profiles of ``"synergy"``, also a trace in its authors' format.
        profiles
            Name of a set of profiles in `simulation.workload.profiles`; None for no more than the
            trace has.
        together
            Whether all jobs count as submitted at 0.
        limit
            Number of jobs to take, from the first; None for all.
        **options
            Options of the set of profiles.

        Raises
        ------
        UnknownName
            If there is no such set.
        OptionError
            If the set has no such option.
        InstanceError
            If the trace cannot be read, naming the field.
        """
        validate_options(profiles, options)
        source = trace if isinstance(trace, Trace) else None
        if source is None and profiles is not None and profiles in READERS:
            source = READERS[profiles](str(trace), **options)
        if source is None:
            source = read_trace(str(trace), limit=limit)
        rows = [
            {
                "id": job.id,
                "submit": 0 if together else max(job.submit, job.eligible or 0) - source.first,
                "gpus": job.gpus,
                "work": job.duration,
                "model": job.model,
                "iterations": job.iterations,
                "iteration_time": job.iteration_time,
                "batch_size": job.batch_size,
                "stages": job.stages,
                "priority": job.priority,
                **_recorded(job, source.first, together),
            }
            for job in source.jobs[:limit]
            if job.gpus
        ]
        extra: Mapping[str, Any] = {}
        if profiles is not None:
            rows, extra = PROFILES[profiles](rows, **options)
        name = source.name + "_pr" * together
        return cls.parse({"name": name, "jobs": rows, **extra}, source.name)

    def up_to(self, gpus: int) -> tuple[Self, int]:
        """Return the workload without its jobs that need more GPUs, and how many these are.

        Raises
        ------
        InstanceError
            If no job is left.
        """
        kept = tuple(job for job in self.jobs if job.min_gpus <= gpus)
        larger = len(self.jobs) - len(kept)
        if not kept:
            problem = f"every job needs more than the cluster's {gpus} GPUs"
            raise InstanceError(f"workload {self.name}", "jobs", problem, "take a larger cluster")
        return (self.model_copy(update={"jobs": kept}) if larger else self), larger

    @field_validator("jobs")
    @classmethod
    def _in_order(cls, jobs: tuple[Job, ...]) -> tuple[Job, ...]:
        require_unique(job.id for job in jobs)
        return tuple(sorted(jobs, key=lambda job: job.submit))

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if not self.jobs:
            raise Flaw(("jobs",), "there is no job", "give at least one")
        for i, job in enumerate(self.jobs):
            if job.profile is not None and job.profile not in self.matrices:
                raise Flaw(
                    ("jobs", i, "profile"),
                    f"{job.profile!r} is no entry of matrices",
                    "add its matrix, or leave profile out",
                )
        return self

    def _repr_html_(self) -> str:
        """Return the jobs, with ranges of their fields, for a notebook."""
        return document_html("workload", self.name, self)

    @derived
    def by_id(self) -> dict[str, Job]:
        """The jobs by id."""
        return {job.id: job for job in self.jobs}


def _recorded(job: TraceJob, first: Number, together: bool) -> dict[str, Any]:
    """Return the fields of a job that say what a scheduler did with it."""
    fields = job.record
    fields["tenant"] = fields.pop("user", None)
    # Each of its servers has what its smallest part needs, or a GPU of it.
    part = Fraction(min((gpus for _, gpus in job.nodes), default=1), job.gpus)
    fields |= {f"server_{k}": fields[k] * part for k in fields.keys() & {"cpus", "memory"}}
    for moment in ("eligible", "start"):
        # All at once is another workload, whose starts were never recorded; and clocks are wrong.
        if moment in fields and (together or fields[moment] < job.submit):
            del fields[moment]
        elif moment in fields:
            fields[moment] -= first
    return fields
