"""Levels are solved in turn, each with the earlier ones held, and stop truthfully."""

from __future__ import annotations

from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given, settings

import dlsched
from dlsched.errors import OptionError, SolverDisagreement
from dlsched.problems.reclaiming import model
from dlsched.problems.reclaiming.schema import Instance, Solution
from dlsched.result import Point, Status
from dlsched.run import Run
from dlsched.solvers.levels import relax_first_level, solve_levels
from dlsched.testing import oracles
from dlsched.testing.strategies import reclaiming


def ring(weight: Any = 1, demand: int = 2, servers: int = 4) -> Instance:
    """Return jobs that each sit on two neighbours in a ring of servers."""
    return Instance(
        name="ring",
        demand=demand,
        servers=[{"id": f"s{i}", "gpus": 8} for i in range(servers)],
        jobs=[
            {
                "id": f"j{i}",
                "weight": weight,
                "workers": [
                    {"server": f"s{i}", "gpus": 4},
                    {"server": f"s{(i + 1) % servers}", "gpus": 3},
                ],
            }
            for i in range(servers)
        ],
    )


def room(build: Any) -> Any:
    """Return a room's model module made of one function that builds a model."""
    return SimpleNamespace(build=lambda instance: build(), read=None, assign=None)


@settings(derandomize=True, deadline=None, max_examples=100)
@given(reclaiming())
def test_lexicographic(instance: Instance) -> None:
    """Both levels are optimal, the second among the optima of the first."""
    best = oracles.reclaiming(instance)
    if not instance.servers:
        return
    result = dlsched.solve(instance)
    assert result.status is Status.OPTIMAL and result.objective == best
    assert result.gap == (0, 0)


def test_hold_matters() -> None:
    """The second level alone would be better, were the first not held."""
    instance = Instance(
        name="t",
        demand=1,
        servers=[{"id": "a", "gpus": 8}, {"id": "b", "gpus": 8}, {"id": "c", "gpus": 8}],
        jobs=[
            {
                "id": "w",
                "weight": 1,
                "workers": [{"server": "a", "gpus": 1}, {"server": "c", "gpus": 5}],
            },
            {"id": "v", "weight": 3, "workers": [{"server": "b", "gpus": 1}]},
            {"id": "u", "weight": 3, "workers": [{"server": "c", "gpus": 1}]},
        ],
    )
    result = dlsched.solve(instance)
    assert result.objective == (1, 5)  # returning b would cost (3, 0)


def test_first_level_only() -> None:
    """With levels=1 the answer is feasible, not optimal, and says how many were asked for."""
    result = dlsched.solve(ring(), levels=1)
    assert result.status is Status.FEASIBLE
    assert result.reason == "only 1 of 2 levels asked for"
    assert result.gap[0] == 0 and result.bound[1] is None and result.gap[1] is None


@pytest.mark.parametrize("levels", [0, 3, -1])
def test_no_such_number_of_levels(levels: int) -> None:
    """A number of levels that there is not is refused."""
    with pytest.raises(OptionError, match="from 1 to 2"):
        dlsched.solve(ring(), levels=levels)


def test_gap_is_honoured_and_stated() -> None:
    """With gap=0.05 optimal means within 0.05, and the result states the gap achieved."""
    for seed in range(5):
        instance = dlsched.generate("reclaiming", seed=seed, servers=60, demand=20, spread=0.9)
        result = dlsched.solve(instance, gap=0.05)
        assert result.status is Status.OPTIMAL
        assert result.gap[0] is not None and result.gap[0] <= 0.05
        assert result.gap[1] is None or result.gap[1] <= 0.05


CONSTANT = {
    "no damage pairs": Instance(
        name="t",
        demand=1,
        servers=[{"id": "a", "gpus": 1}, {"id": "b", "gpus": 1}],
        jobs=[{"id": "x", "workers": [{"server": "a", "gpus": 1}]}],
    ),
    "no jobs": Instance(name="t", demand=1, servers=[{"id": "a", "gpus": 1}], jobs=[]),
    "no demand": ring(demand=0),
    "no weights": ring(weight=0),
    "everything returned": ring(demand=4),
}


