"""Lexicographic optimization: levels, gaps, infeasible and unbounded models, limits, starts."""

from __future__ import annotations

from functools import partial
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import pyomo.environ as pyo
import pytest
from forms import hard_instance
from hypothesis import given, settings

import dlsched
from dlsched import OptionError, Run, SolverDisagreement
from dlsched.doctor import highs
from dlsched.problems.reclaiming import Instance, Solution, model
from dlsched.problems.reclaiming.definition.check import check
from dlsched.problems.workers.programs.arc_program import ArcProgram
from dlsched.results.objective import Bound
from dlsched.results.result import Point, Status, Termination
from dlsched.solvers.levels import relax_first_level, solve_levels
from dlsched.testing import oracles
from dlsched.testing.strategies import reclaiming
from drawing import draws


def fleet(demand: int, jobs: dict[str, list[tuple[str, int]]], weight: Any = 1) -> Instance:
    """Return servers a to d of 8 GPUs, and jobs with GPUs on some of them."""
    listed = [
        {"id": j, "weight": weight, "workers": [{"server": s, "gpus": g} for s, g in workers]}
        for j, workers in jobs.items()
    ]
    servers = [{"id": name, "gpus": 8} for name in "abcd"]
    return Instance(name="t", demand=demand, servers=servers, jobs=listed)


RING = {"ab": [("a", 4), ("b", 3)], "bc": [("b", 4), ("c", 3)]}
RING |= {"cd": [("c", 4), ("d", 3)], "da": [("d", 4), ("a", 3)]}
"""Jobs that each sit on two neighbours in a ring of servers."""
CONSTANT = {
    "no damage pairs": fleet(3, {"x": [("a", 1)]}),
    "no jobs": fleet(1, {}),
    "no demand": fleet(0, RING),
    "no weights": fleet(2, RING, weight=0),
    "everything returned": fleet(4, RING),
}


def module(build: Any) -> Any:
    """Return a ``model`` module that only builds a model, and reads no solution."""
    return SimpleNamespace(
        build=lambda instance: build(), read=lambda *_: None, assign=lambda *_: None
    )


@settings(derandomize=True, deadline=None, max_examples=draws(25))
@given(reclaiming())
def test_lexicographic(instance: Instance) -> None:
    """Both levels are optimal, the second among the optima of the first, and all bounds hold."""
    best = oracles.reclaiming(instance)
    if best is None or not instance.servers:
        return
    result = dlsched.solve(instance)
    assert result.status is Status.OPTIMAL and result.objective == best
    assert result.gap == (0, 0)
    claim = solve_levels(instance, Run(), model)
    for value, bounds in zip(best, claim.bounds, strict=True):
        assert bounds and all(bound.value <= value for bound in bounds)


def test_number_of_levels() -> None:
    """With levels=1 the result is feasible, not optimal, and says so; others are errors."""
    result = dlsched.solve(fleet(2, RING), levels=1)
    assert result.status is Status.FEASIBLE and result.termination is Termination.LEVELS_DONE
    assert result.reason == "only 1 of 2 levels asked for"
    assert result.gap[0] == 0 and result.bound[1] is None and result.gap[1] is None
    for levels in (0, 3, -1):
        with pytest.raises(OptionError, match="from 1 to 2"):
            dlsched.solve(fleet(2, RING), levels=levels)


def test_gap() -> None:
    """With gap=0.05 the gap of an optimal result is at most 0.05."""
    for seed in range(5):
        instance = dlsched.generate("reclaiming", seed=seed, servers=60, demand=20, spread=0.9)
        result = dlsched.solve(instance, gap=0.05)
        assert result.status is Status.OPTIMAL
        assert result.gap[0] is not None and result.gap[0] <= 0.05
        assert result.gap[1] is None or result.gap[1] <= 0.05


@pytest.mark.parametrize("solver", ["highs", "scip"])
@pytest.mark.parametrize("case", CONSTANT)
def test_constant_levels(case: str, solver: str) -> None:
    """A level with the same value for all solutions is solved like any other."""
    if solver == "scip":
        pytest.importorskip("pyscipopt", reason="SCIP comes with PySCIPOpt")
    result = dlsched.solve(CONSTANT[case], solver=solver, threads=1)
    assert result.status is Status.OPTIMAL
    assert result.objective == oracles.reclaiming(CONSTANT[case])


