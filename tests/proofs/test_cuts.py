"""Cuts: what is derived from rows holds at every point with integer values that satisfies them."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from proof_cases import checked, value

from dlsched.proofs.cuts import InvalidCut, row_of, with_cuts
from dlsched.proofs.forms.form import Form, Row
from dlsched.results.proof import Cut

SMALL = st.integers(-5, 5)


def form_of(lower: list[int], upper: list[int], integer: list[bool], rows: list[Row]) -> Form:
    """Return a form without levels."""
    return Form("made", lower, upper, integer, rows, [])


def _of_sides(row: Row) -> st.SearchStrategy[int]:
    """Return multipliers for the sides that a row has."""
    return st.integers(0 if row.low is None else -7, 0 if row.high is None else 7)


@given(st.data())
@checked
def test_cuts_hold_for_any_multipliers(data: st.DataObject) -> None:
    """A point on or near the sides of all rows satisfies cuts with any multipliers.

    The later cuts use the earlier ones. Columns that are not integers have multiples of 1/3.
    """
    columns = data.draw(st.integers(1, 4))
    integer = data.draw(st.lists(st.booleans(), min_size=columns, max_size=columns))
    x = [Fraction(data.draw(SMALL), 1 if whole else 3) for whole in integer]
    # The bounds are integers; most often, the point is at or next to one of them.
    lower = [int(v // 1) - data.draw(st.integers(0, 1)) for v in x]
    upper = [-int(-v // 1) + data.draw(st.integers(0, 1)) for v in x]
    rows = []
    for _ in range(data.draw(st.integers(1, 3))):
        row = Row({j: a for j in range(columns) if (a := data.draw(SMALL))}, None, None)
        at = value(row, x)
        low = data.draw(st.one_of(st.none(), st.just(at // 1), st.just(at // 1 - 1)))
        high = data.draw(st.one_of(st.none(), st.just(-(-at // 1)), st.just(1 - (-at // 1))))
        rows.append(Row(row.coefficients, low, high))
    form = form_of(lower, upper, integer, rows)
    for _ in range(3):
        sides = [i for i, row in enumerate(rows) if (row.low, row.high) != (None, None)]
        multipliers = {i: y for i in sides if (y := data.draw(_of_sides(rows[i])))}
        from_upper = data.draw(st.frozensets(st.integers(0, columns - 1)))
        rows.append(row_of(form, rows, Cut(data.draw(st.integers(1, 6)), multipliers, from_upper)))
        assert value(rows[-1], x) <= rows[-1].high


def test_odd_cycle() -> None:
    """Of three columns that exclude each other one is 1; a cut of such cuts says so of five."""
    rows = [Row({i: 1, j: 1}, None, 1) for i, j in itertools.combinations(range(3), 2)]
    form = form_of([0] * 3, [1] * 3, [True] * 3, rows)
    assert row_of(form, rows, Cut(2, {0: 1, 1: 1, 2: 1})) == Row({0: 1, 1: 1, 2: 1}, None, 1)
    pairs = list(itertools.combinations(range(5), 2))
    rows = [Row({i: 1, j: 1}, None, 1) for i, j in pairs]
    form = form_of([0] * 5, [1] * 5, [True] * 5, rows)
    triples = [
        Cut(2, {i: 1 for i, pair in enumerate(pairs) if set(pair) <= set(three)})
        for three in itertools.combinations(range(5), 3)
    ]
    # Every column is in six of the ten triples: 6 (sum of x) <= 10.
    last = Cut(6, dict.fromkeys(range(10, 20), 1))
    found = with_cuts(form, rows, [*triples, last])
    assert found[-1].coefficients == dict.fromkeys(range(5), 1) and found[-1].high == 1
    with pytest.raises(InvalidCut, match="cut 0: its denominator or one of its rows"):
        with_cuts(form, rows, [last, *triples])


@pytest.mark.parametrize(
    ("integer", "cut", "row"),
    [
        # Of 2 x - s <= 3 half, s an integer or not: x - s <= 1.
        ([True, True], Cut(2, {0: 1}), Row({0: 1, 1: -1}, None, 1)),
        ([True, False], Cut(2, {0: 1}), Row({0: 1, 1: -1}, None, 1)),
        # With s = 2 - t, it is 2 x + t <= 5, of which t >= 0 is left out.
        ([True, False], Cut(2, {0: 1}, frozenset([1])), Row({0: 1}, None, 2)),
        # The same row as -2 x + s >= -3: a negative multiplier takes the low side.
        ([True, False], Cut(2, {1: -1}), Row({0: 1, 1: -1}, None, 1)),
    ],
)
def test_mixed_integer_rounding(integer: list[bool], cut: Cut, row: Row) -> None:
    """Half of a row with an odd right side, where one column need not be an integer."""
    rows = [Row({0: 2, 1: -1}, None, 3), Row({0: -2, 1: 1}, -3, None)]
    assert row_of(form_of([0, 0], [5, 2], integer, rows), rows, cut) == row


def test_distance_that_is_no_integer() -> None:
    """Of the one point x = 1/3, the distance to 0 is no integer: no cut says that x <= 0."""
    rows = [Row({0: 3}, 1, 1), Row({0: 1}, 0, None)]
    cut = Cut(2, {0: 1, 1: -2})
    assert row_of(form_of([0], [1], [False], rows), rows, cut) == Row({}, None, 0)
    assert row_of(form_of([0], [1], [True], rows), rows, cut) == Row({0: 1}, None, 0)


@pytest.mark.parametrize(
    ("cut", "message"),
    [
        (Cut(0, {0: 1}), "denominator"),
        (Cut(-2, {0: 1}), "denominator"),
        (Cut(2, {1: 1}), "one of its rows is not there"),
        (Cut(2, {-1: 1}), "one of its rows is not there"),
        (Cut(2, {0: -1}), "no side for its multiplier"),
        (Cut(2, {0: 1}, frozenset([3])), "one of its columns is not there"),
        (Cut(2, {0: 1}, frozenset([-1])), "one of its columns is not there"),
    ],
)
def test_what_is_no_cut_is_refused(cut: Cut, message: str) -> None:
    """The error says what is not there."""
    form = form_of([0, 0], [1, 1], [True, True], [Row({0: 1, 1: 1}, None, 1)])
    with pytest.raises(InvalidCut, match=message):
        row_of(form, form.rows, cut)
