"""Exact methods and bounds of dispatch: brute force, each other, and where they begin."""

from __future__ import annotations

from typing import Any

import pytest
from dispatch_instances import held, instance, job, machines, running, waiting
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import changed

import dlsched
from dlsched.problems.dispatch import Instance, Solution
from dlsched.problems.dispatch.definition.oracle import brute_force
from dlsched.problems.dispatch.exact.beginning import from_best
from dlsched.problems.dispatch.instances.strategy import instances
from dlsched.registry import Kind, problem
from dlsched.results.refutation import beaten_level
from dlsched.results.result import Claim, Status, Termination
from dlsched.run import Run
from dlsched.solvers.precision import BEYOND_PRECISION

SEEDS = st.integers(0, 10**6)


def one_cluster(seed: int, **more: Any) -> Instance:
    """Generate an instance of the scope one that is larger than brute force allows."""
    options: dict[str, Any] = {"scope": "one", "regions": 2, "machines": 12, "pending": 6,
                               "gpu_share": 0.75, "rack": 3, "cpu_only": 0.1}  # fmt: skip
    return dlsched.generate("dispatch", seed, **options | more)  # type: ignore[return-value]


@pytest.mark.parametrize("examples", [30, pytest.param(500, marks=pytest.mark.slow)])
@pytest.mark.parametrize("scope", ["one", "batch"])
def test_methods_and_brute_force(scope: str, examples: int) -> None:
    """Exact methods find the optimum, also with equal credits, and no optimum beats a bound."""

    @settings(max_examples=examples, deadline=None)
    @given(instances(scope=scope, ties=True))
    def run(instance: Instance) -> None:
        optimum = brute_force(instance)
        for method in ("milp", "classes", *["clusters"] * (scope == "one")):
            result = dlsched.solve(instance, method)
            assert (result.status, result.objective) == ("optimal", optimum)
            if method == "classes":
                assert tuple(bound.value for bound in result.bound) == tuple(optimum)
        for method in ("lp", "aggregated"):
            result = dlsched.solve(instance, method)
            assert beaten_level(result.bound, optimum) is None
            assert beaten_level(result.certified, optimum) is None
            assert result.bound.started_1 is not None

    run()


@settings(max_examples=12, deadline=None)
@given(SEEDS, st.sampled_from([1.0, 1.0, 0.95]))
def test_clusters_and_model_on_generated_clusters(seed: int, allocation: float) -> None:
    """Both find the same optimum of instances too large for brute force."""
    instance = one_cluster(seed, allocation=allocation)
    first, second = dlsched.solve(instance, "clusters"), dlsched.solve(instance, "milp")
    assert first.status == second.status == "optimal"
    assert first.objective == second.objective


def test_model_where_highs_mistakes_the_value_of_its_start() -> None:
    """HiGHS 1.16 called a start of value 1 optimal with the value 0: it is solved without it."""
    assert dlsched.solve(one_cluster(75, allocation=1.0), "milp").status == "optimal"


@pytest.mark.slow
def test_clusters_and_model_on_500_full_clusters() -> None:
    """With all GPUs allocated most of these preempt, many of them for two jobs of a workload."""
    preempting = several = 0
    for seed in range(500):
        instance = one_cluster(seed, allocation=1.0)
        first, second = dlsched.solve(instance, "clusters"), dlsched.solve(instance, "milp")
        assert first.objective == second.objective
        if first.solution.preempt:
            preempting += 1
            several += any(
                len(w.jobs) > 1 for w in instance.pending if w.id in first.solution.start
            )
    assert preempting > 250 and several > 50


def test_bounds_are_certified_on_every_level() -> None:
    """The relaxation of a generated batch has a certified bound for each of the 16 levels."""
    result = dlsched.solve(dlsched.generate("dispatch", 1), "lp")
    assert None not in result.certified
    assert len(result.certified) == 16


@pytest.mark.parametrize("method", ["milp", "clusters"])
def test_one_victim_for_two_jobs_counts_once(method: str) -> None:
    """A victim on the machines of both jobs of a workload is preempted once, in both methods."""
    both = [held({f"m#{k}": 1}, 2, 1, 1, name=f"j{k}") for k in (0, 1)]
    alone = [running(f"v{k}", held({f"m#{k}": 1}, 1, 1, 1)) for k in (2, 3, 4)]
    two_jobs = instance(
        [machines("m", 2, count=5)],
        [running("both", *both), *alone],
        [waiting("w", job("a", 2, 2), job("b", 2, 2))],
        scope="one",
    )
    objective = dlsched.solve(two_jobs, method).objective
    assert (objective.started_1, objective.preempted_2, objective.spread) == (8, 4, 5)


