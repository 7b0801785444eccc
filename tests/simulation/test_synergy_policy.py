"""The policy synergy: orders, methods, rounds, and what jobs hold, on cases worked out by hand."""

from __future__ import annotations

import functools
import json
from fractions import Fraction

import numpy as np
import pytest
from synergy_cases import MATRICES, ends, server, workload

from dlsched import InstanceError, OptionError, UnknownName
from dlsched.simulation import Allocation, Cluster, Decision, Share, State, Workload, simulate
from dlsched.simulation.engine.vectors import Arrays
from dlsched.simulation.policies.synergy import Synergy, _candidates
from dlsched.simulation.policies.synergy_orders import ORDERS
from dlsched.simulation.policies.synergy_rounds import RoundSolver
from dlsched.simulation.workload.generators import synergy_workload


def test_best_case_speeds_a_job_up() -> None:
    """With 3 of 4 CPUs the hungry job takes 600 s instead of 900; so does the next, alone."""
    jobs = workload(("hungry", 900), ("modest", 600), ("hungry", 300))
    cluster = server()
    assert ends(simulate(jobs, cluster, "synergy", method="proportional")) == {
        "a": 900, "b": 600, "c": 900
    }  # fmt: skip
    for method in ("tune", "price_round", "exact", "opt", "greedy"):
        run = simulate(jobs, cluster, "synergy", method=method)
        assert ends(run) == {"a": 600, "b": 600, "c": 800}, method


def test_a_place_that_is_freed_waits_for_the_round() -> None:
    """A job that completes at 100 s leaves its GPU idle until the round at 300 s."""
    jobs = workload(("modest", 100), ("modest", 1000), ("modest", 50))
    assert ends(simulate(jobs, server(), "synergy")) == {"a": 100, "b": 1000, "c": 350}
    quick = simulate(jobs, server(), "synergy", interval=60)
    assert ends(quick)["c"] == 170


def test_greedy_skips_where_tune_reverts() -> None:
    """Two jobs want 3 of 4 CPUs: GREEDY lets the second wait, TUNE gives both their share."""
    jobs = workload(("hungry", 900), ("hungry", 900), ("modest", 600))
    assert ends(simulate(jobs, server(), "synergy", method="greedy")) == {
        "a": 600, "b": 1200, "c": 600
    }  # fmt: skip
    tuned = simulate(jobs, server(), "synergy", method="tune")
    assert ends(tuned) == {"a": 900, "b": 900, "c": 1500}


@pytest.mark.parametrize(
    ("order", "long", "short"),
    [
        ("fifo", 900, 1200),
        ("srtf", 1200, 300),
        ("las", 1200, 600),  # in turns
        ("ftf", 1200, 600),  # the largest first: at 300 s, 1 and (300 + 300) / 300
        ("ftf_largest", 1200, 600),
        ("ftf_least", 900, 1200),
    ],
)
def test_orders(order: str, long: int, short: int) -> None:
    """One GPU, and jobs of 900 s and 300 s: each order gives it to them in its own way."""
    jobs = workload(("modest", 900), ("modest", 300))
    run = simulate(jobs, server(gpus=1), "synergy", order=order)
    assert ends(run) == {"a": long, "b": short}


def test_drf_and_tetris_order_the_queue() -> None:
    """DRF prefers the dominant share 1/2 to 3/4, Tetris 350 to 750 weighted seconds."""
    jobs = workload(("hungry", 300), ("hungry", 300), ("modest", 600), ("modest", 600))
    by_drf = ends(simulate(jobs, server(), "synergy", method="drf"))
    assert by_drf == {"c": 600, "d": 600, "a": 800, "b": 1100}
    by_tetris = ends(simulate(jobs, server(), "synergy", method="tetris"))
    assert by_tetris == {"a": 200, "c": 600, "b": 500, "d": 1200}
    tuned = ends(simulate(jobs, server(), "synergy", method="tune", order="drf"))
    assert tuned == {"c": 600, "d": 600, "a": 900, "b": 900}


