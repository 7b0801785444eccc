"""The model, the integer program and its bounds."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import pyomo.environ as pyo
import pytest
from hypothesis import strategies as st
from reclaiming_instances import hand

import dlsched
from dlsched.problems.reclaiming import Instance, Solution, model
from dlsched.problems.reclaiming.definition.check import check, evaluate
from dlsched.testing import oracles
from dlsched.testing.strategies import reclaiming
from drawing import drawn

HAND: dict[str, tuple[dict[str, Any], str, tuple[float, int]]] = {
    "a server with flexible workers only is free":
        (hand(1, {"a": "1:8 2:8f", "b": "3", "c": "4"}), "2", (0, 0)),
    "one heavy job costs more than two light ones":
        (hand(1, {"a": "1 2", "b": "3 4", "c": "3", "d": "4:3"}, a=2.5, d=0.25), "4", (1.25, 1)),
    "the level below decides: collateral":
        (hand(1, {"a": "1 2:6", "b": "3:2 4:3f", "c": "4 1:7f"}), "2", (1, 1)),
    "nothing to return": (hand(0, {"a": "1:8"}), "", (0, 0)),
    "everything to return": (hand(4, {"a": "1:8", "b": "2:2f"}, a=1.5, b=2), "1234", (1.5, 0)),
}  # fmt: skip


@pytest.mark.parametrize("name", HAND)
def test_worked_by_hand(name: str) -> None:
    """Flexible workers, weights and collateral, each where it decides."""
    instance, returned, objective = HAND[name]
    result = dlsched.solve(instance)
    assert result.status == "optimal"
    assert set(result.solution.returned) == {f"s{digit}" for digit in returned}
    assert tuple(result.objective) == objective


@drawn(50, reclaiming())
def test_brute_force_agrees(instance: Instance) -> None:
    """Brute force and milp agree in every digit, and the bound `lp` is certified."""
    result = dlsched.solve(instance, "milp")
    assert (result.objective, tuple(result.gap)) == (oracles.reclaiming(instance), (0, 0))
    assert dlsched.bound(instance).preempted.kind == "certified"


@drawn(50, reclaiming(mixed=True), quick=6)
def test_weights_far_apart(instance: Instance) -> None:
    """Weights from 1e-9 to 3e9: milp is within the gap that it states, and no rule is better."""
    best = oracles.reclaiming(instance)
    assert best is not None
    model = dlsched.solve(instance, "milp")
    assert model.status == "optimal"
    assert model.bound.preempted.value <= best.preempted <= model.objective.preempted
    assert model.gap.preempted < 1e-8
    for name in ("lyra", "gpu_fraction", "scf", "densest", "random"):
        assert not dlsched.solve(instance, name).objective.better_than(best)


@pytest.mark.parametrize("unit", ["1e-12", "1e-9", "1e9"])
@pytest.mark.parametrize("digits", [2, 14])
def test_the_unit_of_the_weights_does_not_matter(unit: str, digits: int) -> None:
    """The optimum scales with the unit of the weights, and is proved to the precision stated."""
    for seed in range(3):
        rng = random.Random(seed)
        made = dlsched.generate("reclaiming", seed, servers=12, demand=4, spread=0.6).to_data()
        weights = [Fraction(f"{rng.uniform(1, 9):.{digits}g}") for _ in made["jobs"]]
        worth = []
        for factor in (Fraction(1), Fraction(unit)):
            for job, weight in zip(made["jobs"], weights, strict=True):
                job["weight"] = weight * factor
            instance = Instance.parse(made, "test")
            best = dlsched.solve(instance)
            assert best.objective == oracles.reclaiming(instance)
            assert max(g or 0 for g in best.gap) < 1e-8
            worth.append((best.objective[0] / factor, best.objective[1]))
        assert worth[0] == worth[1]


def test_a_job_that_cannot_be_preempted_sets_no_scale() -> None:
    """Weights of 1e10 without base workers do not hide one of 0.04 from the solver."""
    jobs = {"j0": "", "j1": "3f", "j2": "2 3f 1", "j3": "3", "j4": "4"}
    instance = hand(1, jobs, j0=12250000000, j1=12250, j2=0, j3=0.04)
    result = dlsched.solve(instance, "milp")
    assert result.status == "optimal"
    assert (tuple(result.objective), tuple(result.gap)) == ((0, 2), (0, 0))


def test_a_start_may_preempt_the_heaviest_job() -> None:
    """A start worse than the solution of `densest` is accepted, and the optimum is found."""
    made = dlsched.generate("reclaiming", 4, servers=30, demand=9).to_data()
    for j, job in enumerate(made["jobs"]):
        job["weight"] = 1000 if j == 0 else 1 + j % 7
    heavy = {worker["server"] for worker in made["jobs"][0]["workers"]}
    names = sorted((s["id"] for s in made["servers"]), key=lambda name: name not in heavy)
    start = {"dlsched": 1, "problem": "reclaiming", "instance": made["name"]}
    result = dlsched.solve(made, "milp", start=start | {"returned": names[:9]})
    assert result.start is not None
    assert result.start.accepted, result.start.reason
    assert result.objective == dlsched.solve(made).objective


@pytest.mark.parametrize("flexible", [0.0, 0.5])
def test_generated_instances_are_proved(flexible: float) -> None:
    """At 60 servers, beyond brute force, the optimum is proved and the bound is below."""
    for seed, demand in ((0, 6), (1, 15), (2, 30)):
        instance = dlsched.generate(
            "reclaiming", seed, servers=60, demand=demand, flexible=flexible
        )
        best = dlsched.solve(instance)
        assert (best.status, tuple(best.gap)) == ("optimal", (0, 0))
        bound = dlsched.bound(instance)
        assert (bound.preempted.kind, bound.collateral) == ("certified", None)
        assert Fraction(bound.preempted.value).denominator == 1
        assert bound.preempted.value <= best.objective.preempted


def test_the_relaxation_is_rounded_up() -> None:
    """Figure 5: the relaxation's fraction of a job becomes one job; no solution is returned."""
    result = dlsched.solve("lyra-fig5", "lp")
    assert (result.status, result.termination) == ("no solution", "bound_only")
    assert result.solution is None
    assert result.bound.preempted.value == 1


