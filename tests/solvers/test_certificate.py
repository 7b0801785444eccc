"""Bounds from dual vectors hold for any vector, and are tight for the optimal one."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from forms import INF, make_form
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched import Run
from dlsched.doctor import StandardForm, highs
from dlsched.results.result import Status
from dlsched.solvers import certificate
from dlsched.solvers.certificate import dual_bound, round_to_granularity
from drawing import draws

checked = settings(derandomize=True, deadline=None, max_examples=draws(50))


def product_of(coefficients: list[Any], x: tuple[int, ...]) -> Fraction:
    """Return a sum of products in exact arithmetic."""
    return sum((a * v for a, v in zip(coefficients, x, strict=True)), Fraction(0))


def enumerate_best(program: dict[str, Any]) -> Fraction | None:
    """Return the optimum over the integer points of the box, in exact arithmetic."""
    rows = list(zip(program["rows"], program["row_bounds"], strict=True))
    box = (range(int(low), int(high) + 1) for low, high in program["bounds"])
    values = [
        product_of(program["cost"], x) + Fraction(program["offset"])
        for x in itertools.product(*box)
        if all(low <= product_of(row, x) <= high for row, (low, high) in rows)
    ]
    return (min if program["sense"] == "min" else max)(values, default=None)


@st.composite
def programs(draw: st.DrawFn, numbers: st.SearchStrategy[Any]) -> dict[str, Any]:
    """Draw an integer program over a small box, its data exact."""
    columns, rows = draw(st.integers(1, 3)), draw(st.integers(0, 3))
    row = st.lists(numbers, min_size=columns, max_size=columns)
    side = st.one_of(st.tuples(numbers, st.just(INF)), st.tuples(st.just(-INF), numbers))
    lower = draw(st.lists(st.integers(-2, 2), min_size=columns, max_size=columns))
    return {
        "rows": draw(st.lists(row, min_size=rows, max_size=rows)),
        "row_bounds": draw(st.lists(side, min_size=rows, max_size=rows)),
        "bounds": [(low, low + draw(st.integers(0, 3))) for low in lower],
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
    """Whether the optimum does not beat a bound."""
    if bound is None or best is None:
        return True
    return bool(bound <= best if sense == "min" else bound >= best)


@settings(checked, max_examples=draws(80))
@given(st.data(), st.booleans(), st.lists(anything, min_size=3, max_size=3))
def test_any_multipliers_give_a_bound(data: st.DataObject, integer: bool, y: list[float]) -> None:
    """Any multipliers, NaN and infinite ones, too, give a bound that holds by enumeration.

    It holds for the exact thirds and sevenths, of which the form has the doubles.
    """
    program = data.draw(programs(whole if integer else thirds))
    form = make_form(**program)
    bound = dual_bound(form, 0, np.array(y[: form.shape[0]]))
    assert bound is not None or not integer  # every column is bounded
    assert holds(bound, enumerate_best(program), program["sense"])


@pytest.mark.parametrize("sense", ["min", "max"])
@pytest.mark.parametrize("value", [Fraction(1, 3), Fraction(2, 3), Fraction(1, 7), Fraction(1, 10)])
def test_thirds_everywhere(sense: str, value: Fraction) -> None:
    """With a third as a bound, a cost, an offset or a side, the bound holds."""
    sign = -1 if sense == "min" else 1
    column = make_form([], [], [(-value, value)], [sign], sense)
    assert holds(dual_bound(column, 0, np.array([])), sign * value, sense)
    cost = make_form([], [], [(0, 1)], [sign * value], sense)
    assert holds(dual_bound(cost, 0, np.array([])), sign * value, sense)
    offset = make_form([], [], [(0, 1)], [0], sense, offset=sign * value)
    assert holds(dual_bound(offset, 0, np.array([])), sign * value, sense)
    row = make_form([[1]], [(-value, value)], [(-5, 5)], [sign], sense)
    assert holds(dual_bound(row, 0, np.array([float(sign)])), sign * value, sense)


@checked
@given(programs(whole), st.lists(st.floats(-5, 5), min_size=3, max_size=3))
def test_the_two_paths_agree(program: dict[str, Any], y: list[float]) -> None:
    """On integer data, 64-bit arithmetic and fractions give the same bound."""
    form = make_form(**program)
    sign = 1 if program["sense"] == "min" else -1
    multipliers = np.rint(np.array(y[: form.shape[0]]) * 2**20) / 2**20
    multipliers[(multipliers > 0) & np.isinf(form.row_lower)] = 0
    multipliers[(multipliers < 0) & np.isinf(form.row_upper)] = 0
    fast = certificate._integer_bound(form, sign * form.costs[0], multipliers)
    assert fast is not None
    assert fast == certificate._fraction_bound(form, sign * form.costs[0], multipliers)


@checked
@given(st.one_of(programs(whole), programs(thirds)))
def test_duals_are_tight(program: dict[str, Any]) -> None:
    """The duals of the relaxation give its value within 1e-6."""
    form = make_form(**program)
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
    """With a column whose cost is unbounded the bound is None, otherwise it holds."""
    form = make_form([[1]], [(2, INF)], [(0, INF)], [cost], sense)
    unbounded = (cost < 0) == (sense == "min") and cost != 0
    for y in (-1.0, 0.0, 0.5, 1.0, float("nan"), INF):
        bound = dual_bound(form, 0, np.array([y]))
        if unbounded:
            assert bound is None
        elif bound is not None:
            assert holds(bound, Fraction(2 * cost), sense)


@pytest.mark.parametrize(
    ("form", "y", "bound"),
    [
        # The optimal multiplier of a column without an upper bound.
        (make_form([[1]], [(2, INF)], [(0, INF)], [3]), 3.0, 6),
        # A row without entries, which bounds nothing.
        (make_form([[0, 0]], [(-INF, 0)], [(0, 0)] * 2, [0, 0], "max"), 2.0**23 + 1, 0),
        # Costs in units of the granularity.
        (
            make_form([[1, 1]], [(1, INF)], [(0, 1)] * 2, [0.1, 0.3], granularity=Fraction(1, 10)),
            0.1,
            Fraction(1, 10),
        ),
    ],
)
def test_bounds_by_hand(form: StandardForm, y: float, bound: Any) -> None:
    """The bound is exact, and finite where the multiplier makes it so."""
    assert dual_bound(form, 0, np.array([y])) == bound


def test_costs_that_doubles_do_not_hold() -> None:
    """Bounds hold for costs too large for 64 bits, rounded to integers, or below normal doubles."""
    big = 2**40
    form = make_form([[big]], [(big, INF)], [(0, big)], [big])
    assert certificate._integer_bound(form, form.costs[0], np.array([1.0])) is None
    assert dual_bound(form, 0, np.array([1.0])) == big
    exact = 10**15 - 1 + Fraction(1, 10**6)
    form = make_form([[1]], [(0, 1)], [(0, 1)], [exact], "max", Fraction(1, 10**6))
    bound = dual_bound(form, 0, np.array([0.0]))
    assert bound is not None and exact <= bound < exact + 1
    # So is an integer that has no double of its own.
    form = make_form([[1]], [(0, 1)], [(0, 1)], [2**53 + 1], "max", Fraction(1))
    bound = dual_bound(form, 0, np.array([0.0]))
    assert bound is not None and 2**53 + 1 <= bound < 2**53 + 4
    exact = Fraction("2.500001e-318")
    form = make_form([[1]], [(1, INF)], [(0, 1)], [float(exact)])
    found = dual_bound(form, 0, np.array([float(exact)]))
    assert found is not None and exact / 4 <= found <= exact


@pytest.mark.parametrize(
    ("value", "granularity", "sense", "rounded"),
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
def test_round_to_granularity(value: Any, granularity: Fraction, sense: str, rounded: Any) -> None:
    """A bound is rounded to the next multiple; integers are of type int."""
    result = round_to_granularity(value, granularity, sense)
    assert result == rounded
    assert isinstance(result, int) == (Fraction(rounded).denominator == 1)
