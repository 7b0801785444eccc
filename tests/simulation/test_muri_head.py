"""The jobs that a round of Muri leaves out are not in the head of the queue."""

from __future__ import annotations

import random
from typing import Any

import pytest

from dlsched.problems.interleaving.instances import state as adapter
from dlsched.registry.cluster_state import ClusterState
from dlsched.simulation import Cluster, State, Workload, simulate
from dlsched.simulation.policies import muri


@pytest.mark.parametrize("policy", ["muri_s", "muri_l"])
def test_the_instance_is_that_of_all_jobs(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With equal jobs, jobs that are too large and arrivals, no round groups other jobs."""
    rng = random.Random(3)
    rows = [
        {
            "id": f"j{i}",
            "submit": rng.choice((0, 5 * i)),
            "gpus": rng.choice((1, 1, 2, 4)),
            "work": rng.choice((20, 50, rng.randint(10, 90))),
            "stages": [rng.randint(1, 5) for _ in range(3)],
        }
        for i in range(40)
    ]
    fewer = 0
    first = muri._first

    def compared(state: State, order: str, *others: Any) -> ClusterState:
        nonlocal fewer
        some, every = first(state, order, *others), state.snapshot()
        assert adapter.instance(some, order=order) == adapter.instance(every, order=order)
        fewer += len(some.waiting) < len(every.waiting)
        return some

    monkeypatch.setattr(muri, "_first", compared)
    jobs = Workload.parse({"name": "head", "jobs": rows}, "head")
    assert simulate(jobs, Cluster.uniform(1, 4), policy, interval=20).complete
    assert fewer
