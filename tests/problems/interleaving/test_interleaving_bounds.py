"""Bounds of interleaving: never above full efficiency, and valid at every scale of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dlsched
from dlsched.problems.interleaving import Instance
from dlsched.problems.interleaving.exact.bounds import lagrangian_bound
from dlsched.problems.interleaving.programs.column_pool import Enumerated, Pool, Prices
from dlsched.problems.interleaving.structures.groups import stage_array, trivial_bound
from dlsched.problems.interleaving.structures.tables import Query
from dlsched.run import Run
from dlsched.testing import oracles, strategies

HUGE = [1.7e308, -1.7e308, 1e308, 1e200, -1e30, 1e15, 5e-324, 0.0]
INSTANCES = st.one_of(
    strategies.interleaving(max_jobs=6), strategies.interleaving(max_jobs=6, scales=True)
)


@given(INSTANCES, st.lists(st.floats(-1, 2) | st.sampled_from(HUGE), min_size=7, max_size=7))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_prices_of_any_size_give_a_bound(instance: Instance, numbers: list[float]) -> None:
    """Any prices, up to 1.7e308, bound the optimum, and at most by full efficiency."""
    prices = {job.id: price for job, price in zip(instance.jobs, numbers, strict=False)}
    if instance.jobs:
        bound = lagrangian_bound(instance, prices, abs(numbers[-1]))
        assert oracles.interleaving(instance)[0] <= bound <= trivial_bound(instance)


def test_the_trivial_bound_by_hand() -> None:
    """Seven jobs of one GPU and two of four on three resources: 7/3 + 2/3, by GPUs 7/3 + 8/3."""
    jobs = [{"id": f"j{i}", "gpus": 1 if i < 7 else 4, "stages": [1, 2, 3]} for i in range(9)]
    made = Instance(name="nine", resources=list("rst"), grouping="cover", jobs=jobs)
    assert trivial_bound(made) == 3
    assert trivial_bound(made.model_copy(update={"weigh_by": "gpus"})) == 5


@pytest.mark.parametrize("method", ["column_generation", "aggregated", "lagrangian", "blossom"])
def test_no_certified_bound_is_above_full_efficiency(method: str) -> None:
    """Jobs that interleave perfectly: every certified bound is the number of groups, not more."""
    jobs = [{"id": f"j{i}", "stages": [2, 1] if i % 2 else [1, 2]} for i in range(8)]
    made = Instance(name="perfect", resources=["r", "s"], grouping="uniform", jobs=jobs)
    assert dlsched.solve(made, method).certified[0].value == 4


@given(INSTANCES, st.integers(0, 2**32 - 1))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_pricing_finds_what_enumeration_finds_at_every_scale(instance: Instance, seed: int) -> None:
    """The largest reduced value of each class, with times from 1e-300 to 1e15 side by side."""
    if not instance.jobs:
        return
    search, listed = Pool(instance), Enumerated(instance)
    rng = np.random.default_rng(seed)
    heaviest = max(part.weight for part in search.classes)
    prices = Prices(heaviest * rng.uniform(-0.5, 1, len(search.profiles)), 0.1 * rng.random())
    query = Query(-np.inf, 3, 1000)
    highest = [pool.price(prices, query, Run()).highest for pool in (search, listed)]
    assert highest[0] == pytest.approx(highest[1], abs=1e-11 * heaviest)


SUBNORMAL: list[dict[str, Any]] = [
    {"id": "a", "stages": [5e-324, 0, 0]},
    {"id": "b", "stages": [1e15, 0, 3]},
    {"id": "c", "stages": [0, 5e-324, 1e-323]},
    {"id": "d", "stages": [1, 1e-300, 0]},
]


def test_times_as_far_apart_as_files_hold() -> None:
    """Subnormal times beside 1e15: the exact methods find the optimum of brute force."""
    made = Instance(
        name="far", resources=list("rst"), grouping="cover", gpu_budget=2, jobs=SUBNORMAL
    )
    assert (stage_array(made)[stage_array(made) > 0] > 1e-200).all()
    optimum = oracles.interleaving(made)
    for method in ("milp", "aggregated", "column_generation"):
        assert dlsched.solve(made, method).objective == optimum
    for rule in (
        "muri",
        "muri_needed",
        "swap",
        "regroup",
        "greedy",
        "muri_worst_order",
    ):
        assert not dlsched.solve(made, rule).objective.better_than(optimum)
    assert lagrangian_bound(made, dict.fromkeys("abcd", 0.5)) >= optimum[0]


@given(INSTANCES)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_exact_methods_agree_at_every_scale(instance: Instance) -> None:
    """Brute force = milp = aggregated = column_generation, up to the last places of a double."""
    optimum = oracles.interleaving(instance)[0]
    for method in ("milp", "aggregated", "column_generation"):
        result = dlsched.solve(instance, method)
        assert result.status == "optimal"
        assert abs(result.objective[0] - optimum) <= 2.0**-50 * optimum
        assert result.certified[0].value >= optimum
