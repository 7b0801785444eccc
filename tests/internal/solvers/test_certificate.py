"""Internal: certificates of bounds, equal to the formula in fractions, and never beaten."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from forms import make_form
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched import Run, Status
from dlsched.solvers import highs
from dlsched.solvers.certificate import (
    below_any_cost,
    claimed_bound,
    dual_bound,
    round_to_granularity,
)
from dlsched.solvers.standard_form import INF, StandardForm
from drawing import draws

checked = settings(derandomize=True, deadline=None, max_examples=draws(150, 100))
NAN = float("nan")
TINY = 2.0**-1060
"""Below the normal doubles, so that half of it may be an error."""


def error(number: float, rounded: bool = False) -> Fraction:
    """Return by how much a double may differ from the number that it stands for."""
    if number == int(number) and abs(number) < 2**53 and not rounded:
        return Fraction(0)
    return abs(Fraction(number)) / (2 if abs(number) < 2.0**-1022 else 2**53)


def least_product(low: Any, high: Any, lower: float, upper: float) -> Fraction | None:
    """Return the least d x of d in [low, high] and x between the bounds, which may be off."""
    if (high > 0 and lower == -INF) or (low < 0 and upper == INF):
        return None
    ends = [Fraction(lower) - error(lower)] if lower > -INF else []
    ends += [Fraction(upper) + error(upper)] if upper < INF else []
    return min((d * x for d in (low, high) for x in ends), default=Fraction(0))


def reference(form: StandardForm, y: list[float], bits: int = 40) -> Fraction | None:
    """Return the module's formula, term by term; on whole numbers with multipliers rounded."""
    sign = 1 if form.senses[0] == "min" else -1
    unit, costs, offset = form.scaled(0)
    rounded = form.granularities[0].denominator > 1 and unit != form.granularities[0]
    used: list[tuple[Fraction, float]] = []
    for multiplier, low, high in zip(y, form.row_lower, form.row_upper, strict=True):
        weight = sign * multiplier / float(unit) if abs(multiplier) < 1e100 else 0.0
        side = float(low if weight > 0 else high)
        used.append((Fraction(weight), side) if weight and math.isfinite(side) else (Fraction(), 0))
    data = [*costs, *form.A.data, *form.lower, *form.upper, *(side for _, side in used)]
    # Sums of larger numbers do not fit 64 bits, so that nothing is rounded.
    whole = not rounded and all(abs(v) < 2**41 and v == int(v) for v in data)
    if whole:
        used = [(Fraction(round(weight * 2**bits), 2**bits), side) for weight, side in used]
    total = sum((w * Fraction(side) - abs(w) * error(side) for w, side in used), Fraction())
    rows = form.A.toarray()
    for j, cost in enumerate(costs):
        column = [(w, float(a)) for (w, _), a in zip(used, rows[:, j], strict=True)]
        reduced = sign * Fraction(cost) - sum(w * Fraction(a) for w, a in column)
        doubt = sum((abs(w) * error(a) for w, a in column), error(cost, rounded))
        doubt = Fraction(0) if whole else doubt
        least = least_product(reduced - doubt, reduced + doubt, form.lower[j], form.upper[j])
        if least is None:
            return None
        total += least
    doubt = error(offset, rounded) + Fraction(form.offset_error(0)) / unit
    return unit * (sign * (total - doubt) + Fraction(offset))


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
odd = st.sampled_from([0.1, -0.7, 2.0**53, 2.0**53 + 2, 1e15, TINY, 2.0**-1022, 0.5, 1 / 3])
anything = st.one_of(
    st.floats(-5, 5), st.floats(), st.sampled_from([0.0, 1e300, -1e300, NAN, INF, -INF])
)
usual = st.lists(st.floats(-5, 5), min_size=3, max_size=3)


def holds(bound: Any, best: Fraction | None, sense: str) -> bool:
    """Whether the optimum does not beat a bound."""
    if bound is None or best is None:
        return True
    return bool(bound <= best if sense == "min" else bound >= best)


@checked
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


@checked
@given(programs(whole), usual)
def test_on_whole_numbers_multipliers_are_rounded(program: dict[str, Any], y: list[float]) -> None:
    """To multiples of 1/2**40, and nothing else is."""
    form = make_form(**program)
    assert dual_bound(form, 0, np.array(y[: form.shape[0]])) == reference(form, y[: form.shape[0]])


@settings(checked, max_examples=draws(400, 250))
@given(programs(st.one_of(whole, thirds, odd)), usual, st.data())
def test_on_other_numbers_the_bound_is_the_formula(
    program: dict[str, Any], y: list[float], data: st.DataObject
) -> None:
    """With the errors of all doubles, infinite bounds, and costs finer than their unit."""
    granularities = st.sampled_from([Fraction(0), Fraction(1), Fraction(1, 2), Fraction(1, 10**9)])
    ends = (st.sampled_from([-INF, -0.3, 0.0, 0.0]), st.sampled_from([0.0, 1.0, 1.0, 2.5, INF]))
    bounds = [data.draw(st.tuples(*ends)) for _ in program["cost"]]
    form = make_form(**program | {"bounds": bounds, "granularity": data.draw(granularities)})
    form = replace(form, offset_errors=(data.draw(st.sampled_from([0.0, 0.25])),))
    assert dual_bound(form, 0, np.array(y[: form.shape[0]])) == reference(form, y[: form.shape[0]])