@pytest.mark.parametrize("solver", ["highs", "scip"])
@pytest.mark.parametrize("case", CONSTANT)
def test_constant_levels(case: str, solver: str) -> None:
    """A level that is the same whatever one does is solved like any other."""
    if solver == "scip":
        pytest.importorskip("pyscipopt", reason="SCIP comes with PySCIPOpt")
    result = dlsched.solve(CONSTANT[case], solver=solver)
    assert result.status is Status.OPTIMAL
    assert result.objective == oracles.reclaiming(CONSTANT[case])


@pytest.mark.parametrize("exponent", [-12, -9, -7, -5, 3, 9])
def test_weights_of_any_size(exponent: int) -> None:
    """Weights far below or above a solver's tolerances are not lost in them."""
    jobs = [
        job.model_copy(update={"weight": dlsched.schema.exact(float(f"{i + 1}e{exponent}"))})
        for i, job in enumerate(ring().jobs)
    ]
    instance = ring().model_copy(update={"jobs": tuple(jobs)})
    result = dlsched.solve(instance)
    assert result.status is Status.OPTIMAL
    assert result.objective == oracles.reclaiming(instance)
    assert result.bound[0] is not None and result.bound[0].value == result.objective[0]  # type: ignore[index]


def contradiction(names: dict[str, tuple[int, int]]) -> Any:
    """Build a model of named rows ``low <= x + y <= high``, and one row that hurts nobody."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(domain=pyo.Binary), pyo.Var(domain=pyo.Binary)
    m.cost = pyo.Objective(expr=m.x)
    m.harmless = pyo.Constraint(expr=m.x <= m.y)
    for name, (low, high) in names.items():
        m.add_component(name, pyo.Constraint(expr=pyo.inequality(low, m.x + m.y, high)))
    return m


def test_infeasible_without_explanation() -> None:
    """A model that no solver can satisfy names an irreducible set of its constraints."""
    rows = {"floor": (2, 9), "ceiling": (-9, 0), "loose": (0, 2), "roof": (-9, 1)}
    claim = solve_levels(ring(), Run(), room(lambda: contradiction(rows)))
    assert claim.status is Status.INFEASIBLE and claim.solution is None
    named = claim.reason.removeprefix("these constraints contradict each other: ").split(", ")
    kept = {name.rstrip("_") for name in named}

    def feasible(some: Any) -> bool:
        return any(
            all(rows[r][0] <= x + y <= rows[r][1] for r in some)
            for x, y in [(0, 0), (0, 1), (1, 1)]
        )

    assert kept < rows.keys() and not feasible(kept)
    assert all(feasible(some) for some in combinations(kept, len(kept) - 1))


def test_infeasible_by_itself() -> None:
    """A constraint without variables that is false is named without any solver."""

    def build() -> Any:
        m = contradiction({})
        m.zero = pyo.Param(initialize=0, mutable=True)
        m.absurd = pyo.Constraint(expr=m.zero * m.x >= 1)
        return m

    claim = solve_levels(ring(), Run(), room(build))
    assert claim.status is Status.INFEASIBLE and "absurd" in claim.reason


def test_infeasible_by_bounds() -> None:
    """Bounds that contradict each other are blamed when no constraint is to blame."""

    def build() -> Any:
        m = contradiction({})
        m.z = pyo.Var(domain=pyo.Integers, bounds=(0.2, 0.8))
        m.use = pyo.Constraint(expr=m.z <= 3)
        return m

    claim = solve_levels(ring(), Run(), room(build))
    assert claim.status is Status.INFEASIBLE
    assert claim.reason == "the variables' bounds and domains alone have no solution"


def test_unbounded() -> None:
    """An unbounded model is called unbounded, whatever point the solver left behind."""

    def build() -> Any:
        m = pyo.ConcreteModel()
        m.x = pyo.Var(domain=pyo.NonNegativeIntegers)
        m.cost = pyo.Objective(expr=-m.x)
        m.row = pyo.Constraint(expr=m.x >= 2)
        return m

    toy = SimpleNamespace(build=lambda i: build(), read=lambda i, m: None, assign=lambda *_: None)
    claim = solve_levels(ring(), Run(), toy)
    assert claim.status is Status.UNBOUNDED and not claim.bounds[0]


def hard() -> Instance:
    """Return an instance that takes minutes: every job sits on 4 servers drawn at random."""
    rng = np.random.default_rng(0)
    jobs = [
        {
            "id": f"j{j}",
            "workers": [
                {"server": f"s{s}", "gpus": 1} for s in rng.choice(120, 4, replace=False).tolist()
            ],
        }
        for j in range(400)
    ]
    fleet = [{"id": f"s{s}", "gpus": 64} for s in range(120)]
    return Instance(name="hard", demand=40, servers=fleet, jobs=jobs)


def test_start_survives_a_limit() -> None:
    """A checked start is a solution: a limit that strikes at once returns it, not nothing."""
    instance = hard()
    start = dlsched.solve(instance, "lyra")
    result = dlsched.solve(instance, time_limit=1e-6, start=start)
    assert result.status is Status.FEASIBLE and result.objective == start.objective
    assert result.start is not None and not result.start.accepted
    assert result.start.reason == "time limit before the search began"


def test_bound_survives_a_limit() -> None:
    """A limit that strikes before the relaxation leaves the bound of the variables' own bounds."""
    result = dlsched.solve(hard(), time_limit=1e-6)
    assert result.status is Status.NO_SOLUTION and result.solution is None
    assert result.bound[0] is not None
    assert result.bound[0].value == 0 and result.bound[0].kind == "certified"