def contradiction(names: dict[str, tuple[int, int]]) -> Any:
    """Build a model of named rows ``low <= x + y <= high``, and one redundant row."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(domain=pyo.Binary), pyo.Var(domain=pyo.Binary)
    m.cost = pyo.Objective(expr=m.x)
    m.redundant = pyo.Constraint(expr=m.x <= m.y)
    for name, (low, high) in names.items():
        m.add_component(name, pyo.Constraint(expr=pyo.inequality(low, m.x + m.y, high)))
    return m


def test_infeasible() -> None:
    """The reason of an infeasible model names an irreducible set of its constraints."""
    rows = {"floor": (2, 9), "ceiling": (-9, 0), "loose": (0, 2), "roof": (-9, 1)}
    claim = solve_levels(fleet(2, RING), Run(), module(lambda: contradiction(rows)))
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


def test_infeasible_without_rows_that_contradict() -> None:
    """A violated constraint without variables is named; so is that bounds have no solution."""

    def absurd() -> Any:
        m = contradiction({})
        m.zero = pyo.Param(initialize=0, mutable=True)
        m.absurd = pyo.Constraint(expr=m.zero * m.x >= 1)
        return m

    def no_integer() -> Any:
        m = contradiction({})
        m.z = pyo.Var(domain=pyo.Integers, bounds=(0.2, 0.8))
        m.use = pyo.Constraint(expr=m.z <= 3)
        return m

    claim = solve_levels(fleet(2, RING), Run(), module(absurd))
    assert claim.status is Status.INFEASIBLE and "absurd" in claim.reason
    claim = solve_levels(fleet(2, RING), Run(), module(no_integer))
    assert claim.status is Status.INFEASIBLE
    assert claim.reason == "the variables' bounds and domains alone have no solution"


def test_unbounded() -> None:
    """An unbounded model has the status unbounded and no bound."""

    def build() -> Any:
        m = pyo.ConcreteModel()
        m.x = pyo.Var(domain=pyo.NonNegativeIntegers)
        m.cost = pyo.Objective(expr=-m.x)
        m.row = pyo.Constraint(expr=m.x >= 2)
        return m

    claim = solve_levels(fleet(2, RING), Run(), module(build))
    assert claim.status is Status.UNBOUNDED and not claim.bounds[0]


def test_attained_bound_needs_no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """A first solution whose levels are at the relaxations' bounds is optimal without a search."""
    instance = dlsched.generate("workers", 2, training=11, loan=13, jobs=24)
    first = dlsched.solve(instance).solution
    program = ArcProgram(instance)
    searched = solve_levels(instance, Run(), program)
    monkeypatch.setattr(highs, "solve", partial(relaxation_only, highs.solve))
    claim = solve_levels(instance, Run(), program, first=first)
    assert claim.status is Status.OPTIMAL and claim.objective == searched.objective
    assert tuple(claim.objective) == dlsched.verify(instance, claim.solution).objective
    assert [{bound.kind for bound in bounds} for bounds in claim.bounds] == [{"certified"}] * 4
    with pytest.raises(AssertionError, match="was solved"):
        solve_levels(instance, Run(), program)


def relaxation_only(solve: Any, *arguments: Any, relax: bool = False, **options: Any) -> Any:
    """Solve a relaxation, and refuse an integer program."""
    assert relax, "an integer program was solved"
    return solve(*arguments, relax=True, **options)


def test_first_solution_is_improved() -> None:
    """A first solution that is not optimal does not end a level, and is not reported as a start."""
    instance = dlsched.generate("workers", 2, training=22, loan=26, jobs=48)
    first = dlsched.solve(instance, "bfd")
    claim = solve_levels(instance, Run(), ArcProgram(instance), first=first.solution)
    best = dlsched.solve(instance, "milp").objective
    assert claim.status is Status.OPTIMAL and tuple(claim.objective) == best
    assert first.objective != best and claim.start is None


def test_start_and_bound_survive_a_limit() -> None:
    """If a limit is reached at once, there are the start and the bounds of the variables."""
    instance = hard_instance()
    start = dlsched.solve(instance, "lyra").solution
    claim = solve_levels(instance, Run(1e-6, start=start), model)
    assert claim.status is Status.FEASIBLE
    assert check(instance, claim.solution).objective == check(instance, start).objective
    assert claim.start is not None and not claim.start.accepted
    assert claim.start.reason == "time limit before the search began"
    claim = solve_levels(hard_instance(), Run(1e-6), model)
    assert claim.status is Status.NO_SOLUTION and claim.solution is None
    assert claim.bounds[0] == [Bound(0, "certified", "bounds of the variables")]


def test_incumbent_survives_an_interrupt() -> None:
    """After an interrupt in level 1, there are the incumbent and a bound not above it."""
    instance, run = hard_instance(), Run()

    def stop(point: Point) -> None:
        run.interrupted = run.interrupted or point.objective is not None

    run.on_progress = stop
    claim = solve_levels(instance, run, model)
    assert claim.status is Status.FEASIBLE and claim.termination is Termination.INTERRUPTED
    assert claim.reason == "interrupted at level 1 of 2"
    assert claim.solution is not None and model_value(instance, claim.solution) >= max(
        bound.value for bound in claim.bounds[0]
    )


def model_value(instance: Instance, solution: Solution) -> Any:
    """Return what the checker finds for the first level."""
    objective = dlsched.verify(instance, solution).objective
    assert objective is not None
    return objective[0]


def test_start_against_an_infeasible_model() -> None:
    """A feasible start of an infeasible model raises `SolverDisagreement`."""

    def build(instance: Instance) -> Any:
        m = model.build(instance)
        m.absurd = pyo.Constraint(expr=sum(m.x.values()) >= instance.demand + 1)
        return m

    instance = fleet(2, RING)
    broken = SimpleNamespace(build=build, read=model.read, assign=model.assign)
    run = Run(start=dlsched.solve(instance, "lyra").solution)
    with pytest.raises(SolverDisagreement, match="the checker accepts the start"):
        solve_levels(instance, run, broken)


def test_relaxation_only() -> None:
    """The relaxation gives one certified bound of level 1, and no solution."""
    claim = relax_first_level(fleet(2, RING), Run(), model)
    assert claim.status is Status.NO_SOLUTION
    assert [b.kind for b in claim.bounds[0]] == ["certified"]
    best = oracles.reclaiming(fleet(2, RING))
    assert best is not None and claim.bounds[0][0].value <= best[0]