@settings(checked, max_examples=draws(50))
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


Ends = list[tuple[Any, Any]]
THIRD = 1 / 3
NEAR = 2**40 - 2**12
CASES: dict[str, tuple[list[Any], Ends, Ends, list[Any], float, int, Any]] = {
    # rows, their sides, bounds, costs, multiplier, its binary places, the bound if not by these
    "a small program": ([[1]], [(1, INF)], [(0, 2)], [1], THIRD, 40, None),
    "a large bound": ([[1]], [(1, INF)], [(0, 2**30)], [1], THIRD, 29, None),
    "a large negative bound": ([[1]], [(1, INF)], [(-(2**30), 0)], [1], THIRD, 29, None),
    "two columns": ([[1, 1]], [(1, INF)], [(0, 2**30), (0, 1)], [1, 1], THIRD, 28, None),
    "a large coefficient": ([[2**30]], [(1, INF)], [(0, 1)], [1], THIRD, 30, None),
    "a large cost": ([[1]], [(1, INF)], [(0, 1)], [2**30], THIRD, 30, None),
    "the least reduced cost": ([[1]], [(1, INF)], [(0, 2)], [1], 1 - 2**-40, 40, None),
    "a large side": ([[1]], [(2**35 + 1, INF)], [(0, 1)], [1], THIRD, 25, None),
    "a large multiplier": ([[0]], [(0, 1)], [(0, 1)], [1], 2.0**23 + 1, 37, 0),
    "the largest sum": ([[1]], [(NEAR, INF)], [(0, 1)], [2], 1 + 2**-30, 20, NEAR),
    "that sum exactly": ([[1]], [(2**40, INF)], [(0, 1)], [2], 1 + 2**-52, 20, 2**40),
    "one above it": ([[1]], [(2**40, INF)], [(0, 1)], [2], 1 + 2**-30, 0, 2**40 + 2**10),
    "costs beyond 64 bits": ([[2**40]], [(2**40, INF)], [(0, 2**40)], [2**40], 1.0, 0, 2**40),
    "no upper bound": ([[1]], [(2, INF)], [(0, INF)], [3], 3.0, 0, 6),
    "no lower bound": ([[1]], [(-INF, 2)], [(-INF, 0)], [-3], -3.0, 0, -6),
    "no bounds": ([[1]], [(2, 2)], [(-INF, INF)], [3], 3.0, 0, 6),
    "a row of zeros": ([[0, 0]], [(0, INF)], [(0, 0)] * 2, [0, 0], 2.0**23 + 1, 37, 0),
    "NaN": ([[1]], [(1, INF)], [(0, 2)], [1], NAN, 40, 0),
    "infinity": ([[1]], [(1, INF)], [(0, 2)], [1], INF, 40, 0),
    "the first too large": ([[1]], [(1, INF)], [(0, 2)], [1], 1e100, 40, 0),
    "the last that is not": (
        *([[1]], [(1, INF)], [(0, 2)], [1], math.nextafter(1e100, 0), 0),
        2 - Fraction(math.nextafter(1e100, 0)),
    ),
    "no side for its sign": ([[1]], [(1, INF)], [(0, 2)], [-1], -1.0, 40, -2),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("sense", ["min", "max"])
def test_bounds_by_hand(case: str, sense: str) -> None:
    """Of a minimization, and of the maximization of the opposite: exact, with few digits or many.

    In 64 bits the multipliers have so many binary places that no sum is larger than 2**61.
    """
    rows, sides, bounds, costs, y, bits, value = CASES[case]
    sign = 1 if sense == "min" else -1
    form = make_form(rows, sides, bounds, [sign * c for c in costs], sense)
    expected = reference(form, [sign * y], bits) if value is None else sign * value
    assert dual_bound(form, 0, np.array([sign * y])) == expected
    two = replace(
        form,
        costs=(np.ones(len(costs)), *form.costs),
        offsets=(7.0, 0.0),
        senses=("max", sense),
        granularities=(Fraction(1, 2), Fraction(0)),
    )
    assert dual_bound(two, 1, np.array([sign * y])) == expected


def test_what_doubles_do_not_hold() -> None:
    """Bounds hold for thirds as ends, costs in units, rounded, or below normal doubles."""
    ends = make_form([], [], [(-Fraction(1, 3), Fraction(2, 3))], [1], "max")
    assert Fraction(2, 3) <= dual_bound(ends, 0, np.array([])) < 0.667
    form = make_form([[1, 1]], [(1, INF)], [(0, 1)] * 2, [0.1, 0.3], granularity=Fraction(1, 10))
    assert dual_bound(form, 0, np.array([0.1])) == Fraction(1, 10)
    for exact, granularity in ((10**15 - 1 + Fraction(1, 10**6), 6), (2**53 + 1, 0)):
        step = Fraction(1, 10**granularity)
        form = make_form([[1]], [(0, 1)], [(0, 1)], [exact], "max", step)
        bound = dual_bound(form, 0, np.array([0.0]))
        assert bound is not None and exact <= bound < exact + 3
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
        (Fraction(-21, 10), Fraction(1), "max", -3),
        (Fraction(21, 10), Fraction(1, 2), "min", Fraction(5, 2)),
        (Fraction(21, 10), Fraction(0), "min", Fraction(21, 10)),
        (Fraction(2), Fraction(0), "max", 2),
        (3, Fraction(1), "min", 3),
        (3, Fraction(2), "max", 2),
        (4, Fraction(2), "max", 4),
        (4, Fraction(2), "min", 4),
    ],
)
def test_round_to_granularity(value: Any, granularity: Fraction, sense: str, rounded: Any) -> None:
    """A bound is rounded to the next multiple; integers are of type int."""
    result = round_to_granularity(value, granularity, sense)
    assert result == rounded
    assert isinstance(result, int) == (Fraction(rounded).denominator == 1)