def test_what_is_stated_after_a_time_limit_holds() -> None:
    """Stopped early, a method has a bound below the optimum, and no better objective."""
    instance = dlsched.generate("reclaiming", 3, servers=300, demand=75)
    best = dlsched.solve(instance).objective
    result = dlsched.solve(instance, time_limit=0.05)
    assert result.status != "infeasible"
    if result.bound[0] is not None:
        assert result.bound[0].value <= best[0]
    if result.objective is not None:
        assert not result.objective.better_than(best)


@drawn(30, reclaiming(), st.data())
def test_an_assigned_solution_has_its_objective(instance: Instance, data: st.DataObject) -> None:
    """Any choice of servers satisfies every constraint and has the checker's objective."""
    ids = [s.id for s in instance.servers]
    returned = tuple(data.draw(st.permutations(ids))[: instance.demand])
    solution = Solution(instance=instance.name, returned=returned)
    assert check(instance, solution)
    m = model.build(instance)
    model.assign(instance, m, solution)
    for row in m.component_data_objects(pyo.Constraint):
        low = row.lower is None or pyo.value(row.body) >= pyo.value(row.lower)
        high = row.upper is None or pyo.value(row.body) <= pyo.value(row.upper)
        assert low and high, row.name
    worth = evaluate(instance, {instance.server_index[s] for s in returned})
    # The sum is in doubles: an ulp for each of up to six weights.
    assert math.isclose(pyo.value(m.preempted), worth.preempted, rel_tol=2e-15)
    assert pyo.value(m.collateral) == worth.collateral
    assert set(model.read(instance, m).returned) == set(returned)


def test_the_granularity_is_that_of_the_weights() -> None:
    """Values of level 1 are multiples of the weights' greatest common divisor."""
    m = dlsched.model(hand(1, {"a": "1", "b": "1"}, a=1.5, b=2.25))
    assert m.GRANULARITY == {"preempted": 0.75, "collateral": 0}


def test_damage_only_where_there_can_be_any() -> None:
    """A job on one server, or without base workers, has no collateral variable."""
    m = dlsched.model("lyra-fig5")
    assert set(m.DAMAGE) == {("a", "1"), ("a", "2"), ("c", "4"), ("c", "5"), ("d", "5"), ("d", "6")}
