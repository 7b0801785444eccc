"""Policies that solve a problem in every round: hadar and its forks, gavel, synergy, mast."""

from __future__ import annotations

import functools
import json
from fractions import Fraction
from typing import Any

import pytest
from simulation_cases import audited, by_hand, rows

import dlsched
from dlsched.problems.utility import Instance
from dlsched.simulation import Cluster, Simulation, Workload, simulate
from dlsched.simulation.workload.generators import (
    hadar_cluster,
    hadar_workload,
    mast_cluster,
    mast_workload,
    synergy_workload,
)

SLOT = 360
TYPED: dict[str, Any] = {"rates": {"V100": 2, "K80": 1}, "gpu_type": "K80"}
TWO_TYPES = Cluster.of([{"gpus": 1, "gpu_type": kind} for kind in ("V100", "K80")])
NODES = Cluster.of([{"gpus": 1, "gpu_type": "V100", "count": 2}, {"gpus": 1, "gpu_type": "K80"}])


def last_rounds(run: Simulation) -> dict[str, int]:
    """Return the round in which each job is complete."""
    return {row.id: -(-row.end // SLOT) for row in run.jobs.itertuples()}


@pytest.mark.parametrize(
    ("policy", "options"),
    [("forked", {}), ("hadare", {"divided": False}), ("hadare", {"divided": True})],
)
def test_copies_are_decided_on_as_the_problem_does(policy: str, options: dict[str, Any]) -> None:
    """The rounds are the slots of the method of the same name for the forking problem."""
    rounds = [7, 3, 12, 5]
    jobs = by_hand(*({"work": SLOT * n} for n in rounds), max_gpus=3, **TYPED)
    run = audited(jobs, NODES, policy, **options)
    data = {
        "dlsched": 1, "problem": "utility", "name": "forked", "slots": 20, "slot_seconds": SLOT,
        "forking": True,
        "machines": [{"id": s.id, "gpus": {s.gpu_type: 1}} for s in NODES.servers],
        "jobs": [{"id": "abcd"[i], "arrival": 1, "workers": 1, "iterations": n * SLOT,
                  "rates": TYPED["rates"]} for i, n in enumerate(rounds)],
    }  # fmt: skip
    solution = dlsched.solve(Instance.parse(data, "the test"), policy, **options).solution
    assert solution is not None
    slots = {name: held[-1].slot for name, held in solution.schedule.items()}
    assert last_rounds(run) == slots


def test_nodes_idle_at_the_end_of_a_round_that_is_not_the_last() -> None:
    """Theorem 3's corollary: every node has a copy in each round, and some are idle in the first.

    Two jobs of 1.2 and 6 rounds of K80 do 5 rounds of K80 in a round on all nodes together.
    """
    jobs = by_hand({"work": 1.2 * SLOT}, {"work": 6 * SLOT}, max_gpus=3, **TYPED)
    run = audited(jobs, NODES, "forked")
    assert run.summary["makespan"] > SLOT
    first = SLOT * 10**6
    held = sum(
        row["gpus"] * (min(row["end"], first) - row["start"])
        for row in rows(run)
        if row["start"] < first
    )
    assert held < 3 * first


def test_hadar_sticky_changes_fewer_rounds() -> None:
    """Running jobs keep their GPUs until one completes; both modes complete all jobs."""
    workload, cluster = hadar_workload(12, scale=0.1, seed=3), hadar_cluster(3, 4)
    assert audited(workload, cluster, "hadar", mode="full").complete
    sticky = audited(workload, cluster, "hadar")
    completed = {float(end) for end in sticky.jobs["end"]}
    times = [0.0, *sticky.rounds["time"]]
    for before, row in zip(times, sticky.rounds.itertuples(), strict=False):
        if row.started or row.preempted:
            assert row.time == 0 or any(before < end <= row.time for end in completed)


UTILITIES = {
    "effective_throughput": ("long", "short"),
    "inverse_time": ("short", "short"),
    "linear": ("short", "short"),
}


@pytest.mark.parametrize("method", ["hadar", "milp"])
@pytest.mark.parametrize("utility", [*UTILITIES, "normalized_throughput"])
def test_utilities_of_hadar(utility: str, method: str) -> None:
    """Which of two jobs is first depends on the unit of iterations with effective throughput alone;
    the inverse of the completion time and the linear utility prefer the short job.
    """  # fmt: skip
    first = []
    for rate in (1, 1000):
        jobs = by_hand(
            {"work": 4 * SLOT, "rates": {"K80": 50}},
            {"work": 2 * SLOT, "rates": {"K80": rate}},
            gpu_type="K80",
        )
        cluster = Cluster.uniform(1, 1, gpu_type="K80")
        run = audited(jobs, cluster, "hadar", method=method, utility=utility)
        first.append("long" if run.jobs["end"][0] == 4 * SLOT else "short")
        solved = [json.loads(text) for text in run.rounds["solved"]]
        assert {row["method"] for row in solved if row} == {method}
    assert tuple(first) == UTILITIES.get(utility, (first[0],) * 2)


@pytest.mark.parametrize("program", ["makespan", "finish_time_fairness"])
def test_programs_of_gavel_that_read_the_work_that_remains(program: str) -> None:
    """Iterations that remain have more digits than a double, and all jobs complete."""
    rates = {"rates": {"V100": 7.052081, "K80": 3.333333}, "gpu_type": "K80", "restart": 1}
    jobs = by_hand({"work": 1.2345 * SLOT}, {"work": 2.3456 * SLOT}, **rates)
    assert audited(jobs, TWO_TYPES, "gavel", method=program).complete


def test_mast_on_several_types_regions_and_quotas() -> None:
    """The simulation of a generated workload passes the audit."""
    cluster = mast_cluster(2, 2, 2, cpu_machines=2)
    assert audited(mast_workload(cluster, 1, load=1.5), cluster, "mast", interval=300).complete


@functools.cache
def mixed_case() -> tuple[Workload, Cluster]:
    """Return ten jobs of several sizes and kinds, and two servers for them."""
    jobs = synergy_workload(8, load=60, split="60/30/10", multi=True, seed=5, scale=0.03)
    return jobs, Cluster.uniform(2, 8, cpus=24, memory=500)


@functools.cache
def least_mean_jct() -> Fraction:
    """Return the bound on these jobs, which is the same for all orders."""
    return simulate(*mixed_case(), "synergy", method="tune").bound("mean_jct").value


METHODS = ("proportional", "greedy", "opt", "tune_public")
ORDERS = ("fifo", "srtf", "las", "ftf", "ftf_least", "ftf_largest", "drf", "tetris", "prices")


@pytest.mark.parametrize(
    ("method", "order"), [*((m, "srtf") for m in METHODS), *(("tune", o) for o in ORDERS)]
)
def test_synergy_passes_the_audit(method: str, order: str) -> None:
    """Simulations of all methods and orders agree with their logs, and are above the bound."""
    run = audited(*mixed_case(), "synergy", method=method, order=order)
    assert run.summary["mean_jct"] >= least_mean_jct()


def test_synergys_methods_are_in_order_in_a_round() -> None:
    """In the first round, where all have the same jobs, TUNE does least and OPT most."""
    jobs = synergy_workload(8, load=None, split="60/30/10", seed=3)
    cluster = Cluster.uniform(1, 8, cpus=24, memory=500)
    total = []
    for method in ("tune", "price_round", "exact", "opt"):
        run = simulate(jobs, cluster, "synergy", method=method)
        first = [Fraction(row["speed"]) for row in rows(run) if row["start"] == 0]
        assert len(first) == 8
        total.append(sum(first))
    assert 8 <= total[0] <= total[1] <= total[2] <= total[3] > total[0]
