"""A program that simulates into a log: ``python simulation_child.py LOG POLICY JOBS``.

It writes a line to its standard output at every commit, which comes after every few rows.
"""

from __future__ import annotations

import random
import sys
from typing import Any

from simulation_cases import RandomPolicy, random_workload

from dlsched.simulation import Cluster, Simulation, Workload, engine, simulate

CLUSTER = Cluster.uniform(servers=4, gpus=4)


def workload(count: int) -> Workload:
    """Return jobs of all kinds, arriving about as fast as the cluster can run them."""
    small = random_workload(random.Random(7), CLUSTER, count)
    jobs = [job.model_copy(update={"submit": 12 * i}) for i, job in enumerate(small.jobs)]
    return Workload.parse(
        {"name": "child", "jobs": [job.model_dump(mode="json") for job in jobs]}, "child"
    )


def policy(name: str) -> Any:
    """Return a policy by name, or the one that decides at random."""
    return RandomPolicy(interval=50) if name == "random" else name


def run(log: str | None, name: str, count: int, **options: Any) -> Simulation:
    """Simulate; go on with the log if it is there."""
    return simulate(workload(count), CLUSTER, policy(name), log=log, resume=True, seed=3, **options)


if __name__ == "__main__":
    engine.COMMIT_ROWS = 40  # type: ignore[misc]
    run(
        sys.argv[1],
        sys.argv[2],
        int(sys.argv[3]),
        on_progress=lambda *seen: print(*seen, flush=True),
    )
