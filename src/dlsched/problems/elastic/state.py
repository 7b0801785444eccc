"""From a cluster's state to the instance of elastic for one epoch (Lyra, section 5.2)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from dlsched.problems.elastic.generate import (
    FUNGIBLE,
    HETEROGENEOUS,
    LOAN_SPEED,
    MIXED_EFFICIENCY,
    pools,
)
from dlsched.problems.elastic.schema import Instance
from dlsched.state import ClusterState, JobState, uniform

SERVERS = 64


def instance(
    state: ClusterState,
    *,
    loan: int | None = None,
    loan_speed: float = LOAN_SPEED,
    fungible: float = FUNGIBLE,
    heterogeneous: float = HETEROGENEOUS,
    mixed_efficiency: float = MIXED_EFFICIENCY,
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
        As in the generator.
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


def _job(job: JobState) -> dict[str, Any]:
    milliseconds = math.ceil(Fraction(job.remaining) * 1000 * job.gpus / job.max_gpus)
    return {
        "id": job.id,
        "gpus_per_worker": 1,
        "min_workers": job.min_gpus,
        "max_workers": job.max_gpus,
        # The schema has no running time of 0, which a job of no duration would have.
        "min_running_time": Fraction(max(1, milliseconds), 1000),
    }
