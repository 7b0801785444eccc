"""Lower bounds where servers are lent for some of the time: by hand, and never above a policy."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dlsched.simulation import Cluster, Workload, simulate
from dlsched.simulation.bounds import bound, pooled
from dlsched.simulation.bounds.capacity import Capacity
from dlsched.simulation.bounds.demands import Pool
from dlsched.simulation.bounds.makespan import pooled_work
from dlsched.simulation.bounds.modes import gpu_classes
from dlsched.simulation.workload.generators import lyra_workload

MORE_LATER = ((0, 1), (10, 3))
"""One GPU, and from 10 on three."""


def cluster_with_loan(*loans: tuple[int, int]) -> Cluster:
    """Return one server of training with 4 GPUs, and loan servers of 2, 1 and 2."""
    servers = [{"id": "t", "gpus": 4}]
    servers += [{"id": f"i{i}", "gpus": g, "pool": "loan"} for i, g in enumerate((2, 1, 2))]
    rows = [{"time": time, "servers": count} for time, count in loans]
    return Cluster.parse({"servers": servers, "loans": rows}, "hand")


def test_the_largest_servers_on_loan_count() -> None:
    """Of servers of 2, 1 and 2 GPUs two on loan are 4; before the first change none is lent."""
    classes = gpu_classes(cluster_with_loan((5, 2), (9, 3), (20, 0)))
    second = 1_000_000
    (lent,) = [steps for (_, owner), steps in classes.items() if owner == "loan"]
    assert lent == ((0, 0), (5 * second, 4), (9 * second, 5), (20 * second, 0))


def test_gpu_time_and_when_it_is_reached() -> None:
    """One GPU until 10, none until 20, three after: 10 are there at 10, and 11 a third later."""
    capacity = Capacity(((0, 1), (10, 0), (20, 3)))
    assert [capacity.until(time) for time in (0, 4, 10, 15, 20, 22)] == [0, 4, 10, 10, 10, 16]
    assert [capacity.reached(done) for done in (4, 10, 11)] == [4, 10, Fraction(61, 3)]


def test_a_job_across_a_change_by_hand() -> None:
    """Sixteen GPU seconds from 0: ten until 10, the other six until 12."""
    d = Pool(steps=MORE_LATER, release=(0,), area=(16,), length=(4,))
    assert pooled.total_by_remaining_time(d) == pooled_work(d) == 12
    # The mean of the times: (50 + 3 (144 - 100) / 2) / 16 = 7.25, floor 7; plus half the length.
    assert pooled.total_by_busy_time(d) == 7 + 2


def test_the_shortest_job_comes_first_after_a_change_too() -> None:
    """Of 16 from 0 and 3 from 9, the second is done from 9 to 10 2/3, the first by 13."""
    d = Pool(steps=MORE_LATER, release=(0, 9), area=(16, 3), length=(4, 1))
    assert pooled.total_by_remaining_time(d) == Fraction(32, 3) + 13


def test_servers_that_are_lent_late_raise_the_bound() -> None:
    """Four jobs of 4 GPUs and 10 s: one after another until servers are lent at 35."""
    jobs = [{"id": f"j{i}", "submit": 0, "gpus": 4, "work": 10, "fungible": True} for i in range(4)]
    workload = Workload.parse({"name": "hand", "jobs": jobs}, "hand")
    late, early = cluster_with_loan((35, 3)), cluster_with_loan((0, 3))
    assert bound(workload, late, "makespan").value == 35 + Fraction(20, 9)
    assert bound(workload, early, "makespan").value == Fraction(160, 9)
    assert bound(workload, late).value > bound(workload, early).value


@pytest.mark.parametrize("seed", range(2))
def test_lyra_is_never_better_than_a_bound(seed: int) -> None:
    """With a loan that comes and goes, and elastic jobs, bounds are at most what Lyra reaches."""
    workload = lyra_workload(2, days=0.2, scenario=("basic", "ideal")[seed % 2], load=3, seed=seed)
    servers = [{"id": f"t{i}", "gpus": 8} for i in range(2)]
    servers += [{"id": f"i{i}", "gpus": 4, "pool": "loan"} for i in range(3)]
    loans = [{"time": 3000 * i, "servers": i % 4} for i in range(40)]
    cluster = Cluster.parse({"servers": servers, "loans": loans}, "hand")
    run = simulate(workload, cluster, "lyra", seed=seed)
    assert run.audit()
    for metric in ("mean_jct", "makespan"):
        assert float(run.bound(metric).value) <= run.summary[metric]
