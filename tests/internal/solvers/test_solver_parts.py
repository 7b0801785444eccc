"""Internal: rows in digits, irreducible sets, fixing by reduced costs, models with more rows."""

import random
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from forms import make_form
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dlsched import Bound, Run
from dlsched.solvers.certificate import dual_bound, round_to_granularity
from dlsched.solvers.digits import (
    BASE,
    LARGEST,
    DigitRow,
    carries,
    digit_rows,
    rounded_down,
    tightened,
)
from dlsched.solvers.earlier import Earlier
from dlsched.solvers.fixing import fix_by_reduced_cost
from dlsched.solvers.iis import compute_iis
from dlsched.solvers.precision import LARGEST_TERM, undecided_row
from dlsched.solvers.standard_form import INF, StandardForm
from drawing import draws


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


def at_least(rows: list[tuple[list[int], int]], box: int) -> StandardForm:
    """Return a form of rows ``a x >= side`` over integers from 0 to `box`."""
    columns = len(rows[0][0])
    sides: list[tuple[float, float]] = [(side, INF) for _, side in rows]
    return make_form([a for a, _ in rows], sides, [(0, box)] * columns, [0] * columns)


def possible(rows: list[tuple[list[int], int]], box: int) -> bool:
    """Whether some point of the box fulfils all rows, by enumeration."""
    columns = len(rows[0][0]) if rows else 1
    return any(
        all(np.dot(a, x) >= side for a, side in rows)
        for x in product(range(box + 1), repeat=columns)
    )


@settings(derandomize=True, deadline=None, max_examples=draws(25))
@given(st.data())
def test_irreducible(data: st.DataObject) -> None:
    """The named rows are infeasible by enumeration, and feasible without any one of them."""
    columns, box = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 2))
    a = st.lists(st.integers(-2, 2), min_size=columns, max_size=columns)
    rows = data.draw(st.lists(st.tuples(a, st.integers(-2, 4)), min_size=1, max_size=7))
    assume(not possible(rows, box))
    names = compute_iis(at_least(rows, box), Run())
    kept = [rows[int(name[1:])] for name in names]
    assert kept and not possible(kept, box)
    for i in range(len(kept)):
        assert possible(kept[:i] + kept[i + 1 :], box)


def test_bounds_alone() -> None:
    """If bounds contradict each other no row is named; the search is not in the trajectory."""
    form = at_least([([1], 0)], 1)
    form = replace(form, lower=np.array([3.0]))
    assert compute_iis(form, Run()) == []
    run = Run()
    compute_iis(at_least([([1, 1], 3), ([2, 1], 0), ([-1, 0], 0)], 1), run)
    assert not run.trajectory


@pytest.mark.parametrize("run", [Run(interrupted=True), Run(time_limit=1e-9)])
def test_stopped_early(run: Run) -> None:
    """After an interrupt or a limit the set is infeasible, and its last entry says so."""
    names = compute_iis(at_least([([1], 3), ([1], 0)], 1), run)
    assert names == ["r0", "r1", "(not reduced to the end)"]


@pytest.mark.parametrize(
    ("cells", "high", "most", "decided"),
    [
        ([3, 2], 4, 1, True),
        ([3e15, 2e15], 4e15, 1, False),
        ([3, 2], 1e15, 1, True),  # no point exceeds the side
        ([3, -1e15], 2, 1, False),
        ([1, 1], 1e12, 1e12, False),
        ([LARGEST_TERM, 1], LARGEST_TERM, 1, True),
        ([], 1, 1, True),
    ],
)
def test_undecided_row(cells: list[float], high: float, most: float, decided: bool) -> None:
    """A row counts if its terms are too large for a sum in doubles and one side can be exceeded."""
    form = make_form([cells], [(-INF, high)], [(0, most)] * len(cells), [1] * len(cells), "max")
    assert (undecided_row(form) is None) == decided


Row = tuple[dict[str, int], int, dict[str, int]]


def drawn(seed: int) -> Row:
    """Return cells, right side and upper bounds; half of the sides are the sum at a point."""
    draw = random.Random(seed)
    size = 10 ** draw.randint(2, 40)
    names = "abc"[: draw.randint(1, 3)]
    cells = {name: draw.randint(1, size) * draw.choice([1, 1, -1]) for name in names}
    most = {name: draw.randint(1, 3) for name in names}
    high = draw.randint(-size, 3 * size)
    if draw.random() < 0.5:
        high = sum(a * draw.randint(0, most[name]) for name, a in cells.items())
    return cells, high + draw.choice([0, 0, -1]), most


def points(row: Row) -> list[dict[str, int]]:
    """Return all points of a row's box."""
    _, _, most = row
    return [
        dict(zip(most, x, strict=True)) for x in product(*(range(m + 1) for m in most.values()))
    ]


def holds(cells: dict[str, int], high: int, x: dict[str, int]) -> bool:
    """Whether a point satisfies a row."""
    return sum(a * x[name] for name, a in cells.items()) <= high


def satisfied(rows: list[DigitRow[str]], x: dict[str, int]) -> bool:
    """Whether a point satisfies the rows of all digits with the least carries."""
    before, every = 0, True
    for digit, own in zip(rows, [*carries(rows, x), 0], strict=True):
        assert digit.carry is None or digit.carry.low <= own <= digit.carry.high
        total = sum(a * x[name] for name, a in digit.cells.items()) + before - BASE * own
        every &= total <= digit.high
        before = own
    return every


@pytest.mark.parametrize("seed", range(60))
def test_rows_in_digits_say_the_same(seed: int) -> None:
    """A point satisfies a row exactly if it does its digits with some carries, and if tightened.

    Every point of it satisfies the row that is rounded down; integers of both are small.
    """
    row = drawn(seed)
    cells, high, most = row
    digits = digit_rows(cells, high, most)
    tight, rounded = tightened(cells, high, most), rounded_down(cells, high, most)
    small = [a for digit in digits for a in digit.cells.values()]
    assert all(abs(a) <= LARGEST for a in [*small, *rounded[0].values(), rounded[1]])
    for x in points(row):
        held = holds(cells, high, x)
        assert satisfied(digits, x) == holds(*tight, x) == held
        assert holds(*rounded, x) or not held
