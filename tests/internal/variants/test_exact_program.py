"""Internal: programs in fractions, and rows with smaller coefficients, against enumeration."""

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import dlsched
from dlsched.solvers.row_scale import ExactRow
from dlsched.variants import decision
from dlsched.variants.exact_program import best_values
from dlsched.variants.tightening import Column, with_smaller

Terms = dict[int, Fraction]


def draw(seed: int) -> tuple[dict[int, Column], list[ExactRow], list[Terms]]:
    """Return up to five whole columns, up to five rows and three levels, with awkward numbers."""
    rng = np.random.default_rng(seed)
    numbers = [Fraction(k) for k in range(-4, 5)] + [Fraction(1, 3), Fraction(-7, 2), Fraction(11)]
    count = int(rng.integers(1, 6))

    def terms() -> Terms:
        return {
            j: numbers[int(rng.integers(len(numbers)))] for j in range(count) if rng.random() < 0.7
        }

    columns = {}
    for j in range(count):
        low = int(rng.integers(-2, 2))
        columns[j] = Column(Fraction(low), Fraction(low + int(rng.integers(0, 4))), True)
    rows = []
    for _ in range(int(rng.integers(0, 6))):
        limit = Fraction(int(rng.integers(-6, 7)), int(rng.integers(1, 3)))
        ends = [(limit, None), (None, limit), (limit, limit), (limit, limit + 2)]
        rows.append(ExactRow(terms(), *ends[int(rng.integers(4))]))
    return columns, rows, [terms() for _ in range(int(rng.integers(1, 4)))]


def value(terms: Terms, point: tuple[Fraction, ...]) -> Fraction:
    """Return what terms add up to at a point."""
    return sum((c * point[j] for j, c in terms.items()), Fraction(0))


def test_the_best_of_all_levels_is_that_of_enumeration() -> None:
    """Levels are minimized one after the other; a start that fits changes nothing."""
    found = 0
    for seed in range(300):
        columns, rows, levels = draw(seed)
        ranges = [
            [Fraction(k) for k in range(int(c.lower or 0), int(c.upper or 0) + 1)]
            for c in columns.values()
        ]
        points = [
            point
            for point in itertools.product(*ranges)
            if all(row.holds(value(dict(row.terms), point)) for row in rows)
        ]
        choice = best_values(columns, rows, levels)
        if not points:
            assert choice.status == "infeasible", seed
            continue
        found += 1
        best = min([value(terms, point) for terms in levels] for point in points)
        start = dict(enumerate(points[-1]))
        for chosen in (choice, best_values(columns, rows, levels, start)):
            assert chosen.status == "optimal", seed
            point = tuple(chosen.values[j] for j in columns)
            assert point in points, seed
            assert [value(terms, point) for terms in levels] == best, seed
    assert found > 60


def test_what_improves_without_end_is_said() -> None:
    """A column without an upper bound; and one whose bounds no row reaches."""
    free = {0: Column(None, None, False), 1: Column(Fraction(0), None, True)}
    row = ExactRow({0: Fraction(1), 1: Fraction(-1)}, Fraction(0), None)
    assert best_values(free, [row], [{0: Fraction(-1)}]).status == "unbounded"
    assert best_values(free, [row], [{0: Fraction(1)}]).values == {0: 0, 1: 0}
    assert best_values(free, [row], [{1: Fraction(-2)}]).status == "unbounded"


def draw_row(rng: np.random.Generator) -> tuple[ExactRow, dict[int, Column]]:
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
    for _ in range(400):
        row, columns = draw_row(rng)
        smaller = with_smaller(row, columns)
        changed += smaller.terms != row.terms
        ranges = [
            [Fraction(k, 1 if c.integer else 7) for k in _numerators(c)] for c in columns.values()
        ]
        for point in itertools.product(*ranges):
            assert row.holds(value(dict(row.terms), point)) == smaller.holds(
                value(dict(smaller.terms), point)
            )
    assert changed > 30


def _numerators(column: Column) -> range:
    steps = 1 if column.integer else 7
    return range(int(column.lower or 0) * steps, int(column.upper or 0) * steps + 1)


def test_beyond_the_solver_nothing_is_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a solver cannot tell what a row says, it is decided in fractions, or not at all."""
    instance = dlsched.generate("reclaiming", 1, servers=8, jobs=6)

    def constrain(m: Any, _: Any) -> None:
        m.used = pyo.Var(domain=pyo.Binary)
        taken = sum(m.x.values())
        m.large = pyo.Constraint(expr=(-1e16, taken - 1e13 * m.used, 0))

    needed = dlsched.Level("needed", "minimize", lambda m, _: m.used)
    levels = ["preempted", "collateral", needed]
    variant = dlsched.Variant("reclaiming", "large-factor", constrain, levels)
    small = dlsched.solve(instance, "whole_model", variant=variant)
    assert (small.status, small.objective.needed) == ("optimal", 1)
    monkeypatch.setattr(decision, "MOST_COLUMNS", 0)
    result = dlsched.solve(instance, "whole_model", variant=variant)
    assert (result.status, result.objective.needed) == ("feasible", 1)
    assert "more than the solver's precision" in result.reason
