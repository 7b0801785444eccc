"""From a cluster's state to the instance of elastic for one epoch (Lyra, section 5.2)."""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dlsched.errors import OptionError
from dlsched.problems.elastic.definition.schema import POOLS, Instance
from dlsched.problems.elastic.instances.generate import LOAN_SPEED, SCENARIOS, pools
from dlsched.registry.cluster_state import ClusterState, JobState, uniform
from dlsched.schema import Id, Number

SERVERS = 64
ADVANCED = SCENARIOS["advanced"]


def instance(
    state: ClusterState,
    *,
    loan: int | None = None,
    loan_speed: float = LOAN_SPEED,
    fungible: float = ADVANCED.fungible,
    heterogeneous: float = ADVANCED.heterogeneous,
    mixed_efficiency: float = ADVANCED.mixed_efficiency,
    kind_seed: int = 0,
) -> Instance:
    """Return which jobs get the GPUs that no base worker of a running job holds.

    A worker has one GPU, and a job has from its `min_gpus` to its `max_gpus` workers. Its least
    running time is the remaining time, scaled from `gpus` to `max_gpus`, and rounded up to whole
    milliseconds.

    Parameters
    ----------
    loan
        Free GPUs on loan. If given, the instance has two pools; the state's servers are those of
        training, where all base workers of running jobs are.
    loan_speed, fungible, heterogeneous, mixed_efficiency
        As in the generator; by default those of its scenario ``"advanced"``.
    kind_seed
        With a job's id alone, decides whether the job is fungible, and whether heterogeneous.
    """
    jobs = [
        *(_job(job) | {"running": True} for job in state.running),
        *(_job(job) for job in state.waiting),
    ]
    data: dict[str, Any] = {
        "dlsched": 1,
        "problem": "elastic",
        "name": "unnamed",
        "capacity": state.gpus - sum(job.min_gpus for job in state.running),
        "jobs": jobs,
    }
    if loan is not None:
        data["mixed_efficiency"] = mixed_efficiency
        data["pools"] = pools(data.pop("capacity"), loan, loan_speed)
        for job in jobs:
            job["fungible"] = uniform(f"fungible:{job['id']}", kind_seed) < fungible
            job["heterogeneous"] = uniform(f"heterogeneous:{job['id']}", kind_seed) < heterogeneous
            job["base_pool"] = "training" if job.get("running") else None
    return Instance.parse(data, "the cluster's state")


def epoch(state: ClusterState, *, mixed_efficiency: Number = 1, loan_speed: Number = 1) -> Instance:
    """Return the instance of one scheduling epoch, with pools and kinds of jobs as the state says.

    The capacity of a pool is what is idle in it and what flexible workers hold (Lyra, section 5.2);
    the flexible GPUs of a job are those above its `min_gpus` that it was given last. There are two
    pools if a server is on loan; both have speed 1 by default, as the paper counts GPUs on loan
    normalised. A running job that is not elastic is left out. One with base workers in both pools
    counts as if they were in the pool that holds more of them.

    Parameters
    ----------
    mixed_efficiency
        Share of its workers' speed that a job has with workers in both pools.
    loan_speed
        Speed of a GPU on loan; remaining times are those with GPUs of training.
    """
    pool = {server.id: server.pool for server in state.servers}
    free = dict.fromkeys(POOLS, 0)
    for server in state.servers:
        free[server.pool] += server.gpus
    rows = []
    for job in state.running:
        base = base_by_pool(job, pool)
        for name, gpus in base.items():
            free[name] -= gpus
        if job.max_gpus > job.min_gpus:
            home = max(POOLS, key=lambda name: base.get(name, 0))
            rows.append(_workers(job) | {"running": True, "base_pool": home})
    rows += [_workers(job) for job in state.waiting]
    data: dict[str, Any] = {"dlsched": 1, "problem": "elastic", "name": "unnamed", "jobs": rows}
    if "loan" in pool.values():
        data["mixed_efficiency"] = mixed_efficiency
        data["pools"] = pools(free["training"], free["loan"], loan_speed)
    else:
        data["capacity"] = free["training"]
        for row in rows:
            for name in ("fungible", "heterogeneous", "base_pool"):
                row.pop(name, None)
    return Instance.parse(data, "the cluster's state")


def base_by_pool(job: JobState, pool: Mapping[Id, str]) -> dict[str, int]:
    """Return the base GPUs of a running job by pool: the first `min_gpus` that it was given."""
    left, base = job.min_gpus, dict.fromkeys(POOLS, 0)
    for server, gpus in job.allocation:
        base[pool[server]] += min(left, gpus)
        left -= min(left, gpus)
    return {name: gpus for name, gpus in base.items() if gpus}


def _workers(job: JobState) -> dict[str, Any]:
    """Return a job with its workers and kind; time falls with throughput."""
    size = job.gpus_per_worker
    if job.min_gpus % size or job.max_gpus % size:
        raise OptionError(f"job {job.id}: min_gpus and max_gpus are no multiples of its workers")
    least, most = job.min_gpus // size, job.max_gpus // size
    row: dict[str, Any] = {
        "id": job.id,
        "gpus_per_worker": size,
        "min_workers": least,
        "max_workers": most,
        "fungible": job.fungible,
        "heterogeneous": job.heterogeneous,
    }
    work = Fraction(job.remaining) * _throughput(job, job.gpus)
    if not job.scaling_loss and not job.throughputs:
        return row | {"min_running_time": _milliseconds(work / job.max_gpus)}
    times = [_milliseconds(work / _throughput(job, n * size)) for n in range(least, most + 1)]
    return row | {"running_times": times}


def _throughput(job: JobState, gpus: int) -> Fraction:
    if job.throughputs:
        return Fraction(job.throughputs[gpus - job.min_gpus])
    return gpus - max(0, gpus - job.min_gpus) * Fraction(job.scaling_loss)


def _milliseconds(seconds: Fraction) -> Fraction:
    """Return a time rounded up to whole milliseconds; the schema has no running time of 0."""
    return Fraction(max(1, math.ceil(seconds * 1000)), 1000)


def _job(job: JobState) -> dict[str, Any]:
    return {
        "id": job.id,
        "gpus_per_worker": 1,
        "min_workers": job.min_gpus,
        "max_workers": job.max_gpus,
        "min_running_time": _milliseconds(Fraction(job.remaining) * job.gpus / job.max_gpus),
    }
