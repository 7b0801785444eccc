"""The demand of an instance of dispatch: tenants, running and pending workloads."""

from __future__ import annotations

from pydantic import Field, StrictBool

from dlsched.schema import Amount, Count, Document, Id, PositiveCount


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


class Credit(Document):
    """Constants of the credit (expressions 10 and 11)."""

    age_weight: Amount = 1
    """Credit of a second of waiting. Unit: 1 / second."""
    age_cap: Amount = 3600
    """Age from which credit grows no more. Unit: seconds."""
    fair_weight: Amount = 1
    """Credit of a tenant that has used nothing."""
