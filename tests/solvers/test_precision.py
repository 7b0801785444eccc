"""Rows beyond a solver's precision: refused points, and rows in digits or rounded down."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from scipy import sparse

from dlsched import Run
from dlsched.doctor import StandardForm
from dlsched.results.objective import ByLevel, Level
from dlsched.results.result import Report, Status, Termination, Violation
from dlsched.solvers.digits import (
    BASE,
    LARGEST,
    DigitRow,
    carries,
    digit_rows,
    rounded_down,
    tightened,
)
from dlsched.solvers.levels import solve_levels
from dlsched.solvers.precision import BEYOND_PRECISION, LARGEST_TERM, undecided_row
from dlsched.solvers.standard_form import INF

VALUE = (Level("value", "max", "things"),)


def form(cells: list[float], high: float, most: float = 1.0) -> StandardForm:
    """Return one row of binary columns, or of integers up to `most`."""
    width = len(cells)
    return StandardForm.of(
        sparse.csc_array([cells]),
        np.array([-INF]),
        np.array([high]),
        np.full(width, most),
        np.ones(width),
        sense="max",
    )


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
    assert (undecided_row(form(cells, high, most)) is None) == decided


def model(coefficient: float) -> Any:
    """Return a module whose solutions are the values of two binary variables."""

    def build(instance: Any) -> Any:
        m = pyo.ConcreteModel()
        m.x = pyo.Var([0, 1], domain=pyo.Binary)
        m.value = pyo.Objective(expr=m.x[0] + 2 * m.x[1], sense=pyo.maximize)
        m.row = pyo.Constraint(expr=coefficient * (2 * m.x[0] + 2 * m.x[1]) <= 3 * coefficient)
        return m

    def read(instance: Any, m: Any) -> Any:
        return tuple(round(m.x[j].value) for j in (0, 1))

    def assign(instance: Any, m: Any, solution: Any) -> None:
        for j in (0, 1):
            m.x[j].set_value(solution[j])

    return SimpleNamespace(build=build, read=read, assign=assign)


NAMED: Any = SimpleNamespace(name="two")


def test_no_optimum_is_stated_of_rows_beyond_precision() -> None:
    """The point is returned, with the row's name; a bound of the solver is not."""
    claim = solve_levels(NAMED, Run(), model(3e12))
    assert claim.status is Status.FEASIBLE and claim.termination is Termination.TOLERANCES
    assert claim.reason == f"{BEYOND_PRECISION}: constraint row"
    assert all(bound.kind != "claimed" for level in claim.bounds for bound in level)
    assert solve_levels(NAMED, Run(), model(3.0)).status is Status.OPTIMAL


def refuse_the_second(instance: Any, solution: Any) -> Report:
    """Return a report in which the second variable must be 0."""
    violations = (Violation("second", "x[1]", "is over by a hair"),) if solution[1] else ()
    return Report(violations, ByLevel(VALUE, [solution[0] + 2 * solution[1]]), {})


def test_a_refused_point_is_rejected() -> None:
    """Nothing is returned for it but what the search began from, and the reason says why."""
    run = replace(Run(), check=refuse_the_second)
    claim = solve_levels(NAMED, run, model(1.0))
    assert claim.status is Status.NO_SOLUTION and claim.solution is None
    assert claim.termination is Termination.TOLERANCES and "x[1]: is over by a hair" in claim.reason
    again = solve_levels(NAMED, run, model(1.0), first=(1, 0))  # type: ignore[arg-type]
    assert again.status is Status.FEASIBLE and again.solution == (1, 0)


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