def test_multi_gpu_jobs_are_skipped_not_waited_for() -> None:
    """A job of 3 GPUs that does not fit lets smaller ones behind it run."""
    jobs = workload(("modest", 600), ("modest", 600), ("modest", 300))
    rows = jobs.model_dump()["jobs"]
    for row, gpus in zip(rows, (2, 3, 1), strict=True):
        row |= {"gpus": gpus, "min_gpus": gpus, "max_gpus": gpus}
    jobs = type(jobs).parse({"name": "sizes", "jobs": rows, "matrices": MATRICES}, "the test")
    run = simulate(jobs, server(2), "synergy", method="proportional")
    assert ends(run) == {"a": 600, "b": 1200, "c": 300}


def test_shares_hold_cpus_and_memory_and_speeds_are_the_matrix() -> None:
    """The log has CPUs and GB of each job, and its throughput relative to its share."""
    run = simulate(workload(("hungry", 900), ("modest", 600)), server(), "synergy")
    rows = run.log.rows("segments")
    assert {json.dumps(json.loads(row[4])): Fraction(row[6]) for row in rows} == {
        '[["s1", 1, 3.0, 2.0]]': Fraction(3, 2),
        '[["s1", 1, 1.0, 2.0]]': 1,
    }
    ideal = simulate(workload(("hungry", 900)), server(), "synergy", method="opt")
    assert json.loads(ideal.log.rows("segments")[0][4]) == [["s1", 1, 2.0, 2.0]]


def test_methods_are_in_order_in_a_round() -> None:
    """In the first round, where all methods have the same jobs: TUNE, ours, exact, OPT."""
    jobs = synergy_workload(24, load=None, split="60/30/10", seed=3)
    cluster = Cluster.uniform(3, 8, cpus=24, memory=500)
    methods = ("tune", "price_round", "exact", "opt")
    solver = {m: RoundSolver(jobs, cluster, m, {}) for m in methods}
    total = {}
    for method, rounds in solver.items():
        given, _ = rounds.solve(range(24))
        assert len(given) == 24
        total[method] = sum(got.choice.throughput for _, got in given)
    assert 24 <= total["tune"] <= total["price_round"] <= total["exact"]
    assert total["exact"] <= total["opt"]
    assert total["tune"] < total["opt"]


@pytest.mark.parametrize("seed", range(5))
def test_candidates_are_all_that_greedy_can_place(seed: int) -> None:
    """GREEDY on the first jobs of each kind places what it places on the whole queue."""
    jobs = synergy_workload(120, load=None, split="40/40/20", multi=True, seed=seed)
    cluster = Cluster.uniform(2, 4, cpus=12, memory=250)
    solver = RoundSolver(jobs, cluster, "greedy", {})
    order = np.random.default_rng(seed).permutation(120)
    gpus = np.array([job.gpus for job in jobs.jobs])
    zeros = np.zeros(120, np.int64)
    arrays = Arrays(np.arange(120), zeros, gpus, zeros, zeros, zeros, zeros)
    few = order[_candidates(arrays, order, solver.kind, cluster.gpus)]
    assert len(few) < 120
    whole, _ = solver.solve(order.tolist(), may_wait=True)
    assert solver.solve(few.tolist(), may_wait=True)[0] == whole


@pytest.mark.parametrize("method", ["exact", "opt"])
def test_jobs_stay_where_they_are(method: str) -> None:
    """While only waiting jobs start in places that are freed, no running job is moved."""
    jobs = workload(("modest", 900), ("modest", 100), ("modest", 900), ("modest", 900))
    run = simulate(jobs, server(2, gpus=1), "synergy", method=method)
    assert len(run.log.rows("segments")) == 4
    assert run.summary["preemptions"] == 0


MORE = ("ftf_least", "ftf_largest")
"""Orders whose kind is simulated with another one in every run of the tests."""


