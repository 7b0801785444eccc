"""Brute force, the model and the dynamic program agree; nothing beats them or their bounds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dlsched
from dlsched.problems.elastic import Instance, search
from dlsched.testing import oracles, strategies

HEURISTICS = ("lyra", "greedy", "afs", "fifo")
quiet = settings(max_examples=500, deadline=None, derandomize=True)


def agree(instance: Instance) -> None:
    """Assert that every method tells the truth about an instance."""
    best = oracles.elastic(instance)
    for method in ("milp", "dp"):
        result = dlsched.solve(instance, method)
        assert (result.status, tuple(result.objective)) == ("optimal", tuple(best))
        assert tuple(result.gap) == (0, 0)
        for level, bound in result.certified.pairs():
            value = getattr(best, level.name)
            assert bound is None or not level.better(value, bound.value)
    assert [b.kind for b in dlsched.solve(instance, "dp").bound] == ["certified", "certified"]
    bound = dlsched.bound(instance)
    assert bound.launched.value == best.launched
    assert bound.reduction.value >= best.reduction
    for method in HEURISTICS:
        assert not dlsched.solve(instance, method).objective.better_than(best)


@quiet
@given(strategies.elastic())
def test_all_methods_agree(instance: Instance) -> None:
    """Brute force = milp = dp, certified; no heuristic is infeasible or better; bounds hold."""
    agree(instance)


def test_fixing_agrees_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same with every table taken for a large one, so that the fixing always runs."""
    monkeypatch.setattr(search, "SMALL", -1)
    monkeypatch.setattr(search, "CORE", 2)

    @quiet
    @given(strategies.elastic())
    def check(instance: Instance) -> None:
        agree(instance)

    check()


@settings(max_examples=100, deadline=None, derandomize=True)
@given(strategies.elastic(), st.randoms(use_true_random=False))
def test_names_and_order_do_not_matter(instance: Instance, random: Any) -> None:
    """Other ids in another order give the same optimum."""
    jobs = [job.model_copy(update={"id": f"other-{job.id}"}) for job in instance.jobs]
    random.shuffle(jobs)
    other = Instance(name="other", capacity=instance.capacity, jobs=tuple(jobs))
    for method in ("milp", "dp"):
        assert dlsched.solve(other, method).objective == dlsched.solve(instance, method).objective


@settings(max_examples=100, deadline=None, derandomize=True)
@given(strategies.elastic())
def test_more_gpus_are_never_worse(instance: Instance) -> None:
    """One GPU more launches at least as many jobs, and with as many saves at least as much."""
    more = Instance(name="more", capacity=instance.capacity + 1, jobs=instance.jobs)
    assert not dlsched.solve(instance).objective.better_than(dlsched.solve(more).objective)


@pytest.mark.parametrize("running", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("scaling", ["linear", "loss"])
def test_larger_epochs_agree_by_every_route(
    monkeypatch: pytest.MonkeyPatch, running: float, scaling: str
) -> None:
    """On 200 items the whole table, the fixing and HiGHS find one optimum."""
    made = dlsched.generate(
        "elastic", seed=7, items=200, capacity=150, running=running, scaling=scaling
    )
    whole = dlsched.solve(made, "dp")
    monkeypatch.setattr(search, "SMALL", -1)
    fixed = dlsched.solve(made, "dp")
    model = dlsched.solve(made, "milp")
    assert whole.status == fixed.status == model.status == "optimal"
    assert whole.objective == fixed.objective == model.objective
