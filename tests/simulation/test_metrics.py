"""Metrics of two small simulations, worked out by hand."""

from __future__ import annotations

import pytest

from dlsched.simulation import Allocation, Cluster, Decision, Share, Simulation, Workload, simulate
from dlsched.simulation.measures.metrics import rank


def make(*jobs: dict[str, object], servers: int = 1, gpus: int = 1) -> Simulation:
    """Simulate jobs first in, first out."""
    workload = Workload.parse({"name": "hand", "jobs": list(jobs)}, "hand")
    return simulate(workload, Cluster.uniform(servers, gpus), "fifo")


def test_two_jobs_on_one_gpu() -> None:
    """The second job comes at 2, waits until 10, and ends at 15."""
    found = make(
        {"id": "a", "submit": 0, "gpus": 1, "work": 10},
        {"id": "b", "submit": 2, "gpus": 1, "work": 5},
    ).summary
    assert found["mean_jct"] == (10 + 13) / 2
    assert found["mean_queueing"] == (0 + 8) / 2
    assert found["p99_queueing"] == 8
    assert found["makespan"] == 15
    assert found["mean_slowdown"] == (10 / 10 + 13 / 5) / 2
    assert found["mean_queue_length"] == 8 / 15
    assert found["utilization"] == 1
    assert found["preemptions"] == found["preempted_share"] == 0
    # One job from 0 to 2, two until 10, one until 15: 1.8 on average for a, 21 / 13 for b.
    fair = (10 / (10 * 1.8) + 13 / (5 * 21 / 13)) / 2
    assert found["mean_fairness"] == pytest.approx(fair, rel=1e-12)
    # From 2 to 10 the second job has waited 4 on average, and has 5 left.
    assert found["blocking_index"] == pytest.approx(4 / 5, rel=0.01)


def test_busy_resources_follow_the_stages() -> None:
    """A job of stages 1, 2, 1 alone keeps its resources busy for 25, 50 and 25 % of the time."""
    found = make(
        {"id": "a", "submit": 0, "gpus": 2, "work": 10, "stages": [1, 2, 1]}, gpus=2
    ).summary
    busy = [found[f"busy_{name}"] for name in ("storage", "gpu", "network")]
    assert busy == [0.25, 0.5, 0.25]


class Pair:
    """Both jobs share the server's GPUs from the start."""

    def decide(self, state: object) -> Decision:
        """Start both at 0."""
        if getattr(state, "time") != 0:  # noqa: B009
            return Decision()
        both = Allocation((Share("s1", 2),), group="ab")
        return Decision({"a": both, "b": both})


def test_shared_gpus_count_once() -> None:
    """Two jobs that take turns on two of four GPUs hold half of the cluster, not all of it."""
    jobs = [
        {"id": name, "submit": 0, "gpus": 2, "work": 10, "stages": stages}
        for name, stages in (("a", [1, 0, 0]), ("b", [0, 1, 0]))
    ]
    workload = Workload.parse({"name": "hand", "jobs": jobs}, "hand")
    run = simulate(workload, Cluster.uniform(1, 4), Pair())
    # Their stages use different resources: one iteration of both takes as long as one of each.
    assert list(run.jobs["end"]) == [10, 10]
    assert run.summary["utilization"] == 0.5
    assert run.jobs["service"].sum() == 40
    assert run.audit()


def test_rank_counts_from_zero() -> None:
    """Of 100 values the one at position 99 is the 99th percentile; of two, the second."""
    assert rank(range(100), 0.99) == 99
    assert rank(range(2), 0.99) == 1
    assert rank(range(1), 0.99) == 0


def test_jobs_on_another_type_of_gpu_are_counted() -> None:
    """Two jobs run on a k80: one names it as the second of its types, one names a v100."""
    job = {"submit": 0, "gpus": 1, "work": 10}
    rates = {"rates": {"v100": 2, "k80": 1}, "gpu_type": "v100"}
    kinds = {"a": {"gpu_type": "v100|k80"}, "b": {"gpu_type": "v100"}, "c": rates, "d": {}}
    data = {"name": "hand", "jobs": [{"id": name} | job | kind for name, kind in kinds.items()]}
    workload = Workload.parse(data, "hand")
    run = simulate(workload, Cluster.uniform(2, 2, gpu_type="k80"), "fifo")
    assert run.summary["other_gpu_type"] == 1
    assert run.audit()
    two = workload.model_copy(update={"jobs": workload.jobs[:2]})
    assert "other_gpu_type" not in simulate(two, Cluster.uniform(2, 2), "fifo").summary
