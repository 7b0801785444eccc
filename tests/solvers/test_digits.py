"""Rows of large integers in digits, and rounded down, against all points of small boxes."""

from __future__ import annotations

import random
from itertools import product

from dlsched.solvers.digits import (
    BASE,
    LARGEST,
    DigitRow,
    carries,
    digit_rows,
    rounded_down,
    tightened,
)

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


def test_digits_say_the_same() -> None:
    """A point satisfies a row exactly if it does the rows of its digits, with some carries."""
    for row in map(drawn, range(60)):
        cells, high, most = row
        rows = digit_rows(cells, high, most)
        assert all(abs(a) <= LARGEST for digit in rows for a in digit.cells.values())
        assert all(satisfied(rows, x) == holds(cells, high, x) for x in points(row))


def test_tightened_says_the_same() -> None:
    """The same integer points satisfy a row and the tightened one."""
    for row in map(drawn, range(60)):
        cells, high, most = row
        smaller, side = tightened(cells, high, most)
        assert all(holds(cells, high, x) == holds(smaller, side, x) for x in points(row))


def test_rounding_down_cuts_nothing_off() -> None:
    """Every point of a row is one of the row that is rounded down, whose integers are small."""
    for row in map(drawn, range(60)):
        cells, high, most = row
        smaller, side = rounded_down(cells, high, most)
        assert all(abs(a) <= LARGEST for a in [*smaller.values(), side])
        assert all(holds(smaller, side, x) for x in points(row) if holds(cells, high, x))
