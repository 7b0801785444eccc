"""Instance and solution of dispatch: which waiting workloads start, and where (MAST, section 4)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal, NamedTuple, Self

from pydantic import Field, StrictBool, model_validator

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
    brief,
    dangling,
    derived,
)

MOST_PRIORITIES = 7
"""The largest number of priorities; MAST has seven (section 4.2). Each has two levels."""
RESOURCES = ("gpus", "cpus", "memory")
"""What machines have and tasks need."""


class Machines(Document):
    """Identical machines of one rack; they are called ``id#0``, ``id#1``, ..."""

    id: Id
    """Id of the machines, unique in all clusters."""
    count: PositiveCount = 1
    """How many there are. Unit: machines."""
    rack: Count = 0
    """Number of their rack within the cluster."""
    gpu_type: Id | None = None
    """Type of their GPUs; absent exactly if they have none."""
    gpus: Count = 0
    """GPUs of each. Unit: GPUs."""
    cpus: Amount
    """CPU cores of each. Unit: CPUs."""
    memory: Amount
    """Memory of each. Unit: GB."""


class Cluster(Document):
    """A cluster: machines that one job can run on together."""

    id: Id
    """Id of the cluster, unique in all regions."""
    machines: tuple[Machines, ...]
    """Its machines."""


class Region(Document):
    """A region: the tables that it stores, as home or replica, and its clusters."""

    id: Id
    """Id of the region."""
    tables: tuple[Id, ...] = ()
    """Ids of the tables of which it has a copy."""
    clusters: tuple[Cluster, ...]
    """Its clusters."""


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