@pytest.mark.parametrize("method", ["milp", "clusters"])
def test_one_second_of_youth_in_a_million(method: str) -> None:
    """Of 1.4 million seconds that victims lack one is saved, by a plan with more racks."""
    rows = [(5, 1000, 0)] * 14 + [(1, 901, 1), (2, 900, 0), (3, 800, 0)]
    young = instance(
        [machines(f"m{k}", gpus, rack=rack) for k, (gpus, _, rack) in enumerate(rows)],
        [running(f"v{k}", held({f"m{k}#0": 1}, gpus), seconds=seconds)
         for k, (gpus, seconds, _) in enumerate(rows)],
        [waiting("w", job(gpus=1, tasks=74, cpus=0, memory=0))],
        scope="one",
    )  # fmt: skip
    objective = dlsched.solve(young, method).objective
    assert (objective.preempted_2, objective.young, objective.spread) == (16, 1366699, 18)


@pytest.mark.parametrize(("method", "seed"), [("milp", 15), ("clusters", 40)])
def test_a_gap_makes_no_wrong_claim(method: str, seed: int) -> None:
    """Within a gap a later level may improve an earlier one; no bound is beaten by the optimum."""
    instance = one_cluster(seed, allocation=1.0)
    best = dlsched.solve(instance, "clusters")
    loose = dlsched.solve(instance, method, gap=0.9)
    assert loose.status == "optimal"
    assert beaten_level(loose.bound, best.objective) is None


def test_aggregated_within_a_gap() -> None:
    """The bound of a level that is solved within a gap need not be attained; all are bounded."""
    instance = dlsched.generate("dispatch", 9, machines=10, pending=10, allocation=1.0)
    result = dlsched.solve(instance, "aggregated", gap=0.3)
    assert None not in result.bound


def test_too_large_instances_are_refused() -> None:
    """A billion machines do not fill the memory, and the model names the method for its size."""
    data = changed(one_cluster(0).to_data(), "regions[0].clusters[0].machines[0].count", 10**9)
    with pytest.raises(dlsched.OptionError, match="10000000 machines"):
        dlsched.solve(data, "mast")
    large = dlsched.generate("dispatch", 1, clusters=10, machines=200, pending=60)
    with pytest.raises(dlsched.OptionError, match="use clusters for the scope one"):
        dlsched.solve(large, "milp")


def test_clusters_refuses_a_batch() -> None:
    """The error names the method for it."""
    with pytest.raises(dlsched.OptionError, match="use classes"):
        dlsched.solve(dlsched.generate("dispatch", 1), "clusters")


HEURISTICS = [
    name
    for name, method in problem("dispatch").methods.items()
    if method.kind in (Kind.HEURISTIC, Kind.BASELINE)
]


def drawn(seed: int) -> Instance:
    """Generate a cluster on which workloads wait and others are preempted."""
    instance = dlsched.generate("dispatch", seed, machines=6, pending=12, allocation=1.0)
    assert isinstance(instance, Instance)
    return instance


@pytest.mark.parametrize("seed", range(3))
def test_nothing_found_is_what_the_search_begins_from(seed: int) -> None:
    """That is what heuristics have found, or the plan of `mast` if none was called."""
    instance, run = drawn(seed), Run()
    nothing = Claim(status=Status.NO_SOLUTION, termination=Termination.TOLERANCES)
    claim = from_best(instance, run, lambda start: nothing)
    mast = dlsched.solve(instance, "mast").solution
    assert claim.status is Status.FEASIBLE and claim.solution.start == mast.start
    run.known = dlsched.solve(instance, "counted").solution
    assert from_best(instance, run, lambda start: nothing).solution is run.known


def test_an_optimum_that_the_start_beats_is_none() -> None:
    """It may be one of values that are equal to the solver: the start is returned instead."""
    claim = from_best(drawn(1), Run(), lambda start: Claim(Solution(), Status.OPTIMAL))
    assert claim.status is Status.FEASIBLE and claim.termination is Termination.TOLERANCES
    assert claim.reason == BEYOND_PRECISION and claim.solution.start


@pytest.mark.parametrize("method", ["milp", "classes"])
def test_no_time_is_the_plan_of_mast(method: str) -> None:
    """Without time the start is returned, whatever the method."""
    instance = drawn(1)
    plan = dlsched.solve(instance, "mast").objective
    result = dlsched.solve(instance, method, time_limit=1e-9)
    assert result.status == "feasible" and result.termination == "time_limit"
    assert not plan.better_than(result.objective)


@pytest.mark.slow
@pytest.mark.parametrize("limit", [0.05, 0.3, 2.0])
@pytest.mark.parametrize("seed", range(6))
def test_exact_is_no_worse_than_heuristics(seed: int, limit: float) -> None:
    """Under a limit within which the heuristics end, the exact method's answer is no worse."""
    instance = drawn(seed)
    exact = dlsched.solve(instance, time_limit=limit).objective
    for name in HEURISTICS:
        if dlsched.solve(instance, name).seconds.total < limit / 4:
            assert not dlsched.solve(instance, name).objective.better_than(exact), name