@functools.cache
def mixed_case() -> tuple[Workload, Cluster]:
    """Return ten jobs of several sizes and kinds, and two servers for them."""
    jobs = synergy_workload(10, load=60, split="60/30/10", multi=True, seed=5, scale=0.03)
    return jobs, Cluster.uniform(2, 8, cpus=24, memory=500)


@functools.cache
def least_mean_jct() -> Fraction:
    """Return the bound on these jobs, which is the same for all orders."""
    run = simulate(*mixed_case(), "synergy", method="tune")
    return run.bound("mean_jct").value


@pytest.mark.parametrize(
    "order",
    [pytest.param(order, marks=pytest.mark.slow if order in MORE else ()) for order in ORDERS],
)
def test_audits(order: str) -> None:
    """Simulations of all methods, with jobs of several sizes, agree with their logs."""
    methods = ("proportional", "greedy", "opt", "tune_public") if order == "srtf" else ()
    for method in (*methods, "tune"):
        run = simulate(*mixed_case(), "synergy", method=method, order=order)
        assert run.audit(), run.audit().violations
    assert run.summary["mean_jct"] >= least_mean_jct()


def test_the_auditor_reads_speeds_from_the_matrix() -> None:
    """A job that is said to run faster than its CPUs allow is found."""
    run = simulate(workload(("hungry", 900), ("modest", 600)), server(), "synergy")
    assert run.audit()
    with run.log.database as database:
        database.execute("UPDATE segments SET shares = replace(shares, '3.0', '2.0')")
    assert [v.kind for v in run.audit().violations] == ["speed"]


def test_any_policy_may_assign_cpus() -> None:
    """A policy that gives amounts between the axes' values has them rounded down to these."""

    class Amounts:
        def decide(self, state: State) -> Decision:
            """Start everything with 2.9 CPUs."""
            held = Allocation((Share("s1", 1, Fraction(29, 10), 2),))
            return Decision({view.id: held for view in state.waiting})

    run = simulate(workload(("hungry", 900)), server(), Amounts())
    assert ends(run) == {"a": 900}
    assert run.audit()


def test_bad_input() -> None:
    """Servers without CPUs, jobs without a matrix, unknown orders: one error, with a remedy."""
    jobs = workload(("modest", 100))
    with pytest.raises(OptionError, match=r"have CPUs and memory; write Cluster\.uniform"):
        simulate(jobs, Cluster.uniform(1, 2), "synergy")
    with pytest.raises(UnknownName, match="no order is called 'fife'; did you mean 'fifo'"):
        simulate(jobs, server(), "synergy", order="fife")
    with pytest.raises(InstanceError, match="share: has no throughput; measure it there"):
        workload(("odd", 9), matrices={"odd": {**MATRICES["modest"], "share": (0.5, 2)}})
    bare = jobs.model_copy(update={"jobs": (jobs.jobs[0].model_copy(update={"profile": None}),)})
    with pytest.raises(InstanceError, match=r"jobs\[0\].profile: .*read the trace with profiles"):
        simulate(bare, server(), "synergy")


class Counting(Synergy):
    """Synergy that counts the jobs named in each of its decisions."""

    def __init__(self) -> None:
        """Begin with no decision."""
        super().__init__("tune")
        self._named: list[tuple[int, int]] = []

    def decide(self, state: State) -> Decision:
        """Return the decision."""
        made = super().decide(state)
        self._named.append((len(made.start), len(made.preempt)))
        return made


def test_only_changes_are_decided() -> None:
    """A decision names jobs whose allocation changes; so in a second simulation of the policy."""
    jobs = workload(("hungry", 900), ("modest", 900), ("modest", 300))
    policy = Counting()
    first = simulate(jobs, server(), policy)
    # The first two run; the hungry one ends at 600, at one and a half times the speed.
    assert policy._named == [(2, 0), (0, 0), (1, 0)]
    policy._named.clear()
    second = simulate(jobs, server(), policy)
    assert policy._named == [(2, 0), (0, 0), (1, 0)]
    assert second.log.rows("segments") == first.log.rows("segments")
    assert first.audit()
