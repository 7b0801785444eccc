"""From a cluster's state to the instance of dispatch for one pass (MAST, section 4)."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from dlsched.problems.dispatch.schema import Instance
from dlsched.problems.dispatch.world import GPU_MACHINE, LOWEST, PRIORITIES
from dlsched.state import ClusterState, JobState, uniform

SERVERS = 64
_KIND, _REGION, _CLUSTER, _JOB = "gpu", "region", "cluster", "job"
_UNLIMITED = 10**12
_PER_GPU = {name: GPU_MACHINE[name] // GPU_MACHINE["gpus"] for name in ("cpus", "memory")}


def instance(
    state: ClusterState,
    *,
    scope: str = "batch",
    over_quota: float = 0.27,
    cpus_per_gpu: int = _PER_GPU["cpus"],
    memory_per_gpu: int = _PER_GPU["memory"],
    priority_seed: int = 0,
) -> Instance:
    """Return which waiting jobs start, and for whom running ones are preempted.

    The servers are one cluster of one region. A job is a workload; one without GPUs is left out.
    A waiting job of at most a server's GPUs is one task, a larger one has a task for each server
    if whole servers suffice, and for each GPU otherwise **(D)**. A GPU comes with an equal share of
    its server's CPUs and memory.

    Parameters
    ----------
    scope
        ``"one"`` or ``"batch"``.
    over_quota
        Share of the jobs over quota, which have the lowest priority; the others have the priorities
        of section 4.2.
    cpus_per_gpu, memory_per_gpu
        CPUs and GB of a server, divided by its GPUs.
    priority_seed
        With a job's id alone, decides its priority.
    """

    def needs(gpus: int) -> dict[str, int]:
        return {"gpus": gpus, "cpus": gpus * cpus_per_gpu, "memory": gpus * memory_per_gpu}

    def tenant(job: JobState) -> str:
        if uniform(f"quota:{job.id}", priority_seed) < over_quota:
            return f"priority-{LOWEST}"
        drawn = uniform(f"priority:{job.id}", priority_seed) * sum(PRIORITIES)
        below = sum(drawn >= share for share in accumulate(PRIORITIES))
        return f"priority-{min(below, LOWEST - 1) + 1}"

    largest = max((server.gpus for server in state.servers), default=1)
    data: dict[str, Any] = {
        "dlsched": 1,
        "problem": "dispatch",
        "name": "unnamed",
        "scope": scope,
        "lowest_priority": LOWEST,
        "regions": [
            {
                "id": _REGION,
                "clusters": [
                    {
                        "id": _CLUSTER,
                        "machines": [
                            {"id": server.id, **needs(server.gpus)}
                            | ({"gpu_type": _KIND} if server.gpus else {})
                            for server in state.servers
                        ],
                    }
                ],
            }
        ],
        "tenants": [
            {
                "id": f"priority-{p}",
                "priority": p,
                "gpu_quota": _UNLIMITED,
                "cpu_quota": _UNLIMITED,
            }
            for p in range(1, LOWEST + 1)
        ],
        "running": [
            {
                "id": job.id,
                "tenant": tenant(job),
                "within_quota": True,
                "seconds": job.attained,
                "jobs": [
                    {"id": _JOB, "cluster": _CLUSTER, **needs(1), "on": _held(job)},
                ],
            }
            for job in state.running
            if job.allocation
        ],
        "pending": [
            {
                "id": job.id,
                "tenant": tenant(job),
                "age": max(0, state.time - job.submit),
                "jobs": [
                    {"id": _JOB, "gpu_type": _KIND, "tasks": tasks, **needs(job.gpus // tasks)}
                ],
            }
            for job in state.waiting
            if job.gpus
            for tasks in (_tasks(job.gpus, largest),)
        ],
    }
    return Instance.parse(data, "the cluster's state")


def _held(job: JobState) -> dict[str, int]:
    """Return the GPUs of a job by machine."""
    held: dict[str, int] = {}
    for server, gpus in job.allocation:
        held[f"{server}#0"] = held.get(f"{server}#0", 0) + gpus
    return held


def _tasks(gpus: int, largest: int) -> int:
    if gpus <= largest:
        return 1
    return gpus // largest if gpus % largest == 0 else gpus
