"""Internal: a compiled model has the rows, columns and objectives of the Pyomo model."""

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
    """Sides, bounds, domains, senses, offsets and granularities are those of the model."""
    form = compile_model(toy())
    assert form.column_names == ["x", "n", "b", "free"]
    assert form.lower.tolist() == [0, 0, 0, -INF] and form.upper.tolist() == [3, 5, 1, INF]
    assert form.integer.tolist() == [False, True, True, False]
    bounds = zip(form.row_lower.tolist(), form.row_upper.tolist(), strict=True)
    sides = dict(zip(form.row_names, bounds, strict=True))
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
    assert form.point() is None  # before the variables have values
    for _ in range(300):
        x = float(rng.integers(0, 4))
        point = np.array([x, rng.integers(0, 4), rng.integers(0, 2), x + (rng.random() < 0.2)])
        form.load(point)
        row = form.A @ point
        ours = bool(np.all((form.row_lower <= row) & (row <= form.row_upper)))
        expected = all(
            pyo.value(c.lower if c.lower is not None else -INF)
            <= pyo.value(c.body)
            <= pyo.value(c.upper if c.upper is not None else INF)
            for c in m.component_data_objects(pyo.Constraint)
        )
        assert ours == expected
        outcomes.add(ours)
        assert form.point() is not None and np.array_equal(form.point(), point)
    assert outcomes == {True, False}


def test_loaded_and_fixed_variables() -> None:
    """0.9999999 is 1 for an integer variable; a fixed one is part of the row's side, no column."""
    m = toy()
    form = compile_model(m)
    form.load(np.array([0.9999999, 0.9999999, 1e-9, 0.5]))
    assert [pyo.value(v) for v in (m.x, m.n, m.b, m.free)] == [0.9999999, 1, 0, 0.5]
    m = toy()
    m.b.fix(1)
    form = compile_model(m)
    assert "b" not in form.column_names
    assert form.row_lower[form.row_names.index("at_least")] == 0


def test_invalid_domain() -> None:
    """A variable with the domain {0, 2, 4} is named in the error."""
    m = toy()
    m.odd = pyo.Var(within=[0, 2, 4])
    m.use = pyo.Constraint(expr=m.odd >= 1)
    with pytest.raises(ValueError, match="odd"):
        compile_model(m)


def test_scaled() -> None:
    """Costs that are multiples of the granularity become integers; others are unchanged."""
    form = compile_model(toy())
    unit, costs, offset = form.scaled(0)
    assert unit == Fraction(1, 2) and costs.tolist() == [1, 3, 0, 0] and offset == 4
    assert form.scaled(1)[0] == 1  # no granularity


@pytest.mark.parametrize("granularity", [Fraction(1, 3), Fraction(1, 10**12), Fraction(1, 10**320)])
def test_unused_granularity(granularity: Fraction) -> None:
    """A granularity that does not divide the costs, or is far below them, is not used."""
    m = toy()
    m.GRANULARITY = {"first": granularity}
    unit, costs, _ = compile_model(m).scaled(0)
    assert unit == 1 and costs.tolist() == [0.5, 1.5, 0, 0]


def test_held() -> None:
    """A held level is a row in the unit of `conditioned`, in the direction of its sense."""
    form = compile_model(toy()).held(0, 4.0).held(1, 1.0)
    assert form.row_names[-2:] == ["hold_first", "hold_second"]
    assert form.row_upper[-2] == 4 and form.A.toarray()[-2].tolist() == [1, 3, 0, 0]
    unit, costs, _ = compile_model(toy()).conditioned(1)
    assert unit == Fraction(1, 4096) and form.A.toarray()[-1].tolist() == costs.tolist()
    assert form.row_lower[-1] == 4096 and form.row_upper[-1] == INF


@pytest.mark.parametrize("size", [1e-300, 1e-9, 1e-7, 1.0, 1e9, 1e15])
def test_conditioned(size: float) -> None:
    """The largest cost is near 2**13 for costs of any size, and the others are exact."""
    form = compile_model(toy())
    costs = (form.costs[0] * size, form.costs[1])
    form = replace(form, costs=costs, granularities=(Fraction(0),) * 2)
    unit, conditioned, _ = form.conditioned(0)
    assert 2**12 <= np.abs(conditioned).max() < 2**13
    assert [Fraction(c) * unit for c in conditioned] == [Fraction(c) for c in costs[0]]


def test_names_are_unique_and_without_blanks() -> None:
    """Names from ids with blanks are unique and without blanks, as MPS files need them."""
    m = pyo.ConcreteModel()
    m.J = pyo.Set(initialize=["a b", "a_b", "a\tb"])
    m.x = pyo.Var(m.J, bounds=(0, 1))
    m.o = pyo.Objective(expr=sum(m.x.values()))
    names = compile_model(m).column_names
    assert len(set(names)) == 3 and not any(c.isspace() for name in names for c in name)
