"""Brute force and the integer program agree; bounds and limits."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings

import dlsched
from dlsched.problems.reclaiming import frontier
from dlsched.problems.reclaiming.definition.schema import Instance
from dlsched.testing import check_problem, oracles
from dlsched.testing.strategies import reclaiming

SOME = settings(max_examples=50, derandomize=True, deadline=None)


def hand(demand: int, **jobs: list[tuple[str, int, bool]] | tuple[Any, ...]) -> dict[str, Any]:
    """Return an instance on servers s1 to s4; a job is (weight, worker, ...)."""
    rows = [
        {
            "id": name,
            "weight": weight,
            "workers": [{"server": s, "gpus": g, "flexible": f} for s, g, f in workers],
        }
        for name, (weight, *workers) in jobs.items()
    ]
    servers = [{"id": f"s{i}", "gpus": 8} for i in range(1, 5)]
    head = {"dlsched": 1, "problem": "reclaiming", "name": "hand", "demand": demand}
    return head | {"servers": servers, "jobs": rows}


HAND: dict[str, tuple[dict[str, Any], set[str], tuple[float, int]]] = {
    "a server with flexible workers only is free": (
        hand(
            1,
            a=(1, ("s1", 8, False), ("s2", 8, True)),
            b=(1, ("s3", 1, False)),
            c=(1, ("s4", 1, False)),
        ),
        {"s2"},
        (0, 0),
    ),
    "one heavy job costs more than two light ones": (
        hand(
            1,
            a=(2.5, ("s1", 1, False), ("s2", 1, False)),
            b=(1, ("s3", 1, False), ("s4", 1, False)),
            c=(1, ("s3", 1, False)),
            d=(0.25, ("s4", 3, False)),
        ),
        {"s4"},
        (1.25, 1),
    ),
    "the level below decides: collateral": (
        hand(
            1,
            a=(1, ("s1", 1, False), ("s2", 6, False)),
            b=(1, ("s3", 2, False), ("s4", 3, True)),
            c=(1, ("s4", 1, False), ("s1", 7, True)),
        ),
        {"s2"},
        (1, 1),
    ),
    "nothing to return": (hand(0, a=(1, ("s1", 8, False))), set(), (0, 0)),
    "everything to return": (
        hand(4, a=(1.5, ("s1", 8, False)), b=(2, ("s2", 2, True))),
        {"s1", "s2", "s3", "s4"},
        (1.5, 0),
    ),
}


@pytest.mark.parametrize("name", HAND)
def test_worked_by_hand(name: str) -> None:
    """Flexible workers, weights and collateral, each where it decides."""
    instance, returned, objective = HAND[name]
    result = dlsched.solve(instance)
    assert result.status == "optimal"
    assert set(result.solution.returned) == returned
    assert tuple(result.objective) == objective


@SOME
@given(reclaiming())
def test_brute_force_agrees(instance: Instance) -> None:
    """Brute force and milp agree in every digit, and the bound `lp` is certified."""
    result = dlsched.solve(instance, "milp")
    assert (result.objective, tuple(result.gap)) == (oracles.reclaiming(instance), (0, 0))
    assert dlsched.bound(instance).preempted.kind == "certified"


@pytest.mark.slow
def test_many_instances_conform() -> None:
    """The comparisons with brute force hold on 300 instances each."""
    checks = ("exact", "heuristics", "bounds", "renaming", "order")
    check_problem("reclaiming", checks=checks, examples=300).raise_if_any()


@SOME
@given(reclaiming(mixed=True))
def test_weights_far_apart(instance: Instance) -> None:
    """Weights from 1e-9 to 3e9: milp is within the gap that it states."""
    best = oracles.reclaiming(instance)
    assert best is not None
    model = dlsched.solve(instance, "milp")
    assert model.status == "optimal"
    assert model.bound.preempted.value <= best.preempted <= model.objective.preempted
    assert model.gap.preempted < 1e-8
    for name in ("lyra", "gpu_fraction", "scf", "scf_updated", "densest", "random"):
        assert not dlsched.solve(instance, name).objective.better_than(best)
    table = frontier(instance)
    row = table.loc[instance.demand]
    assert row.bound <= best.preempted <= row.preempted <= row.bound * (1 + Fraction(1, 10**8))


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
    instance = hand(
        1,
        j0=(12250000000,),
        j1=(12250, ("s3", 1, True)),
        j2=(0, ("s2", 2, False), ("s3", 1, True), ("s1", 1, False)),
        j3=(0.04, ("s3", 1, False)),
        j4=(1, ("s4", 1, False)),
    )
    result = dlsched.solve(instance, "milp")
    assert (result.status, tuple(result.objective), tuple(result.gap)) == (
        "optimal",
        (0, 2),
        (0, 0),
    )


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
    assert (result.status, result.termination, result.solution) == (
        "no solution",
        "bound_only",
        None,
    )
    assert result.bound.preempted.value == 1


def test_one_level_is_feasible_only() -> None:
    """Stopping after level 1 proves it and claims nothing of level 2."""
    instance = dlsched.generate("reclaiming", 1, servers=40)
    result = dlsched.solve(instance, levels=1)
    assert result.status == "feasible"
    assert result.gap[0] == 0
    assert result.bound[1] is None
    assert result.objective[0] == dlsched.solve(instance).objective[0]


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
