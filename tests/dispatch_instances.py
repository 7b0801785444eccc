"""Parts of small instances of dispatch: what a test does not say has one value in all."""

from collections.abc import Mapping, Sequence
from typing import Any

from dlsched.problems.dispatch import Instance

Row = dict[str, Any]


def machines(name: str = "m", gpus: int = 0, cpus: Any = 99, memory: Any = 99, **more: Any) -> Row:
    """Return a group of equal machines; their GPUs are of type A."""
    kind = "A" if gpus else None
    return {"id": name, "gpu_type": kind, "gpus": gpus, "cpus": cpus, "memory": memory} | more


def job(
    name: str = "j", gpus: int = 0, tasks: int = 1, cpus: Any = 1, memory: Any = 1, **more: Any
) -> Row:
    """Return a pending job."""
    return {"tasks": tasks} | machines(name, gpus, cpus, memory, **more)


def waiting(name: str, *jobs: Row, tenant: str = "n", age: Any = 0, **more: Any) -> Row:
    """Return a pending workload."""
    return {"id": name, "tenant": tenant, "age": age, "jobs": list(jobs)} | more


def held(
    on: dict[str, int], gpus: int = 0, cpus: Any = 0, memory: Any = 0, name: str = "j",
    cluster: str = "c",
) -> Row:  # fmt: skip
    """Return a running job, with its tasks on each machine."""
    needs = {"gpus": gpus, "cpus": cpus, "memory": memory}
    return {"id": name, "cluster": cluster, "on": on} | needs


def running(
    name: str, *jobs: Row, tenant: str = "n", seconds: Any = 0, within_quota: bool = False
) -> Row:
    """Return a running workload."""
    times = {"seconds": seconds, "within_quota": within_quota}
    return {"id": name, "tenant": tenant, "jobs": list(jobs)} | times


def tenant(
    name: str = "n", priority: int = 1, gpus: int = 99, cpus: int = 999, use: Any = 0
) -> Row:
    """Return a tenant, with quotas of GPUs and CPUs."""
    quotas = {"gpu_quota": gpus, "cpu_quota": cpus}
    return {"id": name, "priority": priority, "window_use": use} | quotas


def region(clusters: Mapping[str, Sequence[Row]], name: str = "r", **more: Any) -> Row:
    """Return a region of these clusters."""
    rows = [{"id": cluster, "machines": list(groups)} for cluster, groups in clusters.items()]
    return {"id": name, "clusters": rows} | more


def instance(
    clusters: Mapping[str, Sequence[Row]] | Sequence[Row],
    running: Sequence[Row] = (),
    pending: Sequence[Row] = (),
    **fields: Any,
) -> Instance:
    """Return an instance of one region, whose only cluster is c if machines are given."""
    rows = clusters if isinstance(clusters, Mapping) else {"c": clusters}
    usual = {"name": "hand", "lowest_priority": 2, "tenants": [tenant()]}
    parts = {"regions": [region(rows)], "running": running, "pending": pending}
    return Instance(**usual | parts | fields)
