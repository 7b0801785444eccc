"""From a cluster's state to the instance of workers (Lyra, section 5.3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dlsched.errors import OptionError
from dlsched.problems.workers.schema import Instance, Pool
from dlsched.schema import Id
from dlsched.state import ClusterState, JobState

SERVERS = 64


def instance(
    state: ClusterState,
    *,
    flexible: Mapping[Id, int] | None = None,
    pools: Mapping[Id, Pool] | None = None,
    separate_groups: bool = True,
) -> Instance:
    """Return where the workers of the waiting jobs can be placed.

    The base workers of a job are those of its `min_gpus`. A server on loan is in the group of base
    workers if one of a running job is there, and else in that of flexible workers if one is there;
    the flexible GPUs of a job are those above its `min_gpus` that it was given last. Servers
    without a free GPU are left out.

    Parameters
    ----------
    flexible
        Flexible workers by job; a job that is absent gets none. None for as many as it can have.
    pools
        Pools that were chosen for jobs that are not heterogeneous: one for training stays there,
        one for loan prefers loan. None if none was chosen.
    separate_groups
        Whether a server on loan holds workers of one kind only.
    """
    free = {server.id: server.gpus for server in state.servers}
    group: dict[Id, str] = {}
    for job in state.running:
        left = job.min_gpus
        for server, gpus in job.allocation:
            free[server] -= gpus
            if left > 0:
                group[server] = "base"
            elif server not in group:
                group[server] = "flexible"
            left -= gpus
    servers = [
        {"id": server.id, "pool": server.pool, "gpus": server.gpus, "free": free[server.id]}
        | ({"group": group[server.id]} if server.pool == "loan" and server.id in group else {})
        for server in state.servers
        if free[server.id]
    ]
    data = {
        "dlsched": 1,
        "problem": "workers",
        "name": "unnamed",
        "separate_groups": separate_groups,
        "servers": servers,
        "jobs": [_job(job, flexible, (pools or {}).get(job.id)) for job in state.waiting],
    }
    return Instance.parse(data, "the cluster's state")


def _job(job: JobState, flexible: Mapping[Id, int] | None, pool: Pool | None) -> dict[str, Any]:
    size = job.gpus_per_worker
    if job.min_gpus % size or job.max_gpus % size:
        raise OptionError(f"job {job.id}: min_gpus and max_gpus are no multiples of its workers")
    most = (job.max_gpus - job.min_gpus) // size
    return {
        "id": job.id,
        "gpus_per_worker": size,
        "base": job.min_gpus // size,
        "flexible": most if flexible is None else flexible.get(job.id, 0),
        # In this problem it is the elastic jobs that prefer loan.
        "elastic": most > 0 or (pool == "loan" and not job.heterogeneous),
        "fungible": job.fungible and (pool != "training" or job.heterogeneous),
        "heterogeneous": job.heterogeneous,
    }
