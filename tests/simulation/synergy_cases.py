"""Small workloads of Synergy, for the tests of its authors' simulator in benchmarks/published."""

from typing import Any

from simulation_cases import PROFILES as MATRICES
from simulation_cases import by_hand

from dlsched.simulation import Cluster

__all__ = ["MATRICES", "ends", "server", "workload"]


def server(count: int = 1, gpus: int = 2) -> Cluster:
    """Return servers with 2 CPUs and 2 GB per GPU."""
    return Cluster.uniform(count, gpus, cpus=2 * gpus, memory=2 * gpus)


def workload(*jobs: tuple[str, int], matrices: dict[str, Any] | None = None, **fields: Any) -> Any:
    """Return jobs of (profile, seconds at the proportional share), with an iteration a second."""
    plain = ({"work": n, "iterations": n, "iteration_time": 1, "profile": p} for p, n in jobs)
    return by_hand(*(row | fields for row in plain), head={"matrices": matrices or MATRICES})


def ends(run: Any) -> dict[str, float]:
    """Return the completion time of each job by its id, in seconds."""
    return dict(zip(run.jobs["id"], run.jobs["end"], strict=True))
