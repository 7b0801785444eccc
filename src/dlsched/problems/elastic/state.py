"""From a cluster's state to the instance of elastic for one epoch (Lyra, section 5.2)."""

from __future__ import annotations

import math
from fractions import Fraction

from dlsched.problems.elastic.schema import Instance
from dlsched.state import ClusterState, JobState

SERVERS = 64


def instance(state: ClusterState) -> Instance:
    """Return which jobs get the GPUs that no base worker of a running job holds.

    A worker has one GPU, and a job has from its `min_gpus` to its `max_gpus` workers. Its least
    running time is the remaining time, scaled from `gpus` to `max_gpus`, and rounded up to whole
    milliseconds.
    """
    data = {
        "dlsched": 1,
        "problem": "elastic",
        "name": "unnamed",
        "capacity": state.gpus - sum(job.min_gpus for job in state.running),
        "jobs": [
            *(_job(job) | {"running": True} for job in state.running),
            *(_job(job) for job in state.waiting),
        ],
    }
    return Instance.parse(data, "the cluster's state")


def _job(job: JobState) -> dict[str, object]:
    milliseconds = math.ceil(Fraction(job.remaining) * 1000 * job.gpus / job.max_gpus)
    return {
        "id": job.id,
        "gpus_per_worker": 1,
        "min_workers": job.min_gpus,
        "max_workers": job.max_gpus,
        # The schema has no running time of 0, which a job of no duration would have.
        "min_running_time": Fraction(max(1, milliseconds), 1000),
    }
