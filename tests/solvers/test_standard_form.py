"""Compiled models mean what the Pyomo model means."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

from dlsched.solvers.standard_form import compile_model

INF = float("inf")


def toy() -> Any:
    """Return a model with every kind of row and two levels."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(0, 3))
    m.n = pyo.Var(domain=pyo.NonNegativeIntegers, bounds=(-3, 5))
    m.b = pyo.Var(domain=pyo.Binary)
    m.free = pyo.Var()
    m.at_most = pyo.Constraint(expr=m.x + m.n <= 4)
    m.at_least = pyo.Constraint(expr=m.x + m.b >= 1)
    m.equal = pyo.Constraint(expr=m.free == m.x)
    m.between = pyo.Constraint(expr=pyo.inequality(1, m.n, 2))
    m.first = pyo.Objective(expr=0.5 * m.x + 1.5 * m.n + 2)
    m.second = pyo.Objective(expr=m.b, sense=pyo.maximize)
    m.GRANULARITY = {"first": Fraction(1, 2)}
    return m


def test_rows_and_columns() -> None:
    """Sides, bounds, domains, senses, offsets and grids arrive as stated."""
    form = compile_model(toy())
    assert form.column_names == ["x", "n", "b", "free"]
    assert form.lower.tolist() == [0, 0, 0, -INF] and form.upper.tolist() == [3, 5, 1, INF]
    assert form.integer.tolist() == [False, True, True, False]
    sides = dict(
        zip(
            form.row_names,
            zip(form.row_lower.tolist(), form.row_upper.tolist(), strict=True),
            strict=True,
        )
    )
    assert sides["at_most"] == (-INF, 4) and sides["at_least"] == (1, INF)
    assert sides["equal"] == (0, 0)
    assert sides["between"] == (-INF, 2) and sides["between_"] == (1, INF)
    assert form.senses == ("min", "max") and form.offsets == (2, 0)
    assert form.granularities == (Fraction(1, 2), 0)
    assert form.value(0, np.array([1, 1, 0, 1])) == 4


def test_rows_agree_with_pyomo() -> None:
    """A point fulfils the rows exactly when it fulfils the Pyomo constraints."""
    m = toy()
    form = compile_model(m)
    rng = np.random.default_rng(1)
    outcomes = set()
    for _ in range(300):
        x = float(rng.integers(0, 4))
        point = np.array([x, rng.integers(0, 4), rng.integers(0, 2), x + (rng.random() < 0.2)])
        form.load(point)
        row = form.A @ point
        ours = bool(np.all((form.row_lower <= row) & (row <= form.row_upper)))
        theirs = all(
            pyo.value(c.lower if c.lower is not None else -INF)
            <= pyo.value(c.body)
            <= pyo.value(c.upper if c.upper is not None else INF)
            for c in m.component_data_objects(pyo.Constraint)
        )
        assert ours == theirs
        outcomes.add(ours)
        assert form.point() is not None and np.array_equal(form.point(), point)  # type: ignore[arg-type]
    assert outcomes == {True, False}


def test_point_without_values() -> None:
    """A variable without a value means that there is no point."""
    assert compile_model(toy()).point() is None


def test_integers_are_rounded_on_loading() -> None:
    """A solver's 0.9999999 is a 1 for an integer variable, and left alone otherwise."""
    m = toy()
    form = compile_model(m)
    form.load(np.array([0.9999999, 0.9999999, 1e-9, 0.5]))
    assert [pyo.value(v) for v in (m.x, m.n, m.b, m.free)] == [0.9999999, 1, 0, 0.5]


def test_fixed_variables_move_to_the_side() -> None:
    """A fixed variable is a number, not a column."""
    m = toy()
    m.b.fix(1)
    form = compile_model(m)
    assert "b" not in form.column_names
    assert form.row_lower[form.row_names.index("at_least")] == 0


def test_gaps_in_domains_are_refused() -> None:
    """A domain such as {0, 2, 4} is neither an interval nor whole numbers, and says so."""
    m = toy()
    m.odd = pyo.Var(within=[0, 2, 4])
    m.use = pyo.Constraint(expr=m.odd >= 1)
    with pytest.raises(ValueError, match="odd"):
        compile_model(m)


def test_counted_in_units_of_the_grid() -> None:
    """Costs that are multiples of the grid become whole numbers; others stay as they are."""
    form = compile_model(toy())
    unit, costs, offset = form.scaled(0)
    assert unit == Fraction(1, 2) and costs.tolist() == [1, 3, 0, 0] and offset == 4
    assert form.scaled(1)[0] == 1  # no grid


@pytest.mark.parametrize("grid", [Fraction(1, 3), Fraction(1, 10**12)])
def test_counted_in_ones(grid: Fraction) -> None:
    """A grid that the costs do not lie on, or that makes them huge, is not used."""
    m = toy()
    m.GRANULARITY = {"first": grid}
    unit, costs, _ = compile_model(m).scaled(0)
    assert unit == 1 and costs.tolist() == [0.5, 1.5, 0, 0]


def test_a_grid_far_below_the_costs_is_not_used() -> None:
    """A grid of 1e-320 beside costs near one neither overflows nor divides by zero."""
    m = toy()
    m.GRANULARITY = {"first": Fraction(1, 10**320)}
    unit, costs, _ = compile_model(m).scaled(0)
    assert unit == 1 and costs.tolist() == [0.5, 1.5, 0, 0]


def test_held() -> None:
    """A held level becomes a row, in the unit that solvers see, in the direction of its sense."""
    form = compile_model(toy()).held(0, 4.0).held(1, 1.0)
    assert form.row_names[-2:] == ["hold_first", "hold_second"]
    assert form.row_upper[-2] == 4 and form.A.toarray()[-2].tolist() == [1, 3, 0, 0]
    unit, costs, _ = compile_model(toy()).conditioned(1)
    assert unit == Fraction(1, 4096) and form.A.toarray()[-1].tolist() == costs.tolist()
    assert form.row_lower[-1] == 4096 and form.row_upper[-1] == INF


@pytest.mark.parametrize("size", [1e-300, 1e-9, 1e-7, 1.0, 1e9, 1e15])
def test_costs_are_scaled_exactly(size: float) -> None:
    """Whatever the costs' size, a solver sees them near 2**13, and no digit is lost."""
    form = compile_model(toy())
    form = replace(
        form, costs=(form.costs[0] * size, form.costs[1]), granularities=(Fraction(0),) * 2
    )
    unit, costs, _ = form.conditioned(0)
    assert 2**12 <= np.abs(costs).max() < 2**13
    assert [Fraction(c) * unit for c in costs] == [Fraction(c) for c in form.costs[0]]


def test_names_are_unique_and_without_blanks() -> None:
    """Ids with blanks stay recognisable and distinct, as MPS files need them."""
    m = pyo.ConcreteModel()
    m.J = pyo.Set(initialize=["a b", "a_b", "a\tb"])
    m.x = pyo.Var(m.J, bounds=(0, 1))
    m.o = pyo.Objective(expr=sum(m.x.values()))
    names = compile_model(m).column_names
    assert len(set(names)) == 3 and not any(c.isspace() for name in names for c in name)
