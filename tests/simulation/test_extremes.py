"""Workloads at the edge: no work, ties, long overheads, sizes and times far apart, odd names."""

from __future__ import annotations

import json

import pytest
from simulation_cases import ONE, audited, by_hand

from dlsched.simulation import Cluster, Workload, simulate

POLICIES = ("fifo", "srtf", "srsf", "las", "tiresias", "yarn_cs", "gandiva", "lyra", "mast")


EXTREMES: dict[str, tuple[Workload, Cluster]] = {
    "one job": (by_hand({}), Cluster.uniform(1, 4)),
    "one job without work": (by_hand({"work": 0}), Cluster.uniform(1, 4)),
    "no work at all": (by_hand(*[{"work": 0}] * 5), ONE),
    "some without work": (
        by_hand({"work": 0}, {"work": 5}, {"work": 0, "submit": 3}, {"work": 0, "restart": 5}),
        ONE,
    ),
    "wider than a server": (by_hand({"gpus": 8}, {"gpus": 5}, {}), Cluster.uniform(8, 1)),
    "late": (
        by_hand({"submit": 10**11}, {"submit": 10**11 + 0.5, "work": 3}, {"submit": 10**11 - 7}),
        ONE,
    ),
    "microseconds": (
        by_hand(*[{"submit": i / 10**6, "work": 1 / 10**6} for i in range(5)]),
        ONE,
    ),
    "less than microseconds": (
        by_hand(*[{"submit": i / 10**9, "work": 1 / 10**9} for i in range(5)]),
        ONE,
    ),
    "times with all digits of a double": (
        by_hand(*[{"submit": 1000 / 7 + i / 3, "work": 100 / 7} for i in range(5)]),
        ONE,
    ),
    "odd names": (
        by_hand(*[{"id": name} for name in ("a'b\"c", "ü\n☃\x00", "[1, 2]", " ", "%s", "../..")]),
        ONE,
    ),
    "ties": (
        by_hand(*[{"gpus": 1 + i % 3, "work": 7, "submit": i // 4 * 7} for i in range(16)]),
        Cluster.uniform(2, 2),
    ),
    "overhead longer than the work": (
        by_hand(*[{"work": 1, "restart": 250, "submit": i} for i in range(6)]),
        Cluster.uniform(1, 2),
    ),
    "work is lost": (
        by_hand(
            *[{"work": 20 - i, "restart": 3, "checkpoints": False, "submit": i} for i in range(6)]
        ),
        Cluster.uniform(1, 2),
    ),
}


FEW = [(name, list(EXTREMES).index(name) % 3) for name in EXTREMES]
EACH = [
    pytest.param(name, policy, marks=() if i % 3 == third else pytest.mark.slow)
    for name, third in FEW
    for i, policy in enumerate(POLICIES)
]


@pytest.mark.parametrize(("name", "policy"), EACH)
def test_extreme_workloads_are_simulated(name: str, policy: str) -> None:
    """All jobs complete; audit, metrics and bounds are as for any other workload."""
    workload, cluster = EXTREMES[name]
    run = audited(workload, cluster, policy)
    assert run.summary["completed"] == len(workload.jobs)
    assert json.loads(json.dumps(run.summary, allow_nan=False)) == run.summary
    if POLICIES.index(policy) < 3:  # the bounds are those of the workload, whatever the policy
        for metric in ("mean_jct", "makespan"):
            assert run.bound(metric).value <= run.summary[metric] * (1 + 1e-12)


def test_completion_times_far_from_zero_have_all_their_digits() -> None:
    """At 1e11 s a double counts in steps of 15 microseconds; completion times do not."""
    workload, cluster = EXTREMES["late"]
    assert simulate(workload, cluster, "fifo").summary["mean_jct"] == (10 + 13 + 15.5) / 3


def test_jobs_without_work_do_not_count_for_the_slowdown() -> None:
    """One job of ten seconds that does not wait: both are 1, whatever the others do."""
    found = simulate(by_hand({}, {"work": 0, "submit": 20}), ONE, "fifo").summary
    assert found["mean_slowdown"] == found["mean_fairness"] == 1
    found = simulate(by_hand({"work": 0}), ONE, "fifo").summary
    assert found["mean_slowdown"] == found["mean_fairness"] == 1
    assert found["utilization"] == found["mean_queue_length"] == found["makespan"] == 0
