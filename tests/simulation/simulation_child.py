"""A program that simulates into a log: ``python simulation_child.py LOG POLICY JOBS [DECISION]``.

It writes a line to its standard output at every commit, which comes after every few rows. At the
decision with the given number it writes a line and waits to be stopped.
"""

from __future__ import annotations

import random
import sys
import time
from typing import Any, ClassVar

from simulation_cases import RandomPolicy, random_workload

from dlsched.simulation import Cluster, Decision, Simulation, State, Workload, simulate
from dlsched.simulation.engine import engine

CLUSTER = Cluster.uniform(servers=4, gpus=4)


def workload(count: int) -> Workload:
    """Return jobs of all kinds, arriving about as fast as the cluster can run them."""
    small = random_workload(random.Random(7), CLUSTER, count)
    jobs = [job.model_copy(update={"submit": 12 * i}) for i, job in enumerate(small.jobs)]
    return Workload.parse(
        {"name": "child", "jobs": [job.model_dump(mode="json") for job in jobs]}, "child"
    )


class Waiting(RandomPolicy):
    """Decides at random, and stops before a decision."""

    waits_at: ClassVar[int | None] = None

    def decide(self, state: State) -> Decision:
        """Return a random decision."""
        if state.number == self.waits_at:
            print("waiting", flush=True)
            time.sleep(600)
        return super().decide(state)


def policy(name: str) -> Any:
    """Return a policy by name, or the one that decides at random."""
    return Waiting(interval=50) if name == "random" else name


def run(log: str | None, name: str, count: int, **options: Any) -> Simulation:
    """Simulate; go on with the log if it is there."""
    return simulate(workload(count), CLUSTER, policy(name), log=log, resume=True, seed=3, **options)


if __name__ == "__main__":
    engine.COMMIT_ROWS = 40  # type: ignore[misc]
    Waiting.waits_at = int(sys.argv[4]) if len(sys.argv) > 4 else None
    run(
        sys.argv[1],
        sys.argv[2],
        int(sys.argv[3]),
        on_progress=lambda *seen: print(*seen, flush=True),
    )
