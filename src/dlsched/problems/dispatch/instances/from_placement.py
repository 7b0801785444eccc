"""From data placement to dispatch: what a placement and its replicas let start."""

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from dlsched.problems.dispatch.definition.schema import Instance
from dlsched.problems.dispatch.definition.workloads import MOST_PRIORITIES
from dlsched.problems.dispatch.instances.distributions import GPU_MACHINE
from dlsched.schema import Number

UNLIMITED = 10**12
"""A quota that nobody reaches."""


def from_placement(placement: Any, solution: Any, replicas: Iterable[Any] = ()) -> Instance:
    """Return the dispatch instance of the training jobs of a placement instance, none running.

    A region stores the tables of which it is the home or has a replica. Hours, those of a day,
    become a number of GPUs or CPUs: those of supply, of CPU quotas and of jobs. A region has one
    cluster, with a rack of machines for each GPU type and one for CPUs, numbers of machines rounded
    up. A machine has 8 GPUs, 96 CPU cores and 768 GB, one without GPUs the same CPUs and memory. A
    training job is a workload with a job for each GPU type, in tasks of whole machines from a
    machine's GPUs on, or a CPU job if it needs no GPUs. Tenants are the priorities, without limits;
    priorities beyond the seventh become the seventh **(D)**.

    Parameters
    ----------
    placement, solution, replicas
        An instance of placement, a solution, and what `placement.replicas.replicate` returns.
    """
    tables: dict[str, list[str]] = {region.id: [] for region in placement.regions}
    stored = [
        *((region, table) for table, region in solution.home.items()),
        *((replica.region, replica.table) for replica in replicas),
    ]
    for region, table in dict.fromkeys(stored):
        tables[region].append(table)
    regions = []
    for region in placement.regions:
        cluster = {"id": f"{region.id}-cluster", "machines": _machines(region)}
        regions.append({"id": region.id, "tables": tables[region.id], "clusters": [cluster]})
    unlimited = {"gpu_quota": UNLIMITED, "cpu_quota": UNLIMITED}
    priorities = range(1, MOST_PRIORITIES + 1)
    return Instance(
        name=f"{placement.name}-dispatch",
        lowest_priority=MOST_PRIORITIES,
        regions=regions,
        tenants=[{"id": f"priority-{p}", "priority": p, **unlimited} for p in priorities],
        pending=[
            {
                "id": job.id,
                "tenant": f"priority-{min(job.priority, MOST_PRIORITIES)}",
                "age": 0,
                "tables": list(job.tables),
                "jobs": _jobs(job),
            }
            for job in placement.jobs
            if job.kind == "ml" and (any(job.gpu_hours.values()) or job.cpu_hours)
        ],
    )


def _whole(hours: Number, each: int = 1) -> int:
    """Return how many GPUs or CPUs, or machines with as many each, serve some hours in a day."""
    return math.ceil(Fraction(hours) / 24 / each)


def _machines(region: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for kind, supply in region.gpu_supply.items():
        count = _whole(supply, GPU_MACHINE["gpus"])
        rows.append({"id": f"{region.id}-{kind}", "gpu_type": kind, "count": count, **GPU_MACHINE})
    count = _whole(sum(region.cpu_quota.values()), GPU_MACHINE["cpus"])
    rows.append({"id": f"{region.id}-cpu", "count": count, **GPU_MACHINE, "gpus": 0})
    some = [row for row in rows if row["count"]]
    return [row | {"rack": rack} for rack, row in enumerate(some)]


def _jobs(job: Any) -> list[dict[str, Any]]:
    rows = [
        _tasks("gpus", _whole(amount)) | {"id": kind, "gpu_type": kind}
        for kind, amount in job.gpu_hours.items()
        if amount
    ]
    return rows or [_tasks("cpus", _whole(job.cpu_hours)) | {"id": "cpu"}]


def _tasks(resource: str, needed: int) -> dict[str, Any]:
    """Return tasks of whole machines, or one of a part: as much of what comes with the resource."""
    most = GPU_MACHINE[resource]
    part = Fraction(min(needed, most), most)
    names = ("gpus", "cpus", "memory") if resource == "gpus" else ("cpus", "memory")
    amounts = {name: math.floor(part * GPU_MACHINE[name]) for name in names}
    return {"tasks": math.ceil(needed / most), **amounts}
