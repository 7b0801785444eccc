"""Small workloads whose simulations under Synergy are worked out by hand."""

from __future__ import annotations

from typing import Any

from dlsched.simulation import Cluster, Workload

SHARE = (2, 2)
"""CPUs and GB per GPU of the small servers."""
MATRICES: dict[str, Any] = {
    "hungry": {
        "cpus": [1, 2, 3], "memory": [2], "throughput": [[0.5], [1], [1.5]], "share": SHARE
    },
    "modest": {"cpus": [1, 2, 3], "memory": [2], "throughput": [[1], [1], [1]], "share": SHARE},
}  # fmt: skip


def server(count: int = 1, gpus: int = 2) -> Cluster:
    """Return servers with 2 CPUs and 2 GB per GPU."""
    return Cluster.uniform(count, gpus, cpus=2 * gpus, memory=2 * gpus)


def workload(*jobs: tuple[str, int], matrices: dict[str, Any] | None = None, **fields: Any) -> Any:
    """Return jobs of (profile, seconds at the proportional share), all submitted at 0.

    An iteration takes a second there. Their ids are a, b, c and so on.
    """
    rows = [
        {
            "id": "abcdefgh"[i],
            "submit": 0,
            "gpus": 1,
            "work": seconds,
            "iterations": seconds,
            "iteration_time": 1,
            "profile": profile,
        }
        | fields
        for i, (profile, seconds) in enumerate(jobs)
    ]
    return Workload.parse(
        {"name": "small", "jobs": rows, "matrices": matrices or MATRICES}, "the test"
    )


def ends(run: Any) -> dict[str, float]:
    """Return the completion time of each job by its id, in seconds."""
    return dict(zip(run.jobs["id"], run.jobs["end"], strict=True))
