"""Lexicographic optimization: infeasible and unbounded levels, tolerances, starts."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import pyomo.environ as pyo
import pytest

import dlsched
from dlsched import ByLevel, Report, Run, SolverDisagreement, Status, Termination, Violation
from dlsched.problems.reclaiming import PROBLEM, Instance
from dlsched.results.objective import Level
from dlsched.solvers.levels import solve_levels

model = PROBLEM.module("model")
NAMED: Any = SimpleNamespace(name="two")


def module(build: Any) -> Any:
    """Return a ``model`` module that only builds a model, and reads no solution."""
    return SimpleNamespace(
        build=lambda instance: build(), read=lambda *_: None, assign=lambda *_: None
    )


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
    claim = solve_levels(NAMED, Run(), module(lambda: contradiction(rows)))
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


def test_no_rows_are_to_blame() -> None:
    """An unbounded model has this status and no bound; bounds alone may have no solution."""

    def build(**options: Any) -> Any:
        m = pyo.ConcreteModel()
        m.x = pyo.Var(domain=pyo.NonNegativeIntegers, **options)
        m.cost = pyo.Objective(expr=-m.x)
        m.row = pyo.Constraint(expr=m.x >= 0)
        return m

    claim = solve_levels(NAMED, Run(), module(build))
    assert claim.status is Status.UNBOUNDED and not claim.bounds[0]
    claim = solve_levels(NAMED, Run(), module(lambda: build(bounds=(0.2, 0.8))))
    assert claim.status is Status.INFEASIBLE
    assert claim.reason == "the variables' bounds and domains alone have no solution"


def test_start_against_an_infeasible_model() -> None:
    """A feasible start of an infeasible model raises `SolverDisagreement`."""

    def build(instance: Instance) -> Any:
        m = model.build(instance)
        m.absurd = pyo.Constraint(expr=sum(m.x.values()) >= instance.demand + 1)
        return m

    instance = dlsched.load("lyra-fig5")
    broken = SimpleNamespace(build=build, read=model.read, assign=model.assign)
    run = Run(start=dlsched.solve(instance, "lyra").solution)
    with pytest.raises(SolverDisagreement, match="the checker accepts the start"):
        solve_levels(instance, run, broken)


def two(coefficient: float) -> Any:
    """Return a module whose solutions are the values of two binary variables."""

    def build(instance: Any) -> Any:
        m = pyo.ConcreteModel()
        m.x = pyo.Var([0, 1], domain=pyo.Binary)
        m.value = pyo.Objective(expr=m.x[0] + 2 * m.x[1], sense=pyo.maximize)
        m.row = pyo.Constraint(expr=coefficient * (2 * m.x[0] + 2 * m.x[1]) <= 3 * coefficient)
        return m

    def read(instance: Any, m: Any) -> Any:
        return tuple(round(m.x[j].value) for j in (0, 1))

    def assign(instance: Any, m: Any, solution: Any) -> None:
        for j in (0, 1):
            m.x[j].set_value(solution[j])

    return SimpleNamespace(build=build, read=read, assign=assign)


def test_no_optimum_is_stated_of_rows_beyond_precision() -> None:
    """The point is returned, with the row's name; a bound of the solver is not."""
    claim = solve_levels(NAMED, Run(), two(3e12))
    assert claim.status is Status.FEASIBLE and claim.termination is Termination.TOLERANCES
    assert "precision" in claim.reason and claim.reason.endswith(": constraint row")
    assert all(bound.kind != "claimed" for level in claim.bounds for bound in level)
    assert solve_levels(NAMED, Run(), two(3.0)).status is Status.OPTIMAL


def refuse_the_second(instance: Any, solution: Any) -> Report:
    """Return a report in which the second variable must be 0."""
    violations = (Violation("second", "x[1]", "is over by a hair"),) if solution[1] else ()
    value = (Level("value", "max", "things"),)
    return Report(violations, ByLevel(value, [solution[0] + 2 * solution[1]]), {})


def test_a_refused_point_is_rejected() -> None:
    """Nothing is returned for it but what the search began from, and the reason says why."""
    run = replace(Run(), check=refuse_the_second)
    claim = solve_levels(NAMED, run, two(1.0))
    assert claim.status is Status.NO_SOLUTION and claim.solution is None
    assert claim.termination is Termination.TOLERANCES and "x[1]: is over by a hair" in claim.reason
    again = solve_levels(NAMED, run, two(1.0), first=(1, 0))  # type: ignore[arg-type]
    assert again.status is Status.FEASIBLE and again.solution == (1, 0)
