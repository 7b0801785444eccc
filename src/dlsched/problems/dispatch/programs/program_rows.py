"""An integer program of dispatch as it is written: columns, rows of whole numbers, levels."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple, TypeAlias

import numpy as np

from dlsched.problems.dispatch.definition.ranking import Ranked
from dlsched.problems.dispatch.definition.workloads import MOST_PRIORITIES
from dlsched.problems.dispatch.structures.fleet import Fleet
from dlsched.schema import Number, granularity, simplify
from dlsched.solvers.digits import rounded_down
from dlsched.solvers.outcome import Vector
from dlsched.solvers.standard_form import INF, StandardForm

Cell: TypeAlias = tuple[int, int]
"""A column and its coefficient."""


class LevelCosts(NamedTuple):
    """A level of the objective: the exact cost of each column that has one."""

    costs: Mapping[int, Number]
    granularity: Fraction
    sense: str = "min"


class ProgramRows:
    """The columns, from 0 to a whole number, and the rows between them.

    Attributes
    ----------
    top
        Upper limit of each column.
    implied
        The same, or less if the rows do not allow more.
    cells
        Row, column and coefficient.
    levels
        The objective; set once the columns are there.
    """

    def __init__(self) -> None:
        self.top: list[int] = []
        self.implied: list[int] = []
        self.cells: list[tuple[int, int, int]] = []
        self.lower: list[float] = []
        self.upper: list[float] = []
        self.levels: list[LevelCosts] = []

    def column(self, most: int, implied: int | None = None) -> int:
        """Add a column and return its position."""
        self.top.append(most)
        self.implied.append(most if implied is None else implied)
        return len(self.top) - 1

    def row(self, cells: Iterable[Cell], low: float, high: float) -> None:
        """Add a row as it is, without cells of 0."""
        self.cells += [(len(self.lower), column, a) for column, a in cells if a]
        self.lower.append(low)
        self.upper.append(high)

    def balance(self, cells: Collection[Cell]) -> None:
        """Add that a sum is 0."""
        unit = math.gcd(*(a for _, a in cells)) or 1
        self.row([(column, a // unit) for column, a in cells], 0, 0)

    def at_most(self, cells: Collection[Cell], high: int) -> None:
        """Add a row, divided by the greatest common divisor of its numbers and rounded down."""
        unit = math.gcd(*(a for _, a in cells), high) or 1
        whole = {column: a // unit for column, a in cells}
        limits = {column: self.implied[column] for column in whole}
        smaller, most = rounded_down(whole, high // unit, limits)
        self.row(smaller.items(), -INF, most)

    def form(self, whole: bool = True) -> StandardForm:
        """Return the program, of whole columns or its linear relaxation."""
        from scipy import sparse

        width = len(self.top)
        cells = np.array(self.cells, dtype=float).reshape(-1, 3)
        places = cells[:, :2].astype(int).T
        costs = np.zeros((len(self.levels), width))
        for vector, level in zip(costs, self.levels, strict=True):
            for column, cost in level.costs.items():
                vector[column] = float(cost)
        matrix = sparse.csc_array((cells[:, 2], tuple(places)), shape=(len(self.lower), width))
        matrix.sum_duplicates()  # which SciPy 1.13 leaves, and HiGHS 1.14 refuses
        return StandardForm(
            A=matrix,
            row_lower=np.array(self.lower, dtype=float),
            row_upper=np.array(self.upper, dtype=float),
            lower=np.zeros(width),
            upper=np.array(self.top, dtype=float),
            integer=np.full(width, whole),
            costs=tuple(costs),
            offsets=(0.0,) * len(costs),
            senses=tuple(level.sense for level in self.levels),
            granularities=tuple(level.granularity for level in self.levels),
            level_names=tuple(f"level_{level}" for level in range(len(costs))),
        )

    def value(self, level: int, values: Vector) -> Number:
        """Return the exact value of a level at an integer point."""
        costs = self.levels[level].costs
        return simplify(Fraction(sum(cost * int(values[j]) for j, cost in costs.items())))


ONE = Fraction(1)
"""Granularity of levels that count."""


def levels(
    fleet: Fleet,
    ranking: Sequence[Ranked],
    victims: Mapping[int, int],
    regions: Mapping[tuple[int, int], int],
    spread: Iterable[int],
) -> list[LevelCosts]:
    """Return the levels of the problem.

    Parameters
    ----------
    victims
        Column of each running workload that may be preempted, by position.
    regions
        Column of each workload, by position, in each region where it may start.
    spread
        Columns of machines and racks in use.
    """
    instance = fleet.instance
    sizes = {r.position: instance.size(instance.pending[r.position]) for r in ranking}
    size_granularity = granularity(sizes.values())
    priority = {ranked.position: ranked.priority for ranked in ranking}
    levels: list[LevelCosts] = []
    for p in range(1, MOST_PRIORITIES + 1):
        lost = {column: fleet.jobs[v] for v, column in victims.items() if fleet.priority[v] == p}
        started = {column: sizes[w] for (w, _), column in regions.items() if priority[w] == p}
        levels += [LevelCosts(lost, ONE), LevelCosts(started, size_granularity, "max")]
    young = {column: fleet.young[v] for v, column in victims.items()}
    youth = LevelCosts(young, granularity(young.values()))
    return [*levels, youth, LevelCosts(dict.fromkeys(spread, 1), ONE)]
