"""milp agrees with brute force, and no bound exceeds the optimum."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dlsched
from dlsched.problems.placement import Instance, exact
from dlsched.problems.placement.definition.check import check
from dlsched.problems.placement.exact import Refinement
from dlsched.problems.placement.programs.least_squares_bound import min_squares, relaxed_squares
from dlsched.run import Run
from dlsched.testing import oracles, strategies


@given(st.one_of(strategies.placement(), strategies.placement(scales=True)))
@settings(max_examples=30, deadline=None, derandomize=True)
def test_milp_is_brute_force_with_a_certificate(instance: Instance) -> None:
    """In any units, milp = full enumeration, and each proof has a certified bound from duals."""
    optimum = oracles.placement(instance)
    result = dlsched.solve(instance)
    if optimum is None:
        assert result.status == "infeasible"
        return
    assert (result.status, result.termination) == ("optimal", "proved")
    assert float(result.objective.cost) == pytest.approx(float(optimum.cost), rel=1e-9, abs=0)
    assert "no certificate" not in result.solver_message
    assert result.certified.cost.value <= optimum.cost
    bound = dlsched.bound(instance)
    assert bound.cost.kind == "certified"
    assert bound.cost.value <= optimum.cost


def test_the_duals_give_a_bound() -> None:
    """One bound is from duals in exact arithmetic, above that of indivisible tables and jobs."""
    inst = dlsched.generate("placement", 1, tables=10, regions=3, jobs=14, largest=0.4)
    claim = Refinement(inst, Run()).search()
    known = {bound.method: bound for bound in claim.bounds[0]}
    dual = known["duals of the relaxation"]
    assert dual.kind == "certified"
    assert claim.solution is not None
    cost = check(inst, claim.solution).objective.cost
    assert known["whole tables and jobs"].value < dual.value <= cost


def test_a_missing_certificate_is_visible(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a bound from the duals, the solver message states the reason."""
    monkeypatch.setattr(exact, "dual_bound", lambda *_: None)
    result = dlsched.solve("mast-two-regions")
    assert "no certificate from the relaxation" in result.solver_message
    assert "bound nothing" in result.solver_message


def test_the_solver_cannot_undercut_the_cost() -> None:
    """With loads that differ by less than HiGHS's tolerances, milp proves the optimum.

    HiGHS's bound is below the cost of such placements, so they are excluded one by one.
    """
    jobs = [
        {"id": f"j{i}", "kind": "ml", "tables": [f"t{i}"], "gpu_hours": {"A": hours}}
        for i, hours in enumerate((10**9, 10**9 + 1, 10**9 + 3, 5 * 10**8, 5 * 10**8 + 1))
    ]
    regions = [
        {"id": r, "storage_capacity": 100, "gpu_supply": {"A": supply}}
        for r, supply in (("r", 2 * 10**9), ("s", 2 * 10**9 + 1))
    ]
    inst = Instance(
        name="close",
        weights={"traffic": 0, "storage": 0},
        overload_slope=10**9,
        regions=regions,
        tables=[{"id": f"t{i}", "size": 1} for i in range(5)],
        jobs=jobs,
    )
    optimum = oracles.placement(inst)
    result = dlsched.solve(inst)
    assert (result.status, result.termination) == ("optimal", "proved")
    assert result.objective == optimum


@pytest.mark.parametrize("method", ["exact", "hill_climbing", "annealing", "no_moves"])
def test_values_far_apart(method: str) -> None:
    """Hours, bytes and weights of 1e-300 beside 1e15 give a result, not an exception."""
    far = {
        "name": "far",
        "weights": {"traffic": 1e-300, "gpu": 1e15, "storage": 1},
        "overload_slope": 1e15,
        "regions": [
            {"id": "r", "storage_capacity": 1e15, "gpu_supply": {"A": 1e-300}},
            {"id": "s", "storage_capacity": 1e15, "cpu_quota": {"x": 1e-300}},
        ],
        "tables": [{"id": "t", "size": 1e-300, "home": "r"}, {"id": "u", "size": 1e14}],
        "jobs": [
            {"id": "j", "kind": "ml", "tables": ["t"], "gpu_hours": {"A": 1e15}},
            {"id": "k", "kind": "spark", "tables": ["u", "t"], "gpu_hours": {"A": 1e-300},
             "cpu_hours": 1e-300, "app": "x", "priority": 2},
        ],
    }  # fmt: skip
    inst = Instance(**far)
    result = dlsched.solve(inst, method)
    optimum = oracles.placement(inst)
    assert optimum is not None
    assert not result.objective.better_than(optimum)
    if method == "exact":
        assert result.status == "optimal"


@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("seed", range(2))
def test_generated_instances_are_proven(version: str, seed: int) -> None:
    """Five tables in three regions: milp = brute force, annealing finds it with restarts."""
    inst = dlsched.generate(
        "placement", seed, tables=5, regions=3, jobs=10, version=version, largest=0.4
    )
    optimum = oracles.placement(inst)
    assert optimum is not None
    result = dlsched.solve(inst)
    assert result.status == "optimal"
    assert float(result.objective.cost) == pytest.approx(float(optimum.cost), abs=1e-9)
    annealed = dlsched.solve(inst, "annealing", moves=5_000, restarts=2)
    assert float(annealed.objective.cost) == pytest.approx(float(optimum.cost), abs=1e-9)


def test_a_limit_keeps_the_placement_and_the_bound() -> None:
    """Stopped early, milp returns a placement, a bound not above its cost, and the termination."""
    inst = dlsched.generate("placement", 1, tables=40, regions=5, jobs=60)
    result = dlsched.solve(inst, time_limit=2)
    assert (result.status, result.termination) == ("feasible", "time_limit")
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
)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_branch_and_bound_is_brute_force(shares: list[float], goals: list[float]) -> None:
    """The search = enumeration; the relaxation, and a search cut short, are never above it."""
    items, target = np.array(sorted(shares, reverse=True)), np.array(goals)
    optimum = np.inf
    for regions in product(range(len(goals)), repeat=len(shares)):
        load = np.bincount(regions, items, minlength=len(goals))
        optimum = min(optimum, float(((load - target) ** 2).sum()))
    assert min_squares(items, target, 10**6) == pytest.approx(optimum, abs=1e-12)
    assert min_squares(items, target, 3) <= optimum + 1e-12
    load, scratch = np.zeros((2, len(goals)))
    assert relaxed_squares(load, target, scratch, items.sum()) <= optimum + 1e-12


def test_the_relaxation_by_hand() -> None:
    """A rest of 1 over gaps of 1 and 0.5 leaves 0.25 each, 9 leaves 3.75."""
    load, scratch, target = np.zeros(2), np.zeros(2), np.array([1.0, 0.5])
    assert relaxed_squares(load, target, scratch, 1.0) == pytest.approx(2 * 0.25**2)
    assert relaxed_squares(load, target, scratch, 9.0) == pytest.approx(2 * 3.75**2)
