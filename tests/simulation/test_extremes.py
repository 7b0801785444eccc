"""Workloads at the edge: no work, ties, long overheads, sizes and times far apart, odd names."""

from __future__ import annotations

import json

import pytest
from simulation_cases import entries, runs

POLICIES = ("fifo", "srtf", "srsf", "las", "tiresias", "yarn_cs", "gandiva", "lyra", "mast")
EACH = [
    pytest.param(case, policy, marks=() if i % 3 == number % 3 else pytest.mark.slow)
    for number, case in enumerate(entries("extremes"))
    for i, policy in enumerate(POLICIES)
]


@pytest.mark.parametrize(("case", "policy"), EACH, ids=lambda x: x if x in POLICIES else x["what"])
def test_extreme_workloads_are_simulated(case: dict[str, object], policy: str) -> None:
    """All jobs complete; audit, metrics and bounds are as for any other workload."""
    (run,) = runs(case | {"policy": policy})
    assert run.summary["completed"] == len(run.workload.jobs)
    assert json.loads(json.dumps(run.summary, allow_nan=False)) == run.summary
    if POLICIES.index(policy) < 3:  # the bounds are those of the workload, whatever the policy
        for metric in ("mean_jct", "makespan"):
            assert run.bound(metric).value <= run.summary[metric] * (1 + 1e-12)
