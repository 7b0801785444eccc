"""Jobs of Muri's published simulator: small ones, random ones, and the authors' traces."""

import json
import random
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from published import Simulation, simulate

from dlsched.simulation import Cluster, Workload

MEASURED = Path(__file__).parents[3].parent / "shared" / "data" / "muri"
measured = pytest.mark.skipif(
    not MEASURED.exists(), reason="the measured traces are not here (../shared/data/muri)"
)
SECOND = 1000 / 1.015
"""Recorded milliseconds of an iteration that takes a second in the simulator."""
STAGES = ((1, 0, 2), (0, 3, 1), (2, 2, 0), (1, 1, 1), (0.5, 3, 0.25))


def jobs(rows: Sequence[dict[str, Any]]) -> Workload:
    """Return jobs with iterations of a second; each row says what differs from the usual."""
    usual = {
        "submit": 0,
        "gpus": 1,
        "work": 100,
        "iterations": 100,
        "iteration_time": SECOND / 1000,
        "stages": (0.25, 0.5, 0.25),
        "restart": 0,
        "priority": 0,
    }
    made = [usual | {"id": f"j{i}"} | row for i, row in enumerate(rows)]
    return Workload.parse({"name": "by hand", "jobs": made}, "by hand")


def random_jobs(seed: int, count: int = 14) -> Workload:
    """Return jobs of several sizes and kinds, some of them submitted together."""
    rng = random.Random(seed)
    rows = []
    for _ in range(count):
        iterations, tau = rng.randint(5, 400), rng.choice([100, 250, 900])
        rows.append(
            {
                "submit": rng.choice([0, 10, rng.randint(0, 4000) / 10]),
                "gpus": rng.choice([1, 1, 2, 4, 8]),
                "iterations": iterations,
                "iteration_time": tau / 1000,
                "work": round(iterations * tau / 1000),
                "stages": [tau * stage / 4000 for stage in rng.choice(STAGES)],
                "restart": rng.choice([0, 4, 10]),
                "priority": rng.randint(0, 1),
            }
        )
    return jobs(rows)


def run(
    workload: Workload, policy: str, cluster: Cluster | None = None, **options: Any
) -> Simulation:
    """Simulate on 8 servers of 8, or on a cluster, and audit it."""
    done = simulate(workload, cluster or Cluster.uniform(8, 8), policy, **options)
    report = done.audit()
    assert report.feasible, report.violations[:3]
    return done


def ends(done: Simulation) -> list[float]:
    """Return the completion times by job, rounded to microseconds."""
    return [round(time, 6) for _, time in sorted(done.log.rows("completions"))]


@cache
def trace(name: str) -> Workload:
    """Return a trace of the authors; those with _pr have all jobs at 0."""
    file, _, together = name.partition("_")
    path = MEASURED / f"{file}.csv"
    return Workload.from_trace(path, "muri", together=bool(together), resources=3)


@cache
def printed() -> Any:
    """Return the figures that the authors printed."""
    return json.loads((MEASURED / "published.json").read_text(encoding="utf-8"))
