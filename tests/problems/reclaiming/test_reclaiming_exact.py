"""Brute force, integer program and decomposition agree; bounds and limits."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings

import dlsched
from dlsched.problems.reclaiming import exact, frontier
from dlsched.problems.reclaiming.definition.schema import Instance
from dlsched.problems.reclaiming.programs import components
from dlsched.run import Run
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


@pytest.mark.parametrize("method", ["milp", "components"])
@pytest.mark.parametrize("name", HAND)
def test_worked_by_hand(name: str, method: str) -> None:
    """Flexible workers, weights and collateral, each where it decides."""
    instance, returned, objective = HAND[name]
    result = dlsched.solve(instance, method)
    assert result.status == "optimal"
    assert set(result.solution.returned) == returned
    assert tuple(result.objective) == objective


@SOME
@given(reclaiming())
def test_all_exact_methods_agree(instance: Instance) -> None:
    """Brute force, milp and components agree in every digit, and the bound `lp` is certified."""
    best = oracles.reclaiming(instance)
    for name in ("milp", "components"):
        result = dlsched.solve(instance, name)
        assert (result.objective, tuple(result.gap)) == (best, (0, 0))
    assert dlsched.bound(instance).preempted.kind == "certified"


@pytest.mark.slow
def test_many_instances_conform() -> None:
    """The comparisons with brute force hold on 300 instances each."""
    checks = ("exact", "heuristics", "bounds", "renaming", "order")
    check_problem("reclaiming", checks=checks, examples=300).raise_if_any()


@SOME
@given(reclaiming(mixed=True))
def test_weights_far_apart(instance: Instance) -> None:
    """Weights from 1e-9 to 3e9: the default is exact, milp within the gap that it states."""
    best = oracles.reclaiming(instance)
    assert best is not None
    for name in ("exact", "components"):
        result = dlsched.solve(instance, name)
        assert (result.status, result.objective, tuple(result.gap)) == ("optimal", best, (0, 0))
    model = dlsched.solve(instance, "milp")
    assert model.status == "optimal"
    assert model.bound.preempted.value <= best.preempted <= model.objective.preempted
    assert model.gap.preempted < 1e-8
    for name in ("lyra", "gpu_fraction", "scf", "scf_updated", "densest", "random"):
        assert not dlsched.solve(instance, name).objective.better_than(best)
    table = frontier(instance)
    assert (table.preempted[instance.demand], table.proven.all()) == (best.preempted, True)


@pytest.mark.parametrize("unit", ["1e-12", "1e-9", "1e9"])
@pytest.mark.parametrize("digits", [2, 14])
def test_the_unit_of_the_weights_does_not_matter(unit: str, digits: int) -> None:
    """The optimum scales with the unit of the weights, and every method proves it."""
    for seed in range(3):
        rng = random.Random(seed)
        made = dlsched.generate("reclaiming", seed, servers=12, demand=4, spread=0.6).to_data()
        weights = [Fraction(f"{rng.uniform(1, 9):.{digits}g}") for _ in made["jobs"]]
        worth = []
        for factor in (Fraction(1), Fraction(unit)):
            for job, weight in zip(made["jobs"], weights, strict=True):
                job["weight"] = weight * factor
            instance = Instance.parse(made, "test")
            exact = dlsched.solve(instance)
            assert exact.objective == dlsched.solve(instance, "components").objective
            model = dlsched.solve(instance, "milp")
            assert model.bound.preempted.value <= exact.objective[0] <= model.objective[0]
            assert max(g or 0 for g in model.gap) < 1e-8
            worth.append((exact.objective[0] / factor, exact.objective[1]))
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
    assert result.objective == dlsched.solve(made, "components").objective


@SOME
@given(reclaiming(max_servers=7, max_jobs=8))
def test_large_components_agree_too(instance: Instance) -> None:
    """Without enumeration, the tables of the integer program give the same optimum."""
    small = exact.SMALL
    exact.SMALL = 1
    try:
        result = dlsched.solve(instance, "components")
    finally:
        exact.SMALL = small
    assert result.status == "optimal"
    assert result.objective == oracles.reclaiming(instance)


@pytest.mark.parametrize("flexible", [0.0, 0.5])
def test_generated_instances_agree(flexible: float) -> None:
    """At 60 servers, beyond brute force, the exact methods agree and the bound is below."""
    for seed, demand in ((0, 6), (1, 15), (2, 30)):
        instance = dlsched.generate(
            "reclaiming", seed, servers=60, demand=demand, flexible=flexible
        )
        results = [dlsched.solve(instance, m) for m in ("milp", "components")]
        assert [r.status for r in results] == ["optimal", "optimal"]
        assert results[0].objective == results[1].objective
        bound = dlsched.bound(instance)
        assert (bound.preempted.kind, bound.collateral) == ("certified", None)
        assert Fraction(bound.preempted.value).denominator == 1
        assert bound.preempted.value <= results[0].objective.preempted


def test_the_relaxation_is_rounded_up() -> None:
    """Figure 5: the relaxation's fraction of a job becomes one job; no solution is returned."""
    result = dlsched.solve("lyra-fig5", "lp")
    assert (result.status, result.termination, result.solution) == (
        "no solution",
        "bound_only",
        None,
    )
    assert result.bound.preempted.value == 1


def test_huge_weights_stay_exact() -> None:
    """Weights whose sums are beyond 64 bits are compared exactly."""
    values = [Fraction(f"999999999999.{d}") for d in ("003", "002", "001", "004")]
    values.append(Fraction("0.000000000001"))
    rows = [(v, (f"s{i % 4 + 1}", 1, False)) for i, v in enumerate(values)]
    instance = Instance.parse(hand(1, **{f"j{i}": row for i, row in enumerate(rows)}), "test")
    weights = [Fraction(job.weight) for job in instance.jobs]
    units = components.Units(instance, collateral=True)
    assert units.dtype is object
    assert [units.decode(units.encode(w, 3)) for w in weights] == [(w, 3) for w in weights]
    claim = exact.components(instance, Run())
    assert claim.solution.returned == ("s3",)


def test_one_level_is_feasible_only() -> None:
    """Stopping after level 1 proves it and claims nothing of level 2."""
    instance = dlsched.generate("reclaiming", 1, servers=40)
    result = dlsched.solve(instance, levels=1)
    assert result.status == "feasible"
    assert result.gap[0] == 0
    assert result.bound[1] is None
    assert result.objective[0] == dlsched.solve(instance).objective[0]


@pytest.mark.parametrize("method", ["milp", "components"])
def test_what_is_stated_after_a_time_limit_holds(method: str) -> None:
    """Stopped early, a method has a bound below the optimum, and no better objective."""
    instance = dlsched.generate("reclaiming", 3, servers=300, demand=75)
    best = dlsched.solve(instance).objective
    result = dlsched.solve(instance, method, time_limit=0.05)
    assert result.status != "infeasible"
    if result.bound[0] is not None:
        assert result.bound[0].value <= best[0]
    if result.objective is not None:
        assert not result.objective.better_than(best)


def test_an_interrupt_stops_the_parts() -> None:
    """An interrupt reaches the solver of a component, and Lyra's solution is returned."""
    instance = dlsched.generate("reclaiming", 2, servers=200, demand=40)
    run = Run()
    run.interrupted = True
    claim = exact.components(instance, run)
    assert (claim.status, claim.termination) == ("feasible", "interrupted")
    assert claim.solution.returned == dlsched.solve(instance, "lyra").solution.returned
    part = run.nested()
    part.interrupted = False
    assert part.stop_reason() == "interrupted"
