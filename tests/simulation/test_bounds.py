"""Lower bounds on mean completion time and makespan: valid, and as computed by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dlsched import OptionError
from dlsched.simulation import Allocation, Cluster, Decision, Share, State, Workload, simulate
from dlsched.simulation.bounds import bound, pooled
from dlsched.simulation.bounds.charges import mixtures
from dlsched.simulation.bounds.demands import Pool
from dlsched.simulation.bounds.makespan import longest_job, pooled_work

POLICIES = ("fifo", "srtf", "srsf", "las", "muri_s", "muri_l")


def random_workload(seed: int, *, stages: bool = True) -> Workload:
    """Return up to twelve small jobs, some submitted at once, some elastic in nothing."""
    rng = np.random.default_rng(seed)
    jobs = [
        {
            "id": f"j{i}",
            "submit": int(rng.integers(0, 200)) * int(rng.integers(0, 2)),
            "gpus": int(rng.choice([1, 1, 2, 4])),
            "work": int(rng.integers(1, 400)),
            "stages": [int(s) for s in rng.integers(1, 9, 3)] if stages else [],
        }
        for i in range(int(rng.integers(1, 13)))
    ]
    return Workload.parse({"name": "random", "jobs": jobs}, "random")


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3))]
)
def test_no_policy_is_better_than_a_bound(seed: int) -> None:
    """Every policy's mean completion time and makespan are at least the bounds that hold for it."""
    workload, cluster = random_workload(seed), Cluster.uniform(2, 4)
    runs = {policy: simulate(workload, cluster, policy) for policy in POLICIES}
    for metric in ("mean_jct", "makespan"):
        limit = {x: float(bound(workload, cluster, metric, sharing=x).value) for x in (True, False)}
        assert limit[True] <= limit[False] * (1 + 1e-3)
        for policy, run in runs.items():
            assert limit[run.shares_gpus] <= run.summary[metric] * (1 + 1e-12), policy


def test_the_pooled_machine_takes_the_shortest_remaining_job() -> None:
    """Two GPUs: a job of 8 GPU seconds from 0, one of 2 from 1 that comes before the rest of it."""
    d = Pool(steps=((0, 2),), release=(0, 1), area=(8, 2), length=(4, 1))
    # The first works from 0 to 1 (6 left), the second from 1 to 2, the first from 2 to 5.
    assert pooled.total_by_remaining_time(d) == 5 + 2


def test_mean_busy_times_of_two_jobs() -> None:
    """Smallest area first, whole or not: mean busy times plus half of each length."""
    d = Pool(steps=((0, 1),), release=(0, 1), area=(4, 2), length=(4, 2))
    # First from 0 to 1 and 3 to 6: (1 + 36 - 9) / 2 / 4 = 3.5, floor 3; second from 1 to 3: 2.
    assert pooled.total_by_busy_time(d) == 3 + 2 + Fraction(4 + 2, 2)


class OnOneGpu:
    """Every job runs on one GPU."""

    def decide(self, state: State) -> Decision:
        """Start the job that arrives."""
        return Decision({view.id: Allocation((Share("s1", 1),)) for view in state.waiting})


def test_fewer_gpus_may_do_more_each() -> None:
    """Two GPUs do 1.5 times the work of one: 10 s of two take 15 s of one, not 20."""
    job = {"id": "a", "submit": 0, "gpus": 2, "min_gpus": 1, "scaling_loss": 0.5, "work": 10}
    workload = Workload.parse({"name": "hand", "jobs": [job]}, "hand")
    run = simulate(workload, Cluster.uniform(1, 1), OnOneGpu())
    assert run.summary["makespan"] == run.summary["mean_jct"] == 15
    assert run.bound("makespan").value == run.bound("mean_jct").value == 15


def test_a_loan_counts_while_it_lasts() -> None:
    """Two jobs of 10 s; the second GPU is lent from 30 s on, so one of them waits for the other."""
    jobs = [{"id": x, "submit": 0, "gpus": 1, "work": 10, "fungible": True} for x in "ab"]
    workload = Workload.parse({"name": "hand", "jobs": jobs}, "hand")
    servers = [{"id": "s1", "gpus": 1}, {"id": "s2", "gpus": 1, "pool": "loan"}]
    lent = {"servers": servers, "loans": [{"time": 30, "servers": 1}]}
    value = bound(workload, Cluster.parse(lent, "hand")).value
    assert 14.5 < value <= 15


def test_a_slow_type_counts_for_less() -> None:
    """Three jobs, one GPU that takes 10 s and one that takes 30 s: two after each other, 22.5 s."""
    row = {"submit": 0, "gpus": 1, "work": 10, "gpu_type": "fast", "rates": {"fast": 3, "slow": 1}}
    jobs = [{"id": f"j{i}"} | row for i in range(3)]
    workload = Workload.parse({"name": "hand", "jobs": jobs}, "hand")
    cluster = Cluster.of([{"gpus": 1, "gpu_type": kind} for kind in ("fast", "slow")])
    # In T seconds they do T / 10 and T / 30 jobs; of types that count alike it would be 15 s.
    found = bound(workload, cluster, "makespan")
    assert abs(found.value - Fraction(45, 2)) < Fraction(1, 10**6)
    assert found.value <= Fraction(45, 2)


def test_cpus_are_a_resource() -> None:
    """Two jobs twice as fast with 3 CPUs each as with one; there are 4: half the time each."""
    matrix = {"cpus": [1, 3], "memory": [1], "throughput": [[1], [2]], "share": [1, 1]}
    row = {"submit": 0, "gpus": 1, "work": 12, "profile": "hungry"}
    data = {"name": "hand", "jobs": [{"id": x} | row for x in "ab"], "matrices": {"hungry": matrix}}
    workload = Workload.parse(data, "hand")
    # In T seconds both have 3 CPUs for half of T: 2 (T / 2 + 2 T / 2) = 24, so T = 8, not 6.
    found = bound(workload, Cluster.uniform(1, 2, cpus=4, memory=9), "makespan").value
    assert abs(found - 8) < Fraction(1, 10**6)
    assert found <= 8


def test_makespan_of_work_that_comes_late() -> None:
    """What is submitted at 10 takes 6 more GPU seconds on two GPUs, or its own length of 4."""
    d = Pool(steps=((0, 2),), release=(0, 10), area=(2, 6), length=(1, 4))
    assert (pooled_work(d), longest_job(d)) == (13, 14)


def test_weights_of_resources_are_mixtures() -> None:
    """There are 15 mixtures of three resources in quarters, each of sum 1."""
    found = list(mixtures(3, 4))
    assert len(set(found)) == 15
    assert all(sum(weights) == 1 for weights in found)


def test_sharing_needs_stages() -> None:
    """A bound for policies that share is refused where the jobs have no stages."""
    with pytest.raises(OptionError, match="no stages"):
        bound(random_workload(1, stages=False), Cluster.uniform(1, 4), sharing=True)


def test_a_metric_without_a_bound_is_named() -> None:
    """The message names the metrics that have bounds."""
    with pytest.raises(OptionError, match="mean_jct, makespan"):
        bound(random_workload(1), Cluster.uniform(1, 4), "p99_jct")
