"""Metrics of two small simulations, worked out by hand."""

from __future__ import annotations

import pytest
from simulation_cases import audited, by_hand

from dlsched.simulation import Allocation, Cluster, Decision, Share, simulate


def test_two_jobs_on_one_gpu() -> None:
    """The second job comes at 2, waits until 10, and ends at 15."""
    jobs = by_hand({}, {"submit": 2, "work": 5})
    found = simulate(jobs, Cluster.uniform(1, 1), "fifo").summary
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
    jobs = by_hand({"gpus": 2, "stages": [1, 2, 1]})
    found = simulate(jobs, Cluster.uniform(1, 2), "fifo").summary
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
    jobs = by_hand({"stages": [1, 0, 0]}, {"stages": [0, 1, 0]}, gpus=2)
    run = audited(jobs, Cluster.uniform(1, 4), Pair())
    # Their stages use different resources: one iteration of both takes as long as one of each.
    assert list(run.jobs["end"]) == [10, 10]
    assert run.summary["utilization"] == 0.5
    assert run.jobs["service"].sum() == 40


def test_percentiles_count_from_zero() -> None:
    """Of 25 values 95 % is the one at position 23; of two, the second."""
    for count, p95 in ((25, 24), (2, 2)):
        jobs = by_hand(*({"work": 10 + i} for i in range(1, count + 1)))
        run = simulate(jobs, Cluster.uniform(25, 1), "fifo")
        assert run.summary["p95_jct"] == 10 + p95


def test_jobs_on_another_type_of_gpu_are_counted() -> None:
    """Two jobs run on a k80: one names it as the second of its types, one names a v100."""
    rates = {"rates": {"v100": 2, "k80": 1}, "gpu_type": "v100"}
    jobs = by_hand({"gpu_type": "v100|k80"}, {"gpu_type": "v100"}, rates, {})
    run = audited(jobs, Cluster.uniform(2, 2, gpu_type="k80"), "fifo")
    assert run.summary["other_gpu_type"] == 1
    two = jobs.model_copy(update={"jobs": jobs.jobs[:2]})
    assert "other_gpu_type" not in simulate(two, Cluster.uniform(2, 2), "fifo").summary


def test_a_simulation_is_shown_in_a_notebook_and_in_a_line() -> None:
    """Policy, settings and the first metrics; times in hours."""
    run = simulate(by_hand({"work": 7200}), Cluster.uniform(1, 1), "las", seed=3)
    assert repr(run) == "Simulation(las, mean_jct=7,200 s, makespan=7,200 s)"
    page = run._repr_html_()
    assert "1 of 1 jobs are complete" in page and "seed 3" in page and "2.00" in page
