"""From data placement to dispatch: what a placement and its replicas let start."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from dlsched.errors import OptionError
from dlsched.problems.dispatch.definition.schema import Instance
from dlsched.problems.dispatch.definition.workloads import MOST_PRIORITIES
from dlsched.schema import Number

_LOWEST = MOST_PRIORITIES


def from_placement(
    placement: Any,
    solution: Any,
    replicas: Iterable[Any] = (),
    *,
    hours: Number = 24,
    gpus: int = 8,
    cpus: int = 96,
    memory: int = 768,
) -> Instance:
    """Return the dispatch instance of the training jobs of a placement instance, none running.

    A region stores the tables of which it is the home or has a replica. Hours become a number of
    GPUs or CPUs by division by `hours`: those of supply, of CPU quotas and of jobs. A region has
    one cluster, with a rack of machines for each GPU type and one for CPUs, numbers of machines
    rounded up. A training job is a workload with a job for each GPU type, in tasks of whole
    machines from a machine's GPUs on, or a CPU job if it needs no GPUs. Tenants are the priorities,
    without limits; priorities beyond the seventh become the seventh **(D)**.

    Parameters
    ----------
    placement, solution, replicas
        An instance of placement, a solution, and what `placement.replicas.replicate` returns.
    hours
        Hours in which the demand is to be served.
    gpus, cpus, memory
        GPUs, CPU cores and GB of a machine; a machine without GPUs has the same CPUs and memory.

    Raises
    ------
    OptionError
        If a number is not positive.
    """
    for name, value in (("hours", hours), ("gpus", gpus), ("cpus", cpus), ("memory", memory)):
        if value <= 0:
            raise OptionError(f"{name}={value} must be above 0")
    stored: dict[str, dict[str, None]] = {region.id: {} for region in placement.regions}
    for table, region in solution.home.items():
        stored[region][table] = None
    for replica in replicas:
        stored[replica.region][replica.table] = None
    jobs = [job for job in placement.jobs if job.kind == "ml" and _demand(job)]
    size = (gpus, cpus, memory)
    return Instance(
        name=f"{placement.name}-dispatch",
        lowest_priority=_LOWEST,
        regions=[
            {
                "id": region.id,
                "tables": list(stored[region.id]),
                "clusters": [{"id": f"{region.id}-cluster", "machines": _machines(region, hours,
                                                                                  size)}],
            }
            for region in placement.regions
        ],
        tenants=[
            {"id": f"priority-{p}", "priority": p, "gpu_quota": 10**12, "cpu_quota": 10**12}
            for p in range(1, _LOWEST + 1)
        ],
        pending=[
            {
                "id": job.id,
                "tenant": f"priority-{min(job.priority, _LOWEST)}",
                "age": 0,
                "tables": list(job.tables),
                "jobs": _jobs(job, hours, size),
            }
            for job in jobs
        ],
    )  # fmt: skip


def _demand(job: Any) -> bool:
    return any(job.gpu_hours.values()) or bool(job.cpu_hours)


def _machines(region: Any, hours: Number, size: tuple[int, int, int]) -> list[dict[str, Any]]:
    gpus, cpus, memory = size
    rows: list[dict[str, Any]] = []
    for kind, supply in region.gpu_supply.items():
        count = math.ceil(Fraction(supply) / hours / gpus)
        if count:
            rows.append({"id": f"{region.id}-{kind}", "gpu_type": kind, "gpus": gpus,
                         "count": count})  # fmt: skip
    count = math.ceil(Fraction(sum(region.cpu_quota.values())) / hours / cpus)
    if count:
        rows.append({"id": f"{region.id}-cpu", "count": count})
    return [row | {"rack": k, "cpus": cpus, "memory": memory} for k, row in enumerate(rows)]


def _jobs(job: Any, hours: Number, size: tuple[int, int, int]) -> list[dict[str, Any]]:
    gpus, cpus, memory = size
    found: list[dict[str, Any]] = []
    for kind, amount in job.gpu_hours.items():
        if amount:
            needed = math.ceil(Fraction(amount) / hours)
            each = min(needed, gpus)
            share = Fraction(each, gpus)
            found.append({"id": kind, "gpu_type": kind, "tasks": math.ceil(needed / gpus),
                          "gpus": each, "cpus": math.floor(share * cpus),
                          "memory": math.floor(share * memory)})  # fmt: skip
    if not found:
        needed = math.ceil(Fraction(job.cpu_hours) / hours)
        each = min(needed, cpus)
        found.append({"id": "cpu", "tasks": math.ceil(needed / cpus), "cpus": each,
                      "memory": math.floor(Fraction(each, cpus) * memory)})  # fmt: skip
    return found
