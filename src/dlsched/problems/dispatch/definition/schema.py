"""Instance and solution of dispatch: which waiting workloads start, and where (MAST, section 4)."""

from fractions import Fraction
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from dlsched import schema
from dlsched.problems.dispatch.definition.machines import RESOURCES, Group, Kinds, Region
from dlsched.problems.dispatch.definition.workloads import (
    MOST_PRIORITIES,
    Credit,
    PendingWorkload,
    RunningWorkload,
    Tenant,
    amounts,
)
from dlsched.schema import (
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

_PerCpu = Annotated[PositiveAmount, Field(json_schema_extra={"default": 0.01})]


class Instance(schema.Instance):
    """Machines of all regions, tenants, running and pending workloads."""

    problem: Literal["dispatch"] = "dispatch"
    scope: Literal["one", "batch"] = "batch"
    """Whether only the first workload of the ranking may start, or any set."""
    lowest_priority: PositiveCount
    """Number of the lowest priority, that of workloads over quota."""
    cpu_weight: _PerCpu = Fraction("0.01")
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
            remedy = f"use at most {MOST_PRIORITIES} priorities"
            raise Flaw(("lowest_priority",), f"{self.lowest_priority} is too large", remedy)
        for name in ("regions", "tenants", "running", "pending"):
            schema.require_unique((entry.id for entry in getattr(self, name)), name)
        self._require_unique_machines()
        for t, tenant in enumerate(self.tenants):
            if tenant.priority > self.lowest_priority:
                problem = f"{tenant.priority} is beyond the lowest, {self.lowest_priority}"
                raise Flaw(("tenants", t, "priority"), problem, "1 is the highest priority")
        for name in ("running", "pending"):
            for w, workload in enumerate(getattr(self, name)):
                if workload.tenant not in self.tenant_index:
                    path = (name, w, "tenant")
                    raise dangling(path, "tenant", workload.tenant, self.tenant_index)
        self._require_room()
        return self

    def _require_unique_machines(self) -> None:
        clusters: set[str] = set()
        groups: set[str] = set()
        for r, region in enumerate(self.regions):
            for c, cluster in enumerate(region.clusters):
                here = ("regions", r, "clusters", c)
                _require_new((*here, "id"), cluster.id, clusters)
                for m, machines in enumerate(cluster.machines):
                    _require_new((*here, "machines", m, "id"), machines.id, groups)

    def _require_room(self) -> None:
        """Refuse running workloads that are in no one region, or take more than there is."""
        free: dict[int, list[Number]] = {}
        for w, workload in enumerate(self.running):
            home = self.cluster_region.get(workload.jobs[0].cluster)
            for j, job in enumerate(workload.jobs):
                path = ("running", w, "jobs", j)
                if job.cluster not in self.cluster_region:
                    raise dangling((*path, "cluster"), "cluster", job.cluster, self.cluster_region)
                if self.cluster_region[job.cluster] != home:
                    problem = f'"{brief(job.cluster)}" is in another region than earlier jobs'
                    raise Flaw((*path, "cluster"), problem, "a workload runs in one region")
                for name, tasks in job.on.items():
                    number = self.machine_number(name)
                    if number is None or self.kinds[number].cluster != job.cluster:
                        problem = f'cluster "{brief(job.cluster)}" has no machine "{brief(name)}"'
                        raise Flaw((*path, "on", name), problem, 'write machines as "id#0"')
                    here = free.setdefault(number, [*amounts(self.kinds[number].machines)])
                    for i, need in enumerate(amounts(job)):
                        here[i] -= tasks * need
                        if here[i] < 0:
                            over = f"the machine is over its {RESOURCES[i]} by {float(-here[i]):g}"
                            remedy = f"give it more {RESOURCES[i]}, or move tasks away"
                            raise Flaw((*path, "on", name), over, remedy)

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
        groups: list[Group] = []
        first = 0
        for r, region in enumerate(self.regions):
            for cluster in region.clusters:
                for machines in cluster.machines:
                    groups.append(Group(machines, cluster.id, r, first))
                    first += machines.count
        return tuple(groups)

    @derived
    def kinds(self) -> Kinds:
        """For each machine's number its group."""
        return Kinds(self.groups)

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
        """Return a workload's GPUs plus the weighted CPUs of its CPU jobs **(D)**. Unit: GPUs.

        The paper does not compare workloads of different kinds; GPUs are the scarce resource.
        """
        gpus = sum(job.tasks * job.gpus for job in workload.jobs)
        cpus = sum((job.tasks * job.cpus for job in workload.jobs if not job.gpus), Fraction(0))
        return schema.simplify(Fraction(gpus + self.cpu_weight * cpus))


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


def _require_new(path: tuple[str | int, ...], name: str, seen: set[str]) -> None:
    if name in seen:
        raise Flaw(path, f'the id "{brief(name)}" is already used', "give every entry its own id")
    seen.add(name)
