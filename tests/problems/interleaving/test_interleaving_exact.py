"""The exact methods of interleaving agree with brute force, and say what they proved."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import dlsched
from dlsched.problems.interleaving import PROBLEM, Instance
from dlsched.problems.interleaving.exact.bounds import lagrangian_bound
from dlsched.registry import call
from dlsched.run import Run
from dlsched.testing import oracles, strategies

SAME = 1e-9


@given(strategies.interleaving(max_jobs=8, max_resources=2))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_blossom_is_optimal_for_pairs(instance: Instance) -> None:
    """With two resources and uniform groups, matching is the optimum, as the paper says."""
    if instance.grouping != "uniform" or len(instance.resources) != 2:
        with pytest.raises(dlsched.OptionError, match="two resources"):
            dlsched.solve(instance, "blossom")
        return
    optimum = oracles.interleaving(instance)
    for method in ("blossom", "muri", "swap"):
        assert dlsched.solve(instance, method).objective == optimum


def test_pricing_in_steps_proves_the_same_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pricing with a check of the time limit after each job proves the same bound."""
    instance = dlsched.generate("interleaving", 1, jobs=24)
    prices = {job.id: 0.2 + 0.01 * (i % 7) for i, job in enumerate(instance.jobs)}
    at_once = lagrangian_bound(instance, prices)
    monkeypatch.setattr("dlsched.problems.interleaving.programs.column_pool._STEP", 1)
    assert lagrangian_bound(instance, prices) == at_once


def test_prices_must_be_complete() -> None:
    """A bound needs a finite price for every job, and a GPU price that is not negative."""
    instance = dlsched.generate("interleaving", 1, jobs=8)
    prices = {job.id: 0.2 for job in instance.jobs}
    assert lagrangian_bound(instance, prices) > 0
    for wrong in ({}, prices | {"j1": float("nan")}):
        with pytest.raises(ValueError, match="finite price"):
            lagrangian_bound(instance, wrong)
    with pytest.raises(ValueError, match="finite"):
        lagrangian_bound(instance, prices, -1.0)


@pytest.mark.parametrize("seed", [1, 2])
def test_distinct_jobs_are_proved_and_order_does_not_matter(seed: int) -> None:
    """24 distinct jobs: aggregated = column generation, also with the jobs reversed."""
    instance = dlsched.generate("interleaving", seed, jobs=24)
    first = dlsched.solve(instance, "column_generation")
    assert first.status == "optimal"
    turned = instance.model_copy(update={"jobs": instance.jobs[::-1]})
    for other in (dlsched.solve(instance, "aggregated"), dlsched.solve(turned)):
        assert other.status == "optimal"
        assert abs(other.objective[0] - first.objective[0]) < SAME


def test_a_cover_with_few_profiles_is_proved() -> None:
    """300 jobs of 48 profiles under a budget are proved, and no heuristic is better."""
    instance = dlsched.generate(
        "interleaving", 1, jobs=300, grouping="cover", distinct=False, budget=0.25
    )
    best = dlsched.solve(instance)
    assert (best.method, best.status) == ("aggregated", "optimal")
    for rule in ("muri", "muri_needed", "swap", "greedy", "muri_worst_order"):
        assert not dlsched.solve(instance, rule).objective.better_than(best.objective)


def test_too_large_for_a_list_names_the_alternative() -> None:
    """milp and aggregated refuse above their sizes, and say what to use."""
    instance = dlsched.generate("interleaving", 1, jobs=128)
    for method in ("milp", "aggregated"):
        with pytest.raises(dlsched.OptionError, match="column_generation"):
            dlsched.solve(instance, method)


def test_exact_depends_on_the_instance() -> None:
    """`exact` is blossom for pairs, aggregated for few profiles, else column_generation."""
    pairs = dlsched.generate("interleaving", 1, jobs=6, resources=2)
    alike = dlsched.generate("interleaving", 1, jobs=12, distinct=False)
    distinct = dlsched.generate("interleaving", 1, jobs=12)
    found = [dlsched.solve(made).method for made in (pairs, alike, distinct)]
    assert found == ["blossom", "aggregated", "column_generation"]