def test_incumbent_survives_an_interrupt() -> None:
    """An interrupted first level keeps its incumbent and a bound that does not exceed it."""
    instance, run = hard(), Run()

    def stop(point: Point) -> None:
        run.interrupted = run.interrupted or point.objective is not None

    run.on_progress = stop
    claim = solve_levels(instance, run, model)
    assert claim.status is Status.FEASIBLE and claim.reason.startswith("interrupted")
    assert claim.solution is not None and model_value(instance, claim.solution) >= max(
        bound.value for bound in claim.bounds[0]
    )


def model_value(instance: Instance, solution: Solution) -> Any:
    """Return what the checker finds for the first level."""
    objective = dlsched.verify(instance, solution).objective
    assert objective is not None
    return objective[0]


def test_start_against_an_infeasible_model() -> None:
    """A start that the checker accepts and a model that has no solution are a disagreement."""

    def build(instance: Instance) -> Any:
        m = model.build(instance)
        m.absurd = pyo.Constraint(expr=sum(m.x.values()) >= instance.demand + 1)
        return m

    instance = ring()
    broken = SimpleNamespace(build=build, read=model.read, assign=model.assign)
    run = Run(start=dlsched.solve(instance, "lyra").solution)
    with pytest.raises(SolverDisagreement, match="the checker accepts the start"):
        solve_levels(instance, run, broken)


def test_relaxation_only() -> None:
    """The bound method returns one certified bound of the first level, and no solution."""
    claim = relax_first_level(ring(), Run(), model)
    assert claim.status is Status.NO_SOLUTION
    assert [b.kind for b in claim.bounds[0]] == ["certified"]
    best = oracles.reclaiming(ring())
    assert best is not None and claim.bounds[0][0].value <= best[0]


@settings(derandomize=True, deadline=None, max_examples=60)
@given(reclaiming())
def test_bounds_hold_for_the_second_level(instance: Instance) -> None:
    """Every bound of every level, certified or claimed, is respected by the optimum."""
    best = oracles.reclaiming(instance)
    if best is None or not instance.servers:
        return
    claim = solve_levels(instance, Run(), model)
    for value, bounds in zip(best, claim.bounds, strict=True):
        assert bounds and all(bound.value <= value for bound in bounds)
