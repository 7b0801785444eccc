"""The clairvoyant search: against all orders, deterministic, audited."""

from itertools import permutations

import numpy as np
import pytest
from claims_only.clairvoyant import clairvoyant, seeded
from claims_only.list_order import ListOrder
from claims_only.list_search import Pooled

from dlsched.errors import OptionError
from dlsched.simulation import Cluster, PolicyError, Workload, simulate
from dlsched.simulation.workload.generators import hadar_cluster, hadar_workload, synergy_workload

JOBS = ((0, 2, 30), (0, 4, 11), (3, 1, 25), (4, 3, 9), (8, 2, 14))
"""Submission, GPUs and work."""
STAGES = ((3, 1, 0), (1, 3, 1), (0, 1, 3), (2, 2, 1))
CLUSTER = Cluster.uniform(2, 2)


def workload(jobs: tuple[tuple[int, int, int], ...] = JOBS, share: bool = False) -> Workload:
    """Return a few jobs, which may share GPUs."""
    rows = [
        {"id": f"j{i}", "submit": s, "gpus": g, "work": w, "restart": 1}
        | ({"stages": STAGES[i]} if share else {})
        for i, (s, g, w) in enumerate(jobs)
    ]
    return Workload.parse({"name": "few", "jobs": rows}, "few")


@pytest.mark.parametrize(
    ("count", "preemptive"),
    [
        (4, False),
        pytest.param(5, False, marks=pytest.mark.slow),
        pytest.param(5, True, marks=pytest.mark.slow),
    ],
)
def test_it_finds_the_best_of_all_orders(count: int, preemptive: bool) -> None:
    """On a few jobs the search's schedule is the best of all list schedules, and is audited."""
    jobs = workload(JOBS[:count])
    names = [job.id for job in jobs.jobs]
    best = min(
        simulate(jobs, CLUSTER, ListOrder(order=order, preemptive=preemptive)).summary["mean_jct"]
        for order in permutations(names)
    )
    found = clairvoyant(jobs, CLUSTER, iterations=300, preemptive=preemptive)
    assert found.summary["mean_jct"] == best
    assert found.audit()
    assert found.summary["mean_jct"] >= found.bound("mean_jct").value


CASES = {
    "types": (hadar_workload(12, scale=0.03), hadar_cluster(6)),
    "cpus": (
        synergy_workload(16, load=None, split="60/30/10", scale=0.1, seed=1),
        Cluster.uniform(1, 8, cpus=24, memory=500),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_it_is_deterministic_and_no_worse_than_its_start(case: str) -> None:
    """Seed and iterations decide, and the search makes the start better."""
    jobs, cluster = CASES[case]
    start, first, again = (
        clairvoyant(jobs, cluster, iterations=n, preemptive=True) for n in (0, 200, 200)
    )
    assert first.summary["mean_jct"] < start.summary["mean_jct"]
    assert first.jobs.equals(again.jobs)
    assert first.audit()


def test_the_pooled_value_is_the_simulation_where_servers_are_one() -> None:
    """On one server the loop's sum is that of the simulator, to rounding."""
    jobs, one = workload(), Cluster.uniform(1, 4)
    pooled = Pooled.of(jobs, one)
    for order in ([0, 1, 2, 3, 4], [3, 1, 4, 0, 2]):
        for preemptive in (False, True):
            names = [jobs.jobs[j].id for j in order]
            run = simulate(jobs, one, ListOrder(order=names, preemptive=preemptive))
            total = pooled.total(np.array(order), np.full(5, -1), preemptive)
            submitted = sum(job.submit for job in jobs.jobs)
            assert (total - submitted) / 5 == pytest.approx(run.summary["mean_jct"], rel=1e-12)


def test_it_refuses_what_it_cannot_do() -> None:
    """A job that fits nowhere, and a negative number are refused."""
    with pytest.raises(PolicyError, match="j0 fits no servers"):
        clairvoyant(workload(((0, 5, 1),)), CLUSTER)
    with pytest.raises(OptionError, match="iterations"):
        clairvoyant(workload(), CLUSTER, iterations=-1)


def test_with_sharing_it_finds_the_best_of_all_orders() -> None:
    """On a few jobs that share GPUs as well; the schedule is audited, and above the bound."""
    jobs = workload(tuple((s, min(g, 2), w) for s, g, w in JOBS[:4]), share=True)
    best = min(
        simulate(jobs, Cluster.uniform(1, 2), seeded(jobs, list(order))).summary["mean_jct"]
        for order in permutations([job.id for job in jobs.jobs])
    )
    found = clairvoyant(jobs, Cluster.uniform(1, 2), iterations=15, sharing=True)
    assert found.summary["mean_jct"] <= best
    assert found.audit().feasible
    assert found.summary["mean_jct"] >= found.bound("mean_jct").value