ONE, NONE = Fraction(1), Fraction(0)


@pytest.mark.parametrize(
    ("bound", "granularity", "sense", "claimed"),
    [
        (2.3, ONE, "min", 3),
        (2.3, ONE, "max", 2),
        (3.000002, ONE, "min", 3),  # within a solver's tolerance of 3
        (3.000004, ONE, "min", 4),
        (2.999998, ONE, "max", 3),
        (2.999996, ONE, "max", 2),
        (9e-7, ONE, "min", 0),  # the tolerance is absolute where values are small
        (2e-6, ONE, "min", 1),
        (-2.3, ONE, "min", -2),
        (-2.3, ONE, "max", -3),
        (500000.0, ONE, "min", 500000),  # twice the tolerance is below a step
        (500001.0, ONE, "min", 500001.0 - (1e-9 * 500001.0 + 1e-6)),
        (500001.0, ONE, "max", 500001.0 + (1e-9 * 500001.0 + 1e-6)),
        (-7.0, NONE, "min", -7.0 - (1e-9 * 7.0 + 1e-6 * 2.0**-11)),
        (7.0, NONE, "max", 7.0 + (1e-9 * 7.0 + 1e-6 * 2.0**-11)),
        (1.5, NONE, "max", 0),  # less than any cost
        (1.5, NONE, "min", 1.5 - (1e-9 * 1.5 + 1e-6 * 2.0**-11)),
    ],
)
def test_a_solver_s_bound_is_weakened(
    bound: float, granularity: Fraction, sense: str, claimed: Any
) -> None:
    """By its tolerances, and rounded to a step where that is more; costs are 2 and 3."""
    form = make_form([], [], [(0, 9)] * 2, [2, 3], sense, granularity)
    result = claimed_bound(form, 0, bound)
    assert result == claimed and isinstance(result, float) == isinstance(claimed, float)


EDGE = 2 / (1 + Fraction(1e-9))
"""With the solver's precision, it is 2."""


@pytest.mark.parametrize(
    ("changes", "bound", "below"),
    [
        ({}, Fraction(3, 2), True),
        ({}, EDGE, False),
        ({}, EDGE - Fraction(1, 10**12), True),
        ({}, -5, True),
        ({"sense": "min"}, Fraction(3, 2), False),
        ({"cost": [2, -3]}, Fraction(3, 2), False),
        ({"cost": [2, 0]}, Fraction(3, 2), True),
        ({"cost": [0, 0]}, Fraction(1, 2), True),
        ({"cost": [0, 0]}, 1, False),
        ({"bounds": [(-1, 9), (0, 9)]}, Fraction(3, 2), False),
        ({"bounds": [(0, 9), (-1, 9)], "cost": [2, 0]}, Fraction(3, 2), True),
        ({"bounds": [(1, 9), (0, 9)]}, Fraction(3, 2), True),
        ({"offset": Fraction(11, 2)}, 7, True),
        ({"offset": Fraction(11, 2)}, 8, False),
    ],
)
def test_a_bound_below_any_cost(changes: dict[str, Any], bound: Any, below: bool) -> None:
    """Of a maximization of whole columns, of which one that is positive brings 2 at least."""
    usual: dict[str, Any] = {"bounds": [(0, 9)] * 2, "cost": [2, 3], "sense": "max"}
    form = make_form([], [], **usual | changes)
    assert below_any_cost(form, 0, bound) is below
    assert not below_any_cost(replace(form, integer=np.array([False] * 2)), 0, bound) or not any(
        cost > 0 for cost in form.costs[0]
    )
    if below:
        offset = claimed_bound(form, 0, float(bound) - 1e-5)
        assert offset == changes.get("offset", 0) and isinstance(offset, (int, Fraction))
