"""Internal: rows beyond a solver's precision, stated in digits or rounded down."""

from __future__ import annotations

import random
from itertools import product

import pytest
from forms import make_form

from dlsched.solvers.digits import (
    BASE,
    LARGEST,
    DigitRow,
    carries,
    digit_rows,
    rounded_down,
    tightened,
)
from dlsched.solvers.precision import LARGEST_TERM, undecided_row
from dlsched.solvers.standard_form import INF


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
