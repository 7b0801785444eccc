"""Rows with coefficients far larger than they need: what is chosen, proved and refused."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.core as pyo
import pytest

import dlsched
from dlsched.solvers.row_scale import ExactRow
from dlsched.variants import exact_whole, owner_of
from dlsched.variants.tightening import Column, with_smaller


def big_m(factor: float, sides: int) -> Callable[[Any, Any], None]:
    """Return a change that needs one of two binary variables as soon as a server is taken."""

    def constrain(model: Any, _: Any) -> None:
        model.used = pyo.Var([0, 1], domain=pyo.Binary)
        taken = sum(model.x[server] for server in model.x)
        row = taken - factor * (model.used[0] + model.used[1])
        model.large = pyo.Constraint(expr=row <= 0 if sides == 1 else (-1e16, row, 0))
        model.order = pyo.Constraint(expr=model.used[0] <= model.used[1])

    return constrain


def with_level(factor: float, sides: int) -> dlsched.Variant:
    """Return a variant that uses the fewest of these variables, the second twice as heavy."""
    needed = dlsched.Level("needed", "minimize", lambda m, _: m.used[0] + 2 * m.used[1])
    constrain = big_m(factor, sides)
    levels = ["preempted", "collateral", needed]
    return dlsched.Variant("reclaiming", "large-factor", constrain=constrain, levels=levels)


@pytest.mark.parametrize("factor", [1e3, 1e9, 1e10, 1e13, 1e15])
def test_a_large_factor_is_solved(factor: float) -> None:
    """A solution with an added binary is accepted, and the optimum proved, with any factor."""
    instance = dlsched.generate("reclaiming", 1, servers=8, jobs=6)
    variant = with_level(factor, 1)
    known = dlsched.solve(instance, "lyra", variant=variant)
    assert known.status == "feasible"
    assert known.objective is not None
    assert known.objective.needed == 2
    result = dlsched.solve(instance, "whole_model", variant=variant)
    assert result.status == "optimal"
    assert result.objective is not None
    assert result.objective.needed == 2


def test_an_optimum_with_a_large_factor_has_a_proof() -> None:
    """A proof states the row with smaller coefficients, and is accepted."""
    instance = dlsched.generate("reclaiming", 1, servers=8, jobs=6)
    variant = with_level(1e13, 1)
    checked = dlsched.check_proof(
        instance, dlsched.prove(instance, variant=variant), variant=variant
    )
    assert [level.value for level in checked.levels] == [0, 0, 2]
    assert {level.kind for level in checked.levels} == {"certified"}


def test_beyond_the_solver_nothing_is_claimed(monkeypatch: Any) -> None:
    """Where a solver cannot tell what a row says, it is decided in fractions, or not at all."""
    instance = dlsched.generate("reclaiming", 1, servers=8, jobs=6)
    small = dlsched.solve(instance, "whole_model", variant=with_level(1e13, 2))
    assert (small.status, small.objective.needed) == ("optimal", 2)
    monkeypatch.setattr(exact_whole, "MOST_COLUMNS", 0)
    result = dlsched.solve(instance, "whole_model", variant=with_level(1e13, 2))
    assert result.status == "feasible"
    assert "more than the solver's precision" in result.reason
    assert result.objective is not None
    assert result.objective.needed == 2


def draw(rng: np.random.Generator) -> tuple[ExactRow, dict[int, Column]]:
    """Return a row with one limit, of up to three whole variables and one that need not be."""
    columns = {}
    for key in range(int(rng.integers(2, 5))):
        low = int(rng.integers(-2, 2))
        columns[key] = Column(Fraction(low), Fraction(low + int(rng.integers(1, 3))), key != 3)
    sizes = 10.0 ** rng.integers(0, 13, len(columns)) * rng.choice([-3, -2, -1, 1, 2], len(columns))
    terms = dict(zip(columns, map(Fraction, sizes.tolist()), strict=True))
    limit = Fraction(int(rng.integers(-5, 6)) * 10 ** int(rng.integers(0, 13)))
    ends = (limit, None) if rng.random() < 0.5 else (None, limit)
    return ExactRow(terms, *ends), columns


def test_smaller_coefficients_say_the_same() -> None:
    """A row with smaller coefficients holds at the same points, where whole variables are whole."""
    rng = np.random.default_rng(5)
    changed = 0
    for _ in range(1500):
        row, columns = draw(rng)
        smaller = with_smaller(row, columns)
        changed += smaller.terms != row.terms
        ranges = [
            [Fraction(k, 1 if c.integer else 7) for k in _numerators(c)] for c in columns.values()
        ]
        for point in itertools.product(*ranges):
            assert row.holds(value_at(row, point)) == smaller.holds(value_at(smaller, point))
    assert changed > 100


def _numerators(column: Column) -> range:
    steps = 1 if column.integer else 7
    return range(int(column.lower or 0) * steps, int(column.upper or 0) * steps + 1)


def value_at(row: ExactRow, point: Sequence[Fraction]) -> Fraction:
    """Return what the terms of a row add up to at a point."""
    return sum((c * point[key] for key, c in row.terms.items()), Fraction(0))


def test_choices_are_those_of_enumeration() -> None:
    """The best values of added variables are chosen under rows of very different sizes."""
    rng = np.random.default_rng(6)
    instance = dlsched.generate("reclaiming", 1, servers=8, jobs=6)
    solution = dlsched.solve(instance, "lyra").solution
    assert solution is not None
    feasible = 0
    for _ in range(25):
        sizes = (10.0 ** rng.integers(0, 12, (3, 4)) * rng.integers(-3, 4, (3, 4))).tolist()
        limits = (10.0 ** rng.integers(0, 12, 3) * rng.integers(-3, 4, 3)).tolist()
        costs = rng.integers(1, 9, 3).tolist()

        def constrain(model: Any, _: Any, sizes: Any = sizes, limits: Any = limits) -> None:
            model.extra = pyo.Var(range(3), domain=pyo.Integers, bounds=(0, 2))
            taken = sum(model.x[server] for server in model.x)
            model.rows = pyo.ConstraintList()
            for (first, *others), limit in zip(sizes, limits, strict=True):
                body = sum(c * model.extra[i] for i, c in enumerate(others)) + first * taken
                if any(others):
                    model.rows.add(body >= limit)

        def cost(model: Any, _: Any, costs: Any = costs) -> Any:
            return sum(c * model.extra[i] for i, c in enumerate(costs))

        levels = ["preempted", "collateral", dlsched.Level("cost", "minimize", cost)]
        variant = dlsched.Variant("reclaiming", "rows", constrain=constrain, levels=levels)
        report = owner_of(instance, variant).check(instance, solution)
        rows = [row for row in zip(sizes, limits, strict=True) if any(row[0][1:])]
        taken = len(solution.returned)
        best = min(
            (
                sum(c * z for c, z in zip(costs, point, strict=True))
                for point in itertools.product(range(3), repeat=3)
                if all(
                    sum(Fraction(c) * z for c, z in zip(others, point, strict=True))
                    >= Fraction(limit) - Fraction(first) * taken
                    for (first, *others), limit in rows
                )
            ),
            default=None,
        )
        assert report.feasible == (best is not None)
        if best is not None:
            feasible += 1
            assert report.objective is not None
            assert report.objective.cost == best
    assert 5 < feasible < 25
