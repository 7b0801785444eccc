"""Brute force, integer program and dynamic program agree; nothing beats them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given, settings

import dlsched
from dlsched.problems.elastic import search
from dlsched.problems.elastic.schema import Instance
from dlsched.testing import oracles
from dlsched.testing.strategies import elastic


@contextmanager
def fixing() -> Iterator[None]:
    """Send every instance through the Lagrangian fixing."""
    small, core = search.SMALL, search.CORE
    search.SMALL, search.CORE = -1, 2
    try:
        yield
    finally:
        search.SMALL, search.CORE = small, core


@settings(max_examples=300, derandomize=True, deadline=None)
@given(elastic())
def test_all_exact_methods_agree(instance: Instance) -> None:
    """Brute force = milp = dp with and without fixing; no rule or bound contradicts them."""
    best = oracles.elastic(instance)
    assert best is not None
    results = [dlsched.solve(instance, m) for m in ("milp", "dp")]
    with fixing():
        results.append(dlsched.solve(instance, "dp"))
    for result in results:
        assert (result.status, result.objective) == ("optimal", best)
        assert tuple(result.gap) == (0, 0)
        for level, bound in result.certified.pairs():
            assert bound is None or not level.better(getattr(best, level.name), bound.value)
    for result in results[1:]:
        assert [b.kind for b in result.bound] == ["certified", "certified"]
    for name in ("lyra", "greedy", "afs", "fifo"):
        rule = dlsched.solve(instance, name)
        assert dlsched.verify(instance, rule.solution)
        assert not rule.objective.better_than(best)
    bound = dlsched.bound(instance)
    assert bound.launched.value == best.launched
    assert bound.reduction.kind == "certified"
    assert bound.reduction.value >= best.reduction


@settings(max_examples=150, derandomize=True, deadline=None)
@given(elastic(mixed=True))
def test_values_far_apart(instance: Instance) -> None:
    """From 1e-9 to 6e10 in one epoch: dp = brute force; milp is within the gap that it states."""
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
    """A grid of a thousand denominators makes numbers that no double holds; the bound holds."""
    job = {"gpus_per_worker": 1, "max_workers": 1000, "min_running_time": 7}
    jobs = [job | {"id": "a", "min_workers": 1}, job | {"id": "b", "min_workers": least}]
    instance = Instance(name="x", capacity=995, jobs=jobs)
    assert dlsched.bound(instance).reduction.value >= dlsched.solve(instance, "greedy").objective[1]
