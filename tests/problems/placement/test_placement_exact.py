"""milp agrees with brute force, and the bounds are bounds."""

from __future__ import annotations

import numpy as np
import pytest
from dlsched.problems.placement.refine import Refinement
from hypothesis import given, settings
from hypothesis import strategies as st

import dlsched
from dlsched.problems.placement import Instance, refine
from dlsched.problems.placement.check import check
from dlsched.problems.placement.squares import least, poured
from dlsched.run import Run
from dlsched.testing import oracles, strategies


@given(strategies.placement())
@settings(max_examples=150, deadline=None, derandomize=True)
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
    assert result.certified.cost.value <= float(truth.cost)
    assert "no certificate" not in result.solver_message
    for method in ("storage", "lumps"):
        bound = dlsched.bound(instance, method)
        assert float(bound.cost.value) <= float(truth.cost)
        assert bound.cost.kind == "certified"


@given(strategies.placement(scales=True))
@settings(max_examples=120, deadline=None, derandomize=True)
def test_units_do_not_matter(instance: Instance) -> None:
    """With bytes, hours and weights from 1e-9 to 1e9 milp is brute force, relative to the cost.

    Each result has a certified bound from the relaxation's duals, and no bound is above the cost.
    """
    truth = oracles.placement(instance)
    result = dlsched.solve(instance)
    if truth is None:
        assert result.status == "infeasible"
        return
    assert result.status == "optimal"
    assert float(result.objective.cost) == pytest.approx(float(truth.cost), rel=1e-9, abs=0)
    assert "no certificate" not in result.solver_message
    assert result.certified.cost.value <= float(truth.cost)
    assert float(dlsched.bound(instance, "lumps").cost.value) <= float(truth.cost)


def test_the_duals_give_a_bound() -> None:
    """The search's bounds include one that exact arithmetic confirms, above that of whole jobs."""
    inst = dlsched.generate("placement", 1, tables=10, regions=3, jobs=14, largest=0.4)
    claim = Refinement(inst, Run()).search()
    known = {bound.method: bound for bound in claim.bounds[0]}
    dual = known["duals of the relaxation"]
    assert dual.kind == "certified"
    assert claim.solution is not None
    cost = check(inst, claim.solution).objective.cost
    assert known["whole tables and jobs"].value < dual.value <= cost


def test_a_missing_certificate_is_visible(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a bound from the duals the result says so, and why."""
    monkeypatch.setattr(refine, "dual_bound", lambda *_: None)
    result = dlsched.solve("mast-two-regions")
    assert "no certificate from the relaxation" in result.solver_message
    assert "bound nothing" in result.solver_message


def test_the_solver_cannot_undercut_the_cost() -> None:
    """Loads that differ by less than HiGHS's tolerances: its tree stays below; milp proves it.

    Such placements are excluded one by one; the status is never that of a search that ended
    without a proof.
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
    truth = oracles.placement(inst)
    result = dlsched.solve(inst)
    assert (result.status, result.reason) == ("optimal", "proved optimal")
    assert result.objective == truth


@pytest.mark.parametrize("method", ["exact", "hill_climbing", "annealing", "stay"])
def test_values_far_apart(method: str) -> None:
    """Hours, bytes and weights of 1e-300 beside 1e15 give an answer, not a traceback."""
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
    truth = oracles.placement(inst)
    assert truth is not None
    assert not result.objective.better_than(truth)
    if method == "exact":
        assert result.status == "optimal"


@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("seed", range(4))
def test_generated_instances_are_proven(version: str, seed: int) -> None:
    """Six tables in three regions: milp = brute force, annealing finds it with restarts."""
    inst = dlsched.generate(
        "placement", seed, tables=6, regions=3, jobs=10, version=version, largest=0.4
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
