"""Brute force, integer program and dynamic program agree."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given, settings

import dlsched
from dlsched.problems.elastic.definition.schema import Instance
from dlsched.problems.elastic.programs import knapsack_search
from dlsched.testing import check_problem, oracles
from dlsched.testing.strategies import elastic

SOME = settings(max_examples=60, derandomize=True, deadline=None)


@contextmanager
def fixing() -> Iterator[None]:
    """Send every instance through the Lagrangian fixing."""
    small, core = knapsack_search.SMALL, knapsack_search.CORE
    knapsack_search.SMALL, knapsack_search.CORE = {"int64": -1, "object": -1}, 2
    try:
        yield
    finally:
        knapsack_search.SMALL, knapsack_search.CORE = small, core


@SOME
@given(elastic())
def test_all_exact_methods_agree(instance: Instance) -> None:
    """Brute force, milp, and dp with and without fixing agree; bounds of dp are certified."""
    best = oracles.elastic(instance)
    assert best is not None
    results = [dlsched.solve(instance, m) for m in ("milp", "dp")]
    with fixing():
        results.append(dlsched.solve(instance, "dp"))
    for result in results:
        assert (result.status, result.objective) == ("optimal", best)
        assert tuple(result.gap) == (0, 0)
    for result in results[1:]:
        assert [b.kind for b in result.bound] == ["certified", "certified"]
    bound = dlsched.bound(instance)
    assert bound.launched.value == best.launched
    assert bound.reduction.kind == "certified"
    assert bound.reduction.value >= best.reduction


@pytest.mark.slow
def test_many_instances_conform() -> None:
    """The comparisons with brute force hold on 300 instances each."""
    checks = ("exact", "heuristics", "bounds", "renaming", "order")
    check_problem("elastic", checks=checks, examples=300).raise_if_any()


@SOME
@given(elastic(mixed=True))
def test_values_far_apart(instance: Instance) -> None:
    """Times from 1e-9 to 6e10: dp equals brute force; milp is within the gap that it states."""
    best = oracles.elastic(instance)
    assert best is not None
    with fixing():
        fixed = dlsched.solve(instance, "dp")
    for result in (dlsched.solve(instance, "dp"), fixed):
        assert (result.status, result.objective, tuple(result.gap)) == ("optimal", best, (0, 0))
    model = dlsched.solve(instance, "milp")
    assert model.objective.launched == best.launched
    assert model.objective.reduction <= best.reduction <= model.bound.reduction.value


@pytest.mark.parametrize("least", [1, 990])
def test_savings_beyond_a_double(least: int) -> None:
    """With a thousand denominators the integers exceed a double; the bound holds."""
    job = {"gpus_per_worker": 1, "max_workers": 1000, "min_running_time": 7}
    jobs = [job | {"id": "a", "min_workers": 1}, job | {"id": "b", "min_workers": least}]
    instance = Instance(name="x", capacity=995, jobs=jobs)
    assert dlsched.bound(instance).reduction.value >= dlsched.solve(instance, "afs").objective[1]


@SOME
@given(elastic())
def test_more_gpus_are_never_worse(instance: Instance) -> None:
    """One GPU more launches at least as many jobs, and with as many saves at least as much."""
    more = Instance(name="more", capacity=instance.capacity + 1, jobs=instance.jobs)
    assert not dlsched.solve(instance).objective.better_than(dlsched.solve(more).objective)


@pytest.mark.parametrize("running", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("scaling", ["linear", "loss"])
def test_larger_epochs_agree(monkeypatch: pytest.MonkeyPatch, running: float, scaling: str) -> None:
    """On 200 items the whole table, the fixing and HiGHS find the same optimum."""
    made = dlsched.generate(
        "elastic", seed=7, items=200, capacity=150, running=running, scaling=scaling
    )
    whole = dlsched.solve(made, "dp")
    monkeypatch.setattr(knapsack_search, "SMALL", {"int64": -1, "object": -1})
    fixed = dlsched.solve(made, "dp")
    model = dlsched.solve(made, "milp")
    assert whole.status == fixed.status == model.status == "optimal"
    assert whole.objective == fixed.objective == model.objective