class Instance(schema.Instance):
    """Machines of all regions, tenants, running and pending workloads."""

    problem: Literal["dispatch"] = "dispatch"
    scope: Literal["one", "batch"] = "batch"
    """Whether only the first workload of the ranking may start, or any set."""
    lowest_priority: PositiveCount
    """Number of the lowest priority, that of workloads over quota."""
    cpu_weight: PositiveAmount = Fraction("0.01")
    """What a CPU of a CPU job adds to a workload's size. Unit: GPUs / CPU."""
    credit: Credit = Credit()
    """Constants of the ranking's credit."""
    regions: tuple[Region, ...]
    """The regions; ties go to the earlier one."""
    tenants: tuple[Tenant, ...]
    """The tenants."""
    running: tuple[RunningWorkload, ...] = ()
    """The running workloads."""
    pending: tuple[PendingWorkload, ...]
    """The pending workloads."""

    @model_validator(mode="after")
    def _resolve(self) -> Self:
        if self.lowest_priority > MOST_PRIORITIES:
            raise Flaw(
                ("lowest_priority",),
                f"{self.lowest_priority} is too large",
                f"use at most {MOST_PRIORITIES} priorities",
            )
        for name in ("regions", "tenants", "running", "pending"):
            entries: tuple[Any, ...] = getattr(self, name)
            schema.require_unique((entry.id for entry in entries), name)
        self._check_fleet()
        for t, tenant in enumerate(self.tenants):
            if tenant.priority > self.lowest_priority:
                problem = f"{tenant.priority} is beyond the lowest, {self.lowest_priority}"
                raise Flaw(("tenants", t, "priority"), problem, "1 is the highest priority")
        self._check_running()
        self._check_pending()
        return self

    def _check_fleet(self) -> None:
        seen: dict[str, set[str]] = {"clusters": set(), "machines": set()}
        for r, region in enumerate(self.regions):
            _once(("regions", r, "tables"), region.tables)
            for c, cluster in enumerate(region.clusters):
                here = ("regions", r, "clusters", c)
                _new((*here, "id"), cluster.id, seen["clusters"])
                for m, machines in enumerate(cluster.machines):
                    _new((*here, "machines", m, "id"), machines.id, seen["machines"])
                    _typed((*here, "machines", m, "gpu_type"), machines.gpu_type, machines.gpus)

    def _check_running(self) -> None:
        left: dict[int, list[Number]] = {}
        for w, workload in enumerate(self.running):
            here: tuple[str | int, ...] = ("running", w)
            self._check_workload(here, workload)
            regions = set()
            for j, job in enumerate(workload.jobs):
                path = (*here, "jobs", j)
                if job.cluster not in self.cluster_region:
                    raise dangling((*path, "cluster"), "cluster", job.cluster, self.cluster_region)
                regions.add(self.cluster_region[job.cluster])
                if len(regions) > 1:
                    problem = f'"{brief(job.cluster)}" is in another region than earlier jobs'
                    raise Flaw((*path, "cluster"), problem, "a workload runs in one region")
                for name, tasks in job.on.items():
                    number = self.machine_number(name)
                    if number is None or self.kinds[number].cluster != job.cluster:
                        problem = f'cluster "{brief(job.cluster)}" has no machine "{brief(name)}"'
                        raise Flaw((*path, "on", name), problem, 'write machines as "id#0"')
                    self._take((*path, "on", name), left, number, job, tasks)

    def _take(
        self,
        path: tuple[str | int, ...],
        left: dict[int, list[Number]],
        number: int,
        job: RunningJob,
        tasks: int,
    ) -> None:
        kind = self.kinds[number].machines
        free = left.setdefault(number, [getattr(kind, name) for name in RESOURCES])
        for i, name in enumerate(RESOURCES):
            free[i] -= tasks * getattr(job, name)
            if free[i] < 0:
                over = f"the machine is over its {name} by {float(-free[i]):g}"
                raise Flaw(path, over, f"give it more {name}, or move tasks away")

    def _check_pending(self) -> None:
        for w, workload in enumerate(self.pending):
            here: tuple[str | int, ...] = ("pending", w)
            self._check_workload(here, workload)
            _once((*here, "tables"), workload.tables)
            for j, job in enumerate(workload.jobs):
                _typed((*here, "jobs", j, "gpu_type"), job.gpu_type, job.gpus)
                if not job.gpus and not job.cpus:
                    remedy = "a task has GPUs or CPUs, else starting it is worth nothing"
                    raise Flaw((*here, "jobs", j, "cpus"), "is 0 for a job without GPUs", remedy)

    def _check_workload(
        self, here: tuple[str | int, ...], workload: RunningWorkload | PendingWorkload
    ) -> None:
        if workload.tenant not in self.tenant_index:
            raise dangling((*here, "tenant"), "tenant", workload.tenant, self.tenant_index)
        if not workload.jobs:
            raise Flaw((*here, "jobs"), "is empty", "a workload has at least one job")
        seen: set[str] = set()
        jobs: Sequence[RunningJob | PendingJob] = workload.jobs
        for j, job in enumerate(jobs):
            _new((*here, "jobs", j, "id"), job.id, seen)

    @derived
    def tenant_index(self) -> dict[str, int]:
        """Position of each tenant."""
        return {tenant.id: t for t, tenant in enumerate(self.tenants)}

    @derived
    def running_index(self) -> dict[str, int]:
        """Position of each running workload."""
        return {workload.id: v for v, workload in enumerate(self.running)}

    @derived
    def cluster_region(self) -> dict[str, int]:
        """Position of the region of each cluster."""
        return {c.id: r for r, region in enumerate(self.regions) for c in region.clusters}

    @derived
    def groups(self) -> tuple[Group, ...]:
        """The machines of the file, in its order, with the numbers of the single machines."""
        found, first = [], 0
        for r, region in enumerate(self.regions):
            for cluster in region.clusters:
                for machines in cluster.machines:
                    found.append(Group(machines, cluster.id, r, first))
                    first += machines.count
        return tuple(found)

    @derived
    def kinds(self) -> _Kinds:
        """For each machine's number its group."""
        return _Kinds(self.groups)

    @derived
    def group_index(self) -> dict[str, int]:
        """Position of each group of machines."""
        return {group.machines.id: g for g, group in enumerate(self.groups)}

    def machine_number(self, name: str) -> int | None:
        """Return the number of the machine called ``id#k``; ``None`` if there is none."""
        head, _, tail = name.rpartition("#")
        g = self.group_index.get(head)
        if g is None or not (tail.isascii() and tail.isdigit()) or len(tail) > 9:
            return None
        if tail[0] == "0" and tail != "0":
            return None
        group = self.groups[g]
        return group.first + int(tail) if int(tail) < group.machines.count else None

    def machine_name(self, number: int) -> str:
        """Return the name of a machine, ``id#k``."""
        group = self.kinds[number]
        return f"{group.machines.id}#{number - group.first}"

    def regions_of(self, workload: PendingWorkload) -> list[int]:
        """Return the positions of the regions that have all tables of a workload."""
        needed = set(workload.tables)
        return [r for r, region in enumerate(self.regions) if needed <= set(region.tables)]

    def victim_priority(self, workload: RunningWorkload) -> int:
        """Return the priority of a running workload: its tenant's if within quota."""
        tenant = self.tenants[self.tenant_index[workload.tenant]]
        return tenant.priority if workload.within_quota else self.lowest_priority

    def size(self, workload: PendingWorkload) -> Number:
        """Return a workload's GPUs plus the weighted CPUs of its CPU jobs. Unit: GPUs."""
        gpus = sum(job.tasks * job.gpus for job in workload.jobs)
        cpus = sum((job.tasks * job.cpus for job in workload.jobs if not job.gpus), Fraction(0))
        return schema.simplify(Fraction(gpus + self.cpu_weight * cpus))


