"""From a cluster's state to the instance of workers for the waiting jobs (Lyra, section 5.3)."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dlsched.errors import OptionError
from dlsched.problems.workers.definition.schema import Instance, Pool
from dlsched.problems.workers.instances.generate import SCENARIOS
from dlsched.registry.cluster_state import ClusterState, JobState, uniform
from dlsched.schema import Id

SERVERS = 64
LOAN = 520 / (443 + 520)
"""Share of Lyra's servers that are the inference cluster's (sections 1 and 7.1)."""


def instance(
    state: ClusterState,
    *,
    loan: float = LOAN,
    fungible: float = SCENARIOS["basic"].fungible,
    heterogeneous: float = SCENARIOS["basic"].heterogeneous,
    separate_groups: bool = True,
    kind_seed: int = 0,
) -> Instance:
    """Return where the workers of the waiting jobs go, beside the running jobs.

    A worker has one GPU; a job has `min_gpus` base workers, and flexible ones up to `max_gpus`. The
    last of the servers are on loan. One of these on which some base worker runs is of the base
    group **(D)**, as a trace does not separate groups; the flexible GPUs of a running job are those
    above its `min_gpus` that it was given last.

    Parameters
    ----------
    loan
        Share of the servers that are on loan, rounded down.
    fungible, heterogeneous
        Shares of the jobs, as in the generator's scenario basic.
    separate_groups
        Whether a loan server holds base workers or flexible workers, but not both.
    kind_seed
        With a job's id alone, decides whether the job is fungible, and whether heterogeneous.

    Raises
    ------
    OptionError
        If `loan` is not from 0 to 1.
    """
    if not 0 <= loan <= 1:
        raise OptionError(f"loan={loan} must be from 0 to 1")
    training = len(state.servers) - math.floor(loan * len(state.servers))
    pools = ["training"] * training + ["loan"] * (len(state.servers) - training)
    jobs = [
        {
            "id": job.id,
            "gpus_per_worker": 1,
            "base": job.min_gpus,
            "flexible": job.max_gpus - job.min_gpus,
            "elastic": job.max_gpus > job.min_gpus,
            "fungible": uniform(f"fungible:{job.id}", kind_seed) < fungible,
            "heterogeneous": uniform(f"heterogeneous:{job.id}", kind_seed) < heterogeneous,
        }
        for job in state.waiting
        if job.min_gpus
    ]
    return _instance(_servers(state, pools), jobs, separate_groups)


def epoch(
    state: ClusterState,
    *,
    flexible: Mapping[Id, int] | None = None,
    pools: Mapping[Id, Pool] | None = None,
    separate_groups: bool = True,
) -> Instance:
    """Return where the workers of the waiting jobs go, with pools and kinds as the state says.

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
    servers = _servers(state, [server.pool for server in state.servers])
    jobs = [_job(job, flexible, (pools or {}).get(job.id)) for job in state.waiting]
    return _instance([row for row in servers if row["free"]], jobs, separate_groups)


def _servers(state: ClusterState, pools: Sequence[str]) -> list[dict[str, Any]]:
    """Return the servers' data, each in the pool given, with what running jobs leave free."""
    base, flexible = _held(state.running)
    servers = []
    for server, pool in zip(state.servers, pools, strict=True):
        used = base.get(server.id, 0) + flexible.get(server.id, 0)
        row: dict[str, Any] = {"id": server.id, "gpus": server.gpus, "free": server.gpus - used}
        row["pool"] = pool
        if used and pool == "loan":
            row["group"] = "base" if base.get(server.id) else "flexible"
        servers.append(row)
    return servers


def _instance(
    servers: list[dict[str, Any]], jobs: list[dict[str, Any]], separate_groups: bool
) -> Instance:
    data = {
        "dlsched": 1,
        "problem": "workers",
        "name": "unnamed",
        "separate_groups": separate_groups,
        "servers": servers,
        "jobs": jobs,
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


def _held(running: tuple[JobState, ...]) -> tuple[dict[str, int], dict[str, int]]:
    """Return by server the GPUs of base workers and those of flexible ones."""
    base: dict[str, int] = {}
    flexible: dict[str, int] = {}
    for job in running:
        unheld = job.min_gpus
        for server, gpus in job.allocation:
            fixed = min(gpus, unheld)
            unheld -= fixed
            base[server] = base.get(server, 0) + fixed
            flexible[server] = flexible.get(server, 0) + gpus - fixed
    return base, flexible
