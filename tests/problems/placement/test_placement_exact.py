"""milp agrees with brute force, and the bounds are bounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dlsched
from dlsched.problems.placement import Instance
from dlsched.problems.placement.squares import least, poured
from dlsched.testing import oracles, strategies


@given(strategies.placement())
@settings(max_examples=250, deadline=None, derandomize=True)
def test_milp_is_brute_force(instance: Instance) -> None:
    """Full enumeration = milp in both versions, and no bound is above it."""
    truth = oracles.placement(instance)
    result = dlsched.solve(instance)
    if truth is None:
        assert result.status == "infeasible"
        assert result.reason
        return
    assert result.status == "optimal"
    assert float(result.objective.cost) == pytest.approx(float(truth.cost), abs=1e-9)
    for method in ("storage", "lumps"):
        bound = dlsched.bound(instance, method)
        assert float(bound.cost.value) <= float(truth.cost)
        assert bound.cost.kind == "certified"


@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("seed", range(4))
def test_generated_instances_are_proven(version: str, seed: int) -> None:
    """Seven tables in three regions: milp = brute force, annealing finds it with restarts."""
    inst = dlsched.generate(
        "placement", seed, tables=7, regions=3, jobs=10, version=version, largest=0.4
    )
    truth = oracles.placement(inst)
    assert truth is not None
    result = dlsched.solve(inst)
    assert result.status == "optimal"
    assert float(result.objective.cost) == pytest.approx(float(truth.cost), abs=1e-9)
    annealed = dlsched.solve(inst, "annealing", moves=5_000)
    assert float(annealed.objective.cost) == pytest.approx(float(truth.cost), abs=1e-9)


def test_a_limit_keeps_the_placement_and_the_bound() -> None:
    """Stopped early, milp returns a placement, a bound below it, and says why it stopped."""
    inst = dlsched.generate("placement", 1, tables=40, regions=5, jobs=60)
    result = dlsched.solve(inst, time_limit=2)
    assert (result.status, result.reason) == ("feasible", "time limit")
    assert 0 < float(result.certified.cost.value) <= float(result.bound.cost.value)
    assert float(result.bound.cost.value) <= float(result.objective.cost)


def test_a_start_is_improved_upon() -> None:
    """From hill climbing's placement milp proves one that is no worse."""
    inst = dlsched.generate("placement", 3, tables=8, regions=3, jobs=12, largest=0.4)
    start = dlsched.solve(inst, "hill_climbing")
    result = dlsched.solve(inst, start=start.solution)
    assert result.status == "optimal"
    assert result.start.accepted
    assert not start.objective.better_than(result.objective)


@given(
    st.lists(st.floats(0.01, 0.5), min_size=1, max_size=5),
    st.lists(st.floats(0, 1), min_size=1, max_size=3),
    st.booleans(),
)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_lumps_are_brute_force(shares: list[float], goals: list[float], whole: bool) -> None:
    """The search over lumps = enumeration; pouring, and a search cut short, are never above it."""
    from itertools import product

    lumps, target = np.array(sorted(shares, reverse=True)), np.array(goals)
    truth = np.inf
    for where in product(range(len(goals) + (not whole)), repeat=len(shares)):
        load = np.bincount(where, lumps, minlength=len(goals) + 1)[: len(goals)]
        truth = min(truth, float(((load - target) ** 2).sum()))
    assert least(lumps, target, whole, 10**6) == pytest.approx(truth, abs=1e-12)
    assert least(lumps, target, whole, 3) <= truth + 1e-12
    start, room = np.zeros(len(goals)), np.zeros(len(goals))
    assert poured(start, target, room, lumps.sum(), whole) <= truth + 1e-12


def test_pouring_by_hand() -> None:
    """A rest of 1 over gaps of 1 and 0.5 leaves 0.25 each; what may stay out does."""
    load, room, target = np.zeros(2), np.zeros(2), np.array([1.0, 0.5])
    assert poured(load, target, room, 1.0, True) == pytest.approx(2 * 0.25**2)
    assert poured(load, target, room, 9.0, True) == pytest.approx(2 * 3.75**2)
    assert poured(load, target, room, 9.0, False) == 0