class Group(NamedTuple):
    """Machines of the file, their cluster, the position of their region, the first's number."""

    machines: Machines
    cluster: str
    region: int
    first: int


class _Kinds:
    """The group of each machine by its number, without a list of all machines."""

    def __init__(self, groups: Sequence[Group]) -> None:
        self.groups = tuple(groups)
        self.firsts = tuple(group.first for group in groups)
        last = self.groups[-1] if self.groups else None
        self.total = last.first + last.machines.count if last else 0

    def __len__(self) -> int:
        return self.total

    def __getitem__(self, number: int) -> Group:
        return self.groups[bisect_right(self.firsts, number) - 1]


class Placed(Document):
    """Where a job starts."""

    cluster: Id
    """Id of its cluster."""
    on: dict[Id, PositiveCount]
    """Number of its tasks by machine, as ``m#0``. Unit: tasks."""


class Started(Document):
    """Where a workload starts."""

    region: Id
    """Id of its region."""
    jobs: dict[Id, Placed]
    """Cluster and machines by job."""


class Solution(schema.Solution):
    """The workloads that start, and the running ones that are preempted."""

    problem: Literal["dispatch"] = "dispatch"
    start: dict[Id, Started] = Field(default_factory=dict)
    """Region and machines by workload; one that is absent waits."""
    preempt: tuple[Id, ...] = ()
    """Ids of the running workloads that are preempted."""


def _once(path: tuple[str | int, ...], names: Sequence[str]) -> None:
    seen: set[str] = set()
    for i, name in enumerate(names):
        if name in seen:
            raise Flaw((*path, i), f'names "{brief(name)}" twice', "name every table once")
        seen.add(name)


def _new(path: tuple[str | int, ...], name: str, seen: set[str]) -> None:
    if name in seen:
        raise Flaw(path, f'the id "{brief(name)}" is already used', "give every entry its own id")
    seen.add(name)


def _typed(path: tuple[str | int, ...], gpu_type: str | None, gpus: int) -> None:
    if gpu_type is None and gpus:
        raise Flaw(path, f"is missing, with {gpus} GPUs", "name the type of the GPUs")
    if gpu_type is not None and not gpus:
        raise Flaw(path, "is given without GPUs", "leave it out, or give gpus above 0")
