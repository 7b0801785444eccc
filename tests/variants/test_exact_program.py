"""Programs in fractions against enumeration: feasible or not, and the best values of all levels."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from dlsched.solvers.row_scale import ExactRow
from dlsched.variants.exact_program import best_values
from dlsched.variants.tightening import Column

Terms = dict[int, Fraction]


def draw(seed: int) -> tuple[dict[int, Column], list[ExactRow], list[Terms]]:
    """Return up to five whole columns, up to five rows and three levels, with awkward numbers."""
    rng = np.random.default_rng(seed)
    numbers = [Fraction(k) for k in range(-4, 5)] + [Fraction(1, 3), Fraction(-7, 2), Fraction(11)]
    count = int(rng.integers(1, 6))

    def terms() -> Terms:
        return {
            j: numbers[int(rng.integers(len(numbers)))] for j in range(count) if rng.random() < 0.7
        }

    columns = {}
    for j in range(count):
        low = int(rng.integers(-2, 2))
        columns[j] = Column(Fraction(low), Fraction(low + int(rng.integers(0, 4))), True)
    rows = []
    for _ in range(int(rng.integers(0, 6))):
        limit = Fraction(int(rng.integers(-6, 7)), int(rng.integers(1, 3)))
        ends = [(limit, None), (None, limit), (limit, limit), (limit, limit + 2)]
        rows.append(ExactRow(terms(), *ends[int(rng.integers(4))]))
    return columns, rows, [terms() for _ in range(int(rng.integers(1, 4)))]


def value(terms: Terms, point: tuple[Fraction, ...]) -> Fraction:
    """Return what terms add up to at a point."""
    return sum((c * point[j] for j, c in terms.items()), Fraction(0))


@pytest.mark.parametrize("first", range(0, 600, 150))
def test_the_best_of_all_levels_is_that_of_enumeration(first: int) -> None:
    """Levels are minimized one after the other; a start that fits changes nothing."""
    found = 0
    for seed in range(first, first + 150):
        columns, rows, levels = draw(seed)
        ranges = [
            [Fraction(k) for k in range(int(c.lower or 0), int(c.upper or 0) + 1)]
            for c in columns.values()
        ]
        points = [
            point
            for point in itertools.product(*ranges)
            if all(row.holds(value(dict(row.terms), point)) for row in rows)
        ]
        choice = best_values(columns, rows, levels)
        if not points:
            assert choice.status == "infeasible", seed
            continue
        found += 1
        best = min([value(terms, point) for terms in levels] for point in points)
        start = dict(enumerate(points[-1]))
        for chosen in (choice, best_values(columns, rows, levels, start)):
            assert chosen.status == "optimal", seed
            point = tuple(chosen.values[j] for j in columns)
            assert point in points, seed
            assert [value(terms, point) for terms in levels] == best, seed
    assert found > 30


def test_what_improves_without_end_is_said() -> None:
    """A column without an upper bound; and one whose bounds no row reaches."""
    free = {0: Column(None, None, False), 1: Column(Fraction(0), None, True)}
    row = ExactRow({0: Fraction(1), 1: Fraction(-1)}, Fraction(0), None)
    assert best_values(free, [row], [{0: Fraction(-1)}]).status == "unbounded"
    assert best_values(free, [row], [{0: Fraction(1)}]).values == {0: 0, 1: 0}
    assert best_values(free, [row], [{1: Fraction(-2)}]).status == "unbounded"
