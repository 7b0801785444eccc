"""The best values of added variables, exactly: linear programs in fractions, and branching.

The columns that rows connect are a program of their own, since the best of all is the best of each.
A row of one column is a bound. A row of whole columns has whole limits. Relaxations are solved
level by level; where a whole column has a fraction, its range is divided there.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, NamedTuple

from dlsched.schema import granularity
from dlsched.solvers.row_scale import ExactRow
from dlsched.variants.exact_simplex import Simplex, TooLarge
from dlsched.variants.exact_values import sum_of
from dlsched.variants.tightening import Column, Terms

MOST_NODES = 2_000
"""Relaxations before a program with whole columns counts as undecided."""
_MOST_NAMES = 5
"""Rows that a message names."""


class Choice(NamedTuple):
    """The best values, or why there are none.

    Attributes
    ----------
    status
        What was shown; undecided if the program is too large.
    values
        By the columns' keys, if it is optimal.
    rows
        If it is infeasible, positions of rows that leave no values together with the bounds.
    """

    status: Literal["optimal", "infeasible", "unbounded", "undecided"]
    values: Mapping[int, Fraction] = {}
    rows: Sequence[int] = ()


def best_values(
    columns: Mapping[int, Column],
    rows: Sequence[ExactRow],
    levels: Sequence[Terms],
    start: Mapping[int, Fraction] | None = None,
    stop: Callable[[], object] | None = None,
) -> Choice:
    """Return the values that are best for the levels, which are minimized one after the other.

    Parameters
    ----------
    columns
        The variables by key.
    rows
        Over these keys alone.
    levels
        Costs by key.
    start
        Values of all columns, from which the search begins if they fit.
    stop
        Asked now and then; what is true ends the search without a decision.
    """
    place = {key: j for j, key in enumerate(columns)}
    bounds = {j: c.whole() if c.integer else c for j, c in enumerate(columns.values())}
    bounding: dict[int, list[int]] = defaultdict(list)
    sums: dict[int, ExactRow] = {}
    for i, row in enumerate(rows):
        terms = {place[key]: c for key, c in row.terms.items() if c}
        limits = Column(row.lower, row.upper)
        if terms and all(bounds[j].integer for j in terms):
            step = granularity(terms.values())
            limits = limits.times(1 / step).whole().times(step)
        if limits.empty or not (terms or limits.has(Fraction(0))):
            return Choice("infeasible", rows=[i])
        if len(terms) == 1:
            [(j, coefficient)] = terms.items()
            bounding[j].append(i)
            bounds[j] = bounds[j].meet(limits.times(1 / coefficient))
            if bounds[j].empty:
                return Choice("infeasible", rows=bounding[j])
        elif terms:
            sums[len(place) + i] = ExactRow(terms, limits.lower, limits.upper)
    costs = [{place[key]: c for key, c in level.items() if c} for level in levels]
    known = {place[key]: value for key, value in (start or {}).items()}
    values: dict[int, Fraction] = {}
    for part, connecting in _parts(bounds, sums):
        own = [{j: level[j] for j in part if j in level} for level in costs]
        program = _Part({j: bounds[j] for j in part}, connecting, own, known)
        try:
            choice = program.solve(stop)
        except TooLarge:
            return Choice("undecided")
        if choice.status == "infeasible":
            bounds_of_part = [i for j in part for i in bounding[j]]
            broken = [key - len(place) for key in choice.rows]
            return Choice("infeasible", rows=sorted({*broken, *bounds_of_part}))
        if choice.status != "optimal":
            return choice
        values |= choice.values
    return Choice("optimal", {key: values[j] for key, j in place.items()})


def contradiction(names: Sequence[str], positions: Sequence[int]) -> str:
    """Return a sentence that names rows which leave no values."""
    shown = [names[i] for i in positions[:_MOST_NAMES]]
    more = len(positions) - len(shown)
    said = f"these constraints contradict each other: {', '.join(shown)}"
    return f"{said} and {more} more" if more else said


def _parts(
    columns: Iterable[int], sums: Mapping[int, ExactRow]
) -> Iterator[tuple[list[int], dict[int, ExactRow]]]:
    """Yield the columns that sums connect, and these sums."""
    part_of = {j: [j] for j in columns}
    for row in sums.values():
        joined = {id(part_of[j]): part_of[j] for j in row.terms}
        largest, *others = sorted(joined.values(), key=len, reverse=True)
        for part in others:
            largest += part
            part_of |= dict.fromkeys(part, largest)
    sums_of: dict[int, dict[int, ExactRow]] = defaultdict(dict)
    for key, row in sums.items():
        sums_of[id(part_of[next(iter(row.terms))])][key] = row
    for part in {id(part): part for part in part_of.values()}.values():
        yield sorted(part), sums_of[id(part)]


_NO_END = -math.inf
"""The value of a level that improves without end, or of which nothing is known."""


@dataclass
class _Part:
    """A program of columns that sums connect: relaxations, and their division.

    Attributes
    ----------
    columns
        Bounds by column.
    sums
        By keys above those of columns.
    levels
        Costs, to minimize.
    start
        A point, which need not fit; or nothing.
    """

    columns: dict[int, Column]
    sums: dict[int, ExactRow]
    levels: list[dict[int, Fraction]]
    start: Mapping[int, Fraction]

    def solve(self, stop: Callable[[], object] | None) -> Choice:
        """Return the best values; where there are none, the keys of sums that leave none.

        `TooLarge` is raised if it takes too many operations or relaxations.
        """
        simplex = Simplex(self.columns, self.sums, stop)
        best = {j: self.start[j] for j in self.columns} if self._start_fits() else None
        value: list[Fraction | float] = []
        if best is not None:
            value += [sum_of(terms, best) for terms in self.levels]
        broken: set[int] = set()
        open_boxes = [self.columns]
        relaxations = 0
        while open_boxes:
            relaxations += 1
            if relaxations > MOST_NODES:
                raise TooLarge
            box = open_boxes.pop()
            simplex.tighten(box)
            excluded = simplex.contradiction()
            if excluded:
                broken.update(excluded)
                continue
            least = self._least(simplex)
            if best is not None and least >= value:
                continue
            point = {j: simplex.values[j] for j in box}
            split = next((j for j in box if box[j].integer and point[j].denominator > 1), None)
            if split is None:
                best, value = point, least
                continue
            down = math.floor(point[split])
            below = box | {split: Column(box[split].lower, Fraction(down), True)}
            above = box | {split: Column(Fraction(down + 1), box[split].upper, True)}
            nearer_below = point[split] - down < Fraction(1, 2)
            open_boxes += [above, below] if nearer_below else [below, above]
        if best is None:
            return Choice("infeasible", rows=[*(broken & self.sums.keys())])
        return Choice("unbounded") if _NO_END in value else Choice("optimal", best)

    def _start_fits(self) -> bool:
        """Whether there is a point that is within the bounds of all columns and sums."""
        within = bool(self.start) and all(
            ends.has(self.start[j]) and (self.start[j].denominator == 1 or not ends.integer)
            for j, ends in self.columns.items()
        )
        return within and all(r.holds(sum_of(r.terms, self.start)) for r in self.sums.values())

    def _least(self, simplex: Simplex) -> list[Fraction | float]:
        """Return the least values of the levels, each with those before it held.

        In whole columns they are multiples of a step; where one is above the relaxation's, nothing
        is known of the levels after it.
        """
        least: list[Fraction | float] = []
        for terms in self.levels:
            if not simplex.minimize(terms):
                break
            relaxed = sum_of(terms, simplex.values)
            whole = all(self.columns[j].integer for j in terms)
            step = granularity(terms.values()) if whole else None
            least.append(math.ceil(relaxed / step) * step if step else relaxed)
            if least[-1] != relaxed:
                break
        return least + [_NO_END] * (len(self.levels) - len(least))
