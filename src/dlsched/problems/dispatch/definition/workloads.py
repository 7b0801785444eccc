"""The demand of an instance of dispatch: tenants, running and pending workloads."""

from collections.abc import Sequence
from typing import Self, TypeAlias

from pydantic import Field, StrictBool, model_validator

from dlsched.problems.dispatch.definition.machines import Machines, require_distinct, require_type
from dlsched.schema import Amount, Count, Document, Flaw, Id, Number, PositiveCount, require_unique

MOST_PRIORITIES = 7
"""The largest number of priorities **(D)**; MAST has seven (section 4.2). Each has two levels."""


class Tenant(Document):
    """A team: its priority, its quotas, and what it has used lately."""

    id: Id
    """Id of the tenant."""
    priority: PositiveCount
    """Priority of its workloads within quota; 1 is the highest."""
    gpu_quota: Amount
    """The most GPUs of workloads within quota. Unit: GPUs."""
    cpu_quota: Amount
    """The most CPUs of workloads within quota. Unit: CPUs."""
    window_use: Amount = 0
    """Resources that it used on average over a window, in any unit that all tenants share."""


class RunningJob(Document):
    """A job of a running workload, and where its tasks are."""

    id: Id
    """Id of the job, unique in its workload."""
    cluster: Id
    """Id of the cluster that it runs in."""
    gpus: Count = 0
    """GPUs of a task. Unit: GPUs."""
    cpus: Amount
    """CPU cores of a task. Unit: CPUs."""
    memory: Amount
    """Memory of a task. Unit: GB."""
    on: dict[Id, PositiveCount] = Field(min_length=1)
    """Number of its tasks by machine, as ``m#0``. Unit: tasks."""


class RunningWorkload(Document):
    """A running workload, which may be preempted as a whole."""

    id: Id
    """Id of the workload."""
    tenant: Id
    """Id of its tenant."""
    within_quota: StrictBool
    """Whether it has its tenant's priority; else it has the lowest."""
    seconds: Amount
    """How long it has run. Unit: seconds."""
    jobs: tuple[RunningJob, ...]
    """Its jobs, all in one region."""

    @model_validator(mode="after")
    def _require_jobs(self) -> Self:
        _require_jobs(self.jobs)
        return self


class PendingJob(Document):
    """A job of a pending workload: equal tasks, all in one cluster."""

    id: Id
    """Id of the job, unique in its workload."""
    gpu_type: Id | None = None
    """Type of its GPUs; absent for a CPU job, which runs on any machine."""
    tasks: PositiveCount
    """Number of its tasks. Unit: tasks."""
    gpus: Count = 0
    """GPUs of a task; 0 exactly for a CPU job. Unit: GPUs."""
    cpus: Amount
    """CPU cores of a task. Unit: CPUs."""
    memory: Amount
    """Memory of a task. Unit: GB."""

    @model_validator(mode="after")
    def _require_a_size(self) -> Self:
        """Refuse a task without GPUs and CPUs **(D)**, whose size would be 0."""
        require_type(self.gpu_type, self.gpus)
        if not self.gpus and not self.cpus:
            remedy = "a task has GPUs or CPUs, else starting it is worth nothing"
            raise Flaw(("cpus",), "is 0 for a job without GPUs", remedy)
        return self


class PendingWorkload(Document):
    """A pending workload: its tenant, its age, the tables that it reads, and its jobs."""

    id: Id
    """Id of the workload."""
    tenant: Id
    """Id of its tenant."""
    age: Amount
    """How long it has waited. Unit: seconds."""
    tables: tuple[Id, ...] = ()
    """Ids of the tables that it reads."""
    jobs: tuple[PendingJob, ...]
    """Its jobs, which start together in one region."""

    @model_validator(mode="after")
    def _require_jobs_and_distinct_tables(self) -> Self:
        _require_jobs(self.jobs)
        require_distinct(self.tables)
        return self


def _require_jobs(jobs: Sequence[RunningJob | PendingJob]) -> None:
    if not jobs:
        raise Flaw(("jobs",), "is empty", "a workload has at least one job")
    require_unique((job.id for job in jobs), "jobs")


Holder: TypeAlias = Machines | RunningJob | PendingJob
"""What has amounts of the resources, or needs them."""


def amounts(of: Holder) -> tuple[Number, Number, Number]:
    """Return GPUs, CPUs and memory of a machine, or of a job's task."""
    return of.gpus, of.cpus, of.memory


class Credit(Document):
    """Constants of the credit (expressions 10 and 11)."""

    age_weight: Amount = 1
    """Credit of a second of waiting. Unit: 1 / second."""
    age_cap: Amount = 3600
    """Age from which credit grows no more. Unit: seconds."""
    fair_weight: Amount = 1
    """Credit of a tenant that has used nothing."""