def test_an_interrupt_leaves_a_solution_and_a_bound() -> None:
    """Stopped after its first bound, column generation has a solution and certifies that bound."""
    instance = dlsched.generate("interleaving", 1, jobs=48)
    run = Run(on_progress=lambda point: setattr(run, "interrupted", point.bound is not None))
    claim = call(PROBLEM.methods["column_generation"], instance, run, {})
    assert (claim.status, claim.termination) == ("feasible", "interrupted")
    ((bound,),) = claim.bounds
    assert bound.kind == "certified" and bound.value >= claim.objective[0]


def test_no_progress_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the integer program would be too large, the search ends after `rounds`, unproved."""
    monkeypatch.setattr("dlsched.problems.interleaving.exact.group_columns._MOST_COLUMNS", 4)
    instance = dlsched.generate("interleaving", 1, jobs=16)
    result = dlsched.solve(instance, "column_generation", rounds=0)
    assert (result.status, result.termination) == ("feasible", "iteration_limit")
    assert result.certified[0].value > result.objective[0]


def test_a_start_is_used_if_it_is_better() -> None:
    """A start better than the local search is the first incumbent; of a worse one it is said."""
    instance = dlsched.generate("interleaving", 1, jobs=24)
    best = dlsched.solve(instance)
    again = dlsched.solve(instance, start=best.solution)
    assert again.start.accepted
    assert again.objective == best.objective
    poor = dlsched.solve(instance, start=dlsched.solve(instance, "greedy").solution)
    assert poor.start.reason == "no better than the heuristics'"


def test_same_seed_same_answer() -> None:
    """Column generation is deterministic for a seed."""
    instance = dlsched.generate("interleaving", 3, jobs=32)
    first, second = (dlsched.solve(instance, seed=7) for _ in range(2))
    assert first.solution == second.solution


@pytest.mark.parametrize("many", [1, 10**6])
def test_the_number_of_threads_may_change(many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a call with two threads one with a single thread is proved, which once it was not."""
    monkeypatch.setattr("dlsched.problems.interleaving.exact.group_columns.MANY_PROFILES", many)
    instance = dlsched.generate("interleaving", 1, jobs=20)
    for threads in (1, 2, 1):
        result = dlsched.solve(instance, "column_generation", threads=threads)
        assert result.status == "optimal" and result.certified[0] is not None


def test_bound_alone() -> None:
    """The bound method certifies the exact method's bound, and names its solver."""
    instance = dlsched.generate("interleaving", 1, jobs=32)
    bound = dlsched.solve(instance, "lagrangian")
    best = dlsched.solve(instance)
    assert (bound.status, bound.termination) == ("no solution", "bound_only")
    assert bound.solver == best.solver == "highs" and bound.solver_version
    assert np.isclose(float(bound.bound[0].value), float(best.certified[0].value), rtol=1e-6)


@pytest.mark.parametrize("method", ["lagrangian", "column_generation", "aggregated"])
def test_efficiencies_that_nearly_tie_end_the_relaxation(method: str) -> None:
    """Columns whose gammas differ by 1e-9 are priced once: the relaxation once did not end."""
    rows = [(2, 2), (2, 0.3), (2, 20), (20, 20), (2, 0.3), (2, 0.3), (2, 2)]
    jobs = [
        {"id": f"j{i}", "gpus": 4, "stages": [(2e9 + a) / 1e10, b / 1e10]}
        for i, (a, b) in enumerate(rows)
    ]
    near = Instance(
        name="near", resources=["r", "s"], grouping="cover", gpu_budget=17, jobs=jobs,
        weigh_by="gpus",
    )  # fmt: skip
    result = dlsched.solve(near, method, time_limit=60)
    optimum = oracles.interleaving(near)
    assert result.termination != "time_limit"
    assert float(result.certified[0].value / optimum[0]) == pytest.approx(1, abs=0.3)
    if result.objective is not None:
        assert abs(result.objective[0] - optimum[0]) <= 1e-12 * optimum[0]
