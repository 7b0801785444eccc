"""The optimum depends on neither names nor order, grows with capacity, and is every route's."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dlsched
from dlsched.problems.elastic import Instance, search
from dlsched.testing import strategies


@settings(max_examples=60, deadline=None, derandomize=True)
@given(strategies.elastic(), st.randoms(use_true_random=False))
def test_names_and_order_do_not_matter(instance: Instance, random: Any) -> None:
    """Other ids in another order give the same optimum."""
    jobs = [job.model_copy(update={"id": f"other-{job.id}"}) for job in instance.jobs]
    random.shuffle(jobs)
    other = Instance(name="other", capacity=instance.capacity, jobs=tuple(jobs))
    for method in ("milp", "dp"):
        assert dlsched.solve(other, method).objective == dlsched.solve(instance, method).objective


@settings(max_examples=60, deadline=None, derandomize=True)
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
