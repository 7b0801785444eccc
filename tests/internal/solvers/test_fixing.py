"""Internal: columns fixed by reduced costs, and what a solution says of a model with more rows."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from forms import make_form

from dlsched.results.objective import Bound
from dlsched.solvers.certificate import dual_bound, round_to_granularity
from dlsched.solvers.earlier import Earlier
from dlsched.solvers.fixing import fix_by_reduced_cost
from dlsched.solvers.outcome import Basis
from dlsched.solvers.standard_form import INF, StandardForm


def one_row(costs: list[str], sense: str, granularity: Fraction, least: int) -> StandardForm:
    """Return a form of binary columns, of which so many are 1, the first two always."""
    exact = [Fraction(cost) for cost in costs]
    count = len(costs)
    bounds = [(1, 1)] * 2 + [(0, 1)] * (count - 2)
    return make_form([[1] * count], [(least, count)], bounds, exact, sense, granularity)


@pytest.mark.parametrize("sense", ["min", "max"])
@pytest.mark.parametrize("step", ["0.000000003", "0"])
def test_costs_that_cancel_leave_no_error(sense: str, step: str) -> None:
    """3 + 3e-9 - 3 is 3e-9: summed as doubles it is less, and a bound was a step too low."""
    costs = ["3", "0.000000003", "-3"] if sense == "min" else ["-3", "0.000000003", "3"]
    form = one_row(costs, sense, Fraction(step), 3)
    point = np.array([1.0, 1.0, 1.0])
    assert form.value(0, point) == 3e-9
    fixed = fix_by_reduced_cost(form, 0, form.value(0, point), np.array([-6.0]))
    assert (fixed.costs[0] == 0).all()
    best = Fraction("0.000000003")
    bound = dual_bound(fixed, 0, np.zeros(1))
    assert bound is not None
    bound = round_to_granularity(bound, Fraction(step), sense)
    assert bound <= best if sense == "min" else bound >= best
    assert abs(bound - best) <= (0 if Fraction(step) else 1e-13)


def test_decimals_that_cancel() -> None:
    """0.1 + 0.2 - 0.3 is 0, of the nearest doubles it is not; nor is a target beside 1e15 exact."""
    costs = ["0.1", "0.2", "-0.3", "1000000000000000", "0.7", "-999999999999999.9"]
    exact = [Fraction(cost) for cost in costs]
    points = [x for x in product((0, 1), repeat=6) if x[:2] == (1, 1)]
    values = [sum(c * v for c, v in zip(exact, x, strict=True)) for x in points]
    for sense, best in (("min", min(values)), ("max", max(values))):
        for step in (Fraction(1, 10), Fraction(0)):
            form = one_row(costs, sense, step, 2)
            x = np.array(points[values.index(best)], dtype=float)
            fixed = fix_by_reduced_cost(form, 0, form.value(0, x), np.zeros(1))
            assert (fixed.lower <= x).all() and (x <= fixed.upper).all()
            bound = dual_bound(fixed, 0, np.zeros(1))
            assert bound is not None
            assert bound <= best if sense == "min" else bound >= best


def test_what_costs_more_than_a_feasible_point_is_fixed() -> None:
    """And no other column."""
    costs = [1, 10**9, 1, 2, 10**9]
    form = make_form([[1] * 5], [(2, INF)], [(0, 1)] * 5, costs)
    smaller = fix_by_reduced_cost(form, 0, 3.0, np.zeros(1))
    assert smaller.upper.tolist() == [1, 0, 1, 1, 0] and smaller.costs[0].max() <= 3


FIRST, SECOND = Bound(44, "certified", "first"), Bound(112, "certified", "second")


def empty(rows: int, sense: str = "min") -> StandardForm:
    """Return a form of three columns whose values are whole, with rows without entries."""
    return make_form([[0] * 3] * rows, [(0, 1)] * rows, [(0, 1)] * 3, [1] * 3, sense, Fraction(1))


@pytest.mark.parametrize(
    ("sense", "held", "known"),
    [
        ("min", [44.0], [SECOND]),
        ("min", [43.0], [SECOND]),
        ("min", [45.0], []),
        ("max", [45.0], [SECOND]),
        ("max", [43.0], []),
        ("min", [], [FIRST]),
        ("min", [44.0, 112.0], []),
    ],
)
def test_a_bound_holds_where_earlier_levels_are_no_worse(
    sense: str, held: list[float], known: list[Bound]
) -> None:
    """Where one is worse, later levels may be better than in the model with fewer rows."""
    earlier = Earlier((2, 3), {}, [44.0], [[FIRST], [SECOND]])
    assert earlier.bounds_of(empty(3, sense), held) == known


def test_rows_that_were_added_are_basic() -> None:
    """They stand between the model's own and those that hold levels."""
    earlier = Earlier((2, 3), {1: Basis([0, 1, 2], [1, 0, 2])})
    basis = earlier.basis_of(empty(5), 1)
    assert basis is not None
    assert list(basis.rows) == [1, 0, 1, 1, 2]
    assert earlier.basis_of(empty(2), 1) is None
    assert earlier.basis_of(empty(5), 0) is None
