"""Bounds from dual vectors hold whatever the vector, and are sharp for the right one."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from dlsched.result import Status
from dlsched.run import Run
from dlsched.solvers import certificate, highs
from dlsched.solvers.certificate import dual_bound, round_to_granularity
from dlsched.solvers.standard_form import StandardForm

INF = float("inf")
checked = settings(derandomize=True, deadline=None, max_examples=150)


def make(
    rows: list[list[Any]],
    row_bounds: list[tuple[Any, Any]],
    bounds: list[tuple[Any, Any]],
    cost: list[Any],
    sense: str = "min",
    grid: Fraction = Fraction(0),
    offset: Any = 0,
) -> StandardForm:
    """Return a form with the doubles nearest to exact data."""
    A = np.array([[float(a) for a in row] for row in rows]).reshape(len(rows), len(cost))
    return StandardForm(
        A=sparse.csc_array(A),
        row_lower=np.array([float(low) for low, _ in row_bounds]),
        row_upper=np.array([float(high) for _, high in row_bounds]),
        lower=np.array([float(low) for low, _ in bounds]),
        upper=np.array([float(high) for _, high in bounds]),
        integer=np.ones(len(cost), dtype=bool),
        costs=(np.array([float(c) for c in cost]),),
        offsets=(float(offset),),
        senses=(sense,),
        granularities=(grid,),
        variables=[],
        constraints=[],
    )


def enumerate_best(program: dict[str, Any]) -> Fraction | None:
    """Return the optimum over the whole-number points of the box, in exact arithmetic."""
    values = []
    for x in itertools.product(
        *(range(int(low), int(high) + 1) for low, high in program["bounds"])
    ):
        sums = [
            sum((a * v for a, v in zip(row, x, strict=True)), Fraction(0))
            for row in program["rows"]
        ]
        if all(
            low <= s <= high for s, (low, high) in zip(sums, program["row_bounds"], strict=True)
        ):
            values.append(
                sum(
                    (c * v for c, v in zip(program["cost"], x, strict=True)),
                    Fraction(program["offset"]),
                )
            )
    return (min if program["sense"] == "min" else max)(values, default=None)


@st.composite
def programs(draw: st.DrawFn, numbers: st.SearchStrategy[Any]) -> dict[str, Any]:
    """Draw an integer program over a small box, its data exact."""
    columns, rows = draw(st.integers(1, 3)), draw(st.integers(0, 3))
    row = st.lists(numbers, min_size=columns, max_size=columns)
    side = st.one_of(st.tuples(numbers, st.just(INF)), st.tuples(st.just(-INF), numbers))
    return {
        "rows": draw(st.lists(row, min_size=rows, max_size=rows)),
        "row_bounds": draw(st.lists(side, min_size=rows, max_size=rows)),
        "bounds": [
            (low, low + draw(st.integers(0, 3)))
            for low in draw(st.lists(st.integers(-2, 2), min_size=columns, max_size=columns))
        ],
        "cost": draw(row),
        "sense": draw(st.sampled_from(["min", "max"])),
        "offset": draw(numbers),
    }


whole = st.integers(-4, 4)
thirds = st.builds(Fraction, st.integers(-9, 9), st.sampled_from([1, 2, 3, 7]))
anything = st.one_of(
    st.floats(-5, 5), st.floats(), st.sampled_from([0.0, 1e300, -1e300, float("nan"), INF, -INF])
)


def holds(bound: Any, best: Fraction | None, sense: str) -> bool:
    """Whether a bound respects the best value there is."""
    if bound is None or best is None:
        return True
    return bool(bound <= best if sense == "min" else bound >= best)


@checked
@given(programs(whole), st.lists(anything, min_size=3, max_size=3))
def test_any_multipliers_bound_whole_data(program: dict[str, Any], y: list[float]) -> None:
    """Any multipliers, NaN and infinity among them, give a bound that enumeration respects."""
    form = make(**program)
    bound = dual_bound(form, 0, np.array(y[: form.shape[0]]))
    assert bound is not None  # every column is bounded
    assert holds(bound, enumerate_best(program), program["sense"])


@checked
@given(programs(thirds), st.lists(anything, min_size=3, max_size=3))
def test_any_multipliers_bound_thirds(program: dict[str, Any], y: list[float]) -> None:
    """Bounds hold for the exact thirds and sevenths although the form only has doubles."""
    form = make(**program)
    bound = dual_bound(form, 0, np.array(y[: form.shape[0]]))
    assert holds(bound, enumerate_best(program), program["sense"])


@pytest.mark.parametrize("sense", ["min", "max"])
@pytest.mark.parametrize("value", [Fraction(1, 3), Fraction(2, 3), Fraction(1, 7), Fraction(1, 10)])
def test_thirds_everywhere(sense: str, value: Fraction) -> None:
    """A third as a bound, a cost, an offset or a side never rounds the wrong way."""
    sign = -1 if sense == "min" else 1
    column = make([], [], [(-value, value)], [sign], sense)
    assert holds(dual_bound(column, 0, np.array([])), sign * value, sense)
    cost = make([], [], [(0, 1)], [sign * value], sense)
    assert holds(dual_bound(cost, 0, np.array([])), sign * value, sense)
    offset = make([], [], [(0, 1)], [0], sense, offset=sign * value)
    assert holds(dual_bound(offset, 0, np.array([])), sign * value, sense)
    row = make([[1]], [(-value, value)], [(-5, 5)], [sign], sense)
    assert holds(dual_bound(row, 0, np.array([float(sign)])), sign * value, sense)


@checked
@given(programs(whole), st.lists(st.floats(-5, 5), min_size=3, max_size=3))
def test_the_two_paths_agree(program: dict[str, Any], y: list[float]) -> None:
    """On whole data the 64-bit path gives the same number as the path with fractions."""
    form = make(**program)
    sign = 1 if program["sense"] == "min" else -1
    on_grid = np.rint(np.array(y[: form.shape[0]]) * 2**20) / 2**20
    on_grid[(on_grid > 0) & np.isinf(form.row_lower)] = 0
    on_grid[(on_grid < 0) & np.isinf(form.row_upper)] = 0
    fast = certificate._integer_bound(form, sign * form.costs[0], on_grid)
    assert fast is not None
    assert fast == certificate._fraction_bound(form, sign * form.costs[0], on_grid)


@checked
@given(st.one_of(programs(whole), programs(thirds)))
def test_duals_are_sharp(program: dict[str, Any]) -> None:
    """The relaxation's own duals give the relaxation's value within 1e-6."""
    form = make(**program)
    outcome = highs.solve(form, 0, Run(), relax=True)
    if outcome.status is not Status.OPTIMAL:
        assert enumerate_best(program) is None
        return
    assert outcome.duals is not None and outcome.bound is not None
    bound = dual_bound(form, 0, outcome.duals)
    assert bound is not None
    assert float(bound) == pytest.approx(outcome.bound, abs=1e-6, rel=1e-6)


@pytest.mark.parametrize("sense", ["min", "max"])
@pytest.mark.parametrize("cost", [1, -1, 0])
def test_unbounded_columns(sense: str, cost: int) -> None:
    """A column without bounds gives None where the cost pulls it away, else a valid bound."""
    form = make([[1]], [(2, INF)], [(0, INF)], [cost], sense)
    pulled = (cost < 0) == (sense == "min") and cost != 0
    for y in (-1.0, 0.0, 0.5, 1.0, float("nan"), INF):
        bound = dual_bound(form, 0, np.array([y]))
        if pulled:
            assert bound is None
        elif bound is not None:
            assert holds(bound, Fraction(2 * cost), sense)


def test_unbounded_column_sharp() -> None:
    """The right multiplier bounds even a column that has no upper bound."""
    form = make([[1]], [(2, INF)], [(0, INF)], [3])
    assert dual_bound(form, 0, np.array([3.0])) == 6


def test_counted_in_units() -> None:
    """Costs of 0.1 on a grid of 0.1 give the exact tenth, no less."""
    form = make([[1, 1]], [(1, INF)], [(0, 1)] * 2, [0.1, 0.3], grid=Fraction(1, 10))
    assert dual_bound(form, 0, np.array([0.1])) == Fraction(1, 10)


def test_huge_data_leave_the_fast_path() -> None:
    """Whole numbers too large for 64-bit arithmetic are taken to the path with fractions."""
    big = 2**40
    form = make([[big]], [(big, INF)], [(0, big)], [big])
    assert certificate._integer_bound(form, form.costs[0], np.array([1.0])) is None
    assert dual_bound(form, 0, np.array([1.0])) == big


@pytest.mark.parametrize(
    ("value", "grid", "sense", "rounded"),
    [
        (Fraction(21, 10), Fraction(1), "min", 3),
        (Fraction(21, 10), Fraction(1), "max", 2),
        (Fraction(-21, 10), Fraction(1), "min", -2),
        (Fraction(21, 10), Fraction(1, 2), "min", Fraction(5, 2)),
        (Fraction(21, 10), Fraction(0), "min", Fraction(21, 10)),
        (3, Fraction(1), "min", 3),
        (3, Fraction(2), "max", 2),
    ],
)
def test_round_to_grid(value: Any, grid: Fraction, sense: str, rounded: Any) -> None:
    """A bound is rounded to the next value that solutions can have; whole results are ints."""
    result = round_to_granularity(value, grid, sense)
    assert result == rounded
    assert isinstance(result, int) == (Fraction(rounded).denominator == 1)
