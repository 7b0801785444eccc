"""List schedules in a given order: audited, above the bound, and refused where nothing fits."""

from itertools import permutations

import pytest
from claims_only.list_order import ListOrder

from dlsched.simulation import Cluster, PolicyError, Workload, simulate

JOBS = ((0, 2, 30), (0, 4, 11), (3, 1, 25), (4, 3, 9))
"""Submission, GPUs and work."""
CLUSTER = Cluster.uniform(2, 2)


def workload(jobs: tuple[tuple[int, int, int], ...] = JOBS) -> Workload:
    """Return a few jobs."""
    rows = [
        {"id": f"j{i}", "submit": s, "gpus": g, "work": w, "restart": 1}
        for i, (s, g, w) in enumerate(jobs)
    ]
    return Workload.parse({"name": "few", "jobs": rows}, "few")


@pytest.mark.parametrize("preemptive", [False, True])
def test_orders_differ_above_the_bound(preemptive: bool) -> None:
    """Each order's schedule is audited, some are better than others, none than the bound."""
    jobs, means = workload(), set()
    for order in permutations([job.id for job in jobs.jobs]):
        run = simulate(jobs, CLUSTER, ListOrder(order=order, preemptive=preemptive))
        assert run.audit()
        assert run.summary["mean_jct"] >= run.bound("mean_jct").value
        means.add(run.summary["mean_jct"])
    assert len(means) > 1


def test_it_refuses_what_it_cannot_do() -> None:
    """A job that fits nowhere is refused."""
    with pytest.raises(PolicyError, match="j0 fits no servers"):
        ListOrder(order=["j0"]).check(workload(((0, 5, 1),)), CLUSTER)
