"""What an instance of dispatch must meet, checked on input; the first flaw is raised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dlsched import schema
from dlsched.problems.dispatch.definition.machines import RESOURCES
from dlsched.problems.dispatch.definition.workloads import (
    PendingJob,
    PendingWorkload,
    RunningJob,
    RunningWorkload,
)
from dlsched.schema import Flaw, Number, brief, dangling

if TYPE_CHECKING:
    from dlsched.problems.dispatch.definition.schema import Instance

MOST_PRIORITIES = 7
"""The largest number of priorities **(D)**; MAST has seven (section 4.2). Each has two levels."""


def check(instance: Instance) -> None:
    """Raise the first flaw of an instance."""
    if instance.lowest_priority > MOST_PRIORITIES:
        raise Flaw(
            ("lowest_priority",),
            f"{instance.lowest_priority} is too large",
            f"use at most {MOST_PRIORITIES} priorities",
        )
    for name in ("regions", "tenants", "running", "pending"):
        entries: tuple[Any, ...] = getattr(instance, name)
        schema.require_unique((entry.id for entry in entries), name)
    _fleet(instance)
    for t, tenant in enumerate(instance.tenants):
        if tenant.priority > instance.lowest_priority:
            problem = f"{tenant.priority} is beyond the lowest, {instance.lowest_priority}"
            raise Flaw(("tenants", t, "priority"), problem, "1 is the highest priority")
    _running(instance)
    _pending(instance)


def _fleet(instance: Instance) -> None:
    seen: dict[str, set[str]] = {"clusters": set(), "machines": set()}
    for r, region in enumerate(instance.regions):
        _once(("regions", r, "tables"), region.tables)
        for c, cluster in enumerate(region.clusters):
            here = ("regions", r, "clusters", c)
            _new((*here, "id"), cluster.id, seen["clusters"])
            for m, machines in enumerate(cluster.machines):
                _new((*here, "machines", m, "id"), machines.id, seen["machines"])
                _typed((*here, "machines", m, "gpu_type"), machines.gpu_type, machines.gpus)


def _running(instance: Instance) -> None:
    left: dict[int, list[Number]] = {}
    for w, workload in enumerate(instance.running):
        here: tuple[str | int, ...] = ("running", w)
        _workload(instance, here, workload)
        regions = set()
        for j, job in enumerate(workload.jobs):
            path = (*here, "jobs", j)
            if job.cluster not in instance.cluster_region:
                raise dangling((*path, "cluster"), "cluster", job.cluster, instance.cluster_region)
            regions.add(instance.cluster_region[job.cluster])
            if len(regions) > 1:
                problem = f'"{brief(job.cluster)}" is in another region than earlier jobs'
                raise Flaw((*path, "cluster"), problem, "a workload runs in one region")
            for name, tasks in job.on.items():
                number = instance.machine_number(name)
                if number is None or instance.kinds[number].cluster != job.cluster:
                    problem = f'cluster "{brief(job.cluster)}" has no machine "{brief(name)}"'
                    raise Flaw((*path, "on", name), problem, 'write machines as "id#0"')
                _take(instance, (*path, "on", name), left, number, job, tasks)


def _take(
    instance: Instance,
    path: tuple[str | int, ...],
    left: dict[int, list[Number]],
    number: int,
    job: RunningJob,
    tasks: int,
) -> None:
    kind = instance.kinds[number].machines
    free = left.setdefault(number, [getattr(kind, name) for name in RESOURCES])
    for i, name in enumerate(RESOURCES):
        free[i] -= tasks * getattr(job, name)
        if free[i] < 0:
            over = f"the machine is over its {name} by {float(-free[i]):g}"
            raise Flaw(path, over, f"give it more {name}, or move tasks away")


def _pending(instance: Instance) -> None:
    """Check pending workloads; a task without GPUs needs CPUs **(D)**, else its size is 0."""
    for w, workload in enumerate(instance.pending):
        here: tuple[str | int, ...] = ("pending", w)
        _workload(instance, here, workload)
        _once((*here, "tables"), workload.tables)
        for j, job in enumerate(workload.jobs):
            _typed((*here, "jobs", j, "gpu_type"), job.gpu_type, job.gpus)
            if not job.gpus and not job.cpus:
                remedy = "a task has GPUs or CPUs, else starting it is worth nothing"
                raise Flaw((*here, "jobs", j, "cpus"), "is 0 for a job without GPUs", remedy)


def _workload(
    instance: Instance, here: tuple[str | int, ...], workload: RunningWorkload | PendingWorkload
) -> None:
    if workload.tenant not in instance.tenant_index:
        raise dangling((*here, "tenant"), "tenant", workload.tenant, instance.tenant_index)
    if not workload.jobs:
        raise Flaw((*here, "jobs"), "is empty", "a workload has at least one job")
    seen: set[str] = set()
    jobs: Sequence[RunningJob | PendingJob] = workload.jobs
    for j, job in enumerate(jobs):
        _new((*here, "jobs", j, "id"), job.id, seen)


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
