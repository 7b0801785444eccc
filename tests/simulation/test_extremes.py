"""Workloads at the edge: no work, ties, long overheads, sizes and times far apart, odd names."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from dlsched.simulation import Cluster, Workload, simulate

POLICIES = ("fifo", "srtf", "srsf", "las", "tiresias", "yarn_cs", "gandiva", "lyra", "mast")


def jobs(*rows: dict[str, Any]) -> Workload:
    """Return a workload; a job that says nothing has a GPU for ten seconds from the start."""
    plain = {"submit": 0, "gpus": 1, "work": 10}
    named = [{"id": f"j{i}"} | plain | row for i, row in enumerate(rows)]
    return Workload.parse({"name": "extreme", "jobs": named}, "extreme")


EXTREMES: dict[str, tuple[Workload, Cluster]] = {
    "one job": (jobs({}), Cluster.uniform(1, 4)),
    "one job without work": (jobs({"work": 0}), Cluster.uniform(1, 4)),
    "no work at all": (jobs(*[{"work": 0}] * 5), Cluster.uniform(1, 1)),
    "some without work": (
        jobs({"work": 0}, {"work": 5}, {"work": 0, "submit": 3}, {"work": 0, "restart": 5}),
        Cluster.uniform(1, 1),
    ),
    "wider than a server": (jobs({"gpus": 8}, {"gpus": 5}, {}), Cluster.uniform(8, 1)),
    "late": (
        jobs({"submit": 10**11}, {"submit": 10**11 + 0.5, "work": 3}, {"submit": 10**11 - 7}),
        Cluster.uniform(1, 1),
    ),
    "microseconds": (
        jobs(*[{"submit": i / 10**6, "work": 1 / 10**6} for i in range(5)]),
        Cluster.uniform(1, 1),
    ),
    "less than microseconds": (
        jobs(*[{"submit": i / 10**9, "work": 1 / 10**9} for i in range(5)]),
        Cluster.uniform(1, 1),
    ),
    "times with all digits of a double": (
        jobs(*[{"submit": 1000 / 7 + i / 3, "work": 100 / 7} for i in range(5)]),
        Cluster.uniform(1, 1),
    ),
    "odd names": (
        jobs(*[{"id": name} for name in ("a'b\"c", "ü\n☃\x00", "[1, 2]", " ", "%s", "../..")]),
        Cluster.uniform(1, 1),
    ),
    "ties": (
        jobs(*[{"gpus": 1 + i % 3, "work": 7, "submit": i // 4 * 7} for i in range(16)]),
        Cluster.uniform(2, 2),
    ),
    "overhead longer than the work": (
        jobs(*[{"work": 1, "restart": 250, "submit": i} for i in range(6)]),
        Cluster.uniform(1, 2),
    ),
    "work is lost": (
        jobs(
            *[{"work": 20 - i, "restart": 3, "checkpoints": False, "submit": i} for i in range(6)]
        ),
        Cluster.uniform(1, 2),
    ),
}


@pytest.mark.parametrize("name", EXTREMES)
def test_extreme_workloads_are_simulated(name: str) -> None:
    """A third of the policies, another one for the next workload, completes all jobs."""
    check_simulations(name, POLICIES[list(EXTREMES).index(name) % 3 :: 3])


@pytest.mark.slow
@pytest.mark.parametrize("name", EXTREMES)
def test_every_policy_simulates_extreme_workloads(name: str) -> None:
    """So does every policy."""
    check_simulations(name, POLICIES)


def check_simulations(name: str, policies: Sequence[str]) -> None:
    """All jobs complete; audit, metrics and bounds are as for any other workload."""
    workload, cluster = EXTREMES[name]
    bounds: dict[str, float] = {}  # of the workload: the same for each of these policies
    for policy in policies:
        run = simulate(workload, cluster, policy)
        assert run.summary["completed"] == len(workload.jobs)
        assert run.audit(), (policy, run.audit())
        assert json.loads(json.dumps(run.summary, allow_nan=False)) == run.summary, policy
        for metric in ("mean_jct", "makespan"):
            if metric not in bounds:
                bounds[metric] = run.bound(metric).value
            assert bounds[metric] <= run.summary[metric] * (1 + 1e-12), policy


def test_completion_times_far_from_zero_have_all_their_digits() -> None:
    """At 1e11 s a double counts in steps of 15 microseconds; completion times do not."""
    workload, cluster = EXTREMES["late"]
    assert simulate(workload, cluster, "fifo").summary["mean_jct"] == (10 + 13 + 15.5) / 3


def test_jobs_without_work_do_not_count_for_the_slowdown() -> None:
    """One job of ten seconds that does not wait: both are 1, whatever the others do."""
    found = simulate(jobs({}, {"work": 0, "submit": 20}), Cluster.uniform(1, 1), "fifo").summary
    assert found["mean_slowdown"] == found["mean_fairness"] == 1
    found = simulate(jobs({"work": 0}), Cluster.uniform(1, 1), "fifo").summary
    assert found["mean_slowdown"] == found["mean_fairness"] == 1
    assert found["utilization"] == found["mean_queue_length"] == found["makespan"] == 0
