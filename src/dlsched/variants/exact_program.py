"""The best values of added variables, exactly: linear programs in fractions, and branching.

The columns that rows connect are a program of their own, since the best of all is the best of each.
A row of one column is a bound. A row of whole columns has whole limits. Relaxations are solved
level by level; where a whole column has a fraction, its range is divided there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, NamedTuple

from dlsched.schema import granularity
from dlsched.solvers.row_scale import ExactRow
from dlsched.variants.exact_simplex import Interval, Simplex, Terms, TooLarge
from dlsched.variants.exact_values import sum_of
from dlsched.variants.tightening import Column

MOST_NODES = 2_000
"""Relaxations before a program with whole columns counts as undecided."""


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
    program = _Bounded.of(columns, rows)
    if isinstance(program, Choice):
        return program
    values: dict[int, Fraction] = {}
    for keys, positions in _parts(program.columns, program.rows):
        part = _Part(
            keys,
            [program.columns[key] for key in keys],
            {i: program.rows[i] for i in positions},
            [{key: costs[key] for key in keys if costs.get(key)} for costs in levels],
            stop,
        )
        choice = part.solve(start)
        if choice.status != "optimal":
            return choice._replace(rows=sorted({*choice.rows, *program.origins(keys)}))
        values |= choice.values
    return Choice("optimal", values)


_MOST_NAMES = 5
"""Rows that a message names."""


def contradiction(names: Sequence[str], positions: Sequence[int]) -> str:
    """Return a sentence that names rows which leave no values."""
    shown = [names[i] for i in positions[:_MOST_NAMES]]
    more = len(positions) - len(shown)
    said = f"these constraints contradict each other: {', '.join(shown)}"
    return f"{said} and {more} more" if more else said


@dataclass
class _Bounded:
    """Columns whose bounds include the rows of one column, and the other rows by position."""

    columns: dict[int, Column]
    rows: dict[int, ExactRow] = field(default_factory=dict)
    bounding: dict[int, list[int]] = field(default_factory=dict)

    @classmethod
    def of(cls, columns: Mapping[int, Column], rows: Sequence[ExactRow]) -> _Bounded | Choice:
        """Return the program, or that it is infeasible."""
        program = cls(dict(columns))
        for position, given in enumerate(rows):
            terms = {key: c for key, c in given.terms.items() if c}
            row = _whole_limits(ExactRow(terms, given.lower, given.upper), columns)
            empty = row.lower is not None and row.upper is not None and row.lower > row.upper
            if empty or not (terms or row.holds(Fraction(0))):
                return Choice("infeasible", rows=[position])
            if len(terms) > 1:
                program.rows[position] = row
            elif terms:
                program.bounding.setdefault(next(iter(terms)), []).append(position)
                if not program.narrow(row):
                    return Choice("infeasible", rows=program.origins(terms))
        return program

    def narrow(self, row: ExactRow) -> bool:
        """Take a row of one column as bounds; return whether they leave a value."""
        [(key, coefficient)] = row.terms.items()
        ends = [None if end is None else end / coefficient for end in (row.lower, row.upper)]
        low, high = ends if coefficient > 0 else reversed(ends)
        column = self.columns[key]
        lows = [end for end in (column.lower, low) if end is not None]
        highs = [end for end in (column.upper, high) if end is not None]
        bounds = Interval(max(lows, default=None), min(highs, default=None))
        low, high = _whole_ends(bounds) if column.integer else bounds
        self.columns[key] = Column(low, high, column.integer)
        return low is None or high is None or low <= high

    def origins(self, keys: Sequence[int] | Mapping[int, Fraction]) -> list[int]:
        """Return the positions of the rows that are bounds of columns."""
        return [position for key in keys for position in self.bounding.get(key, ())]


def _whole_ends(bounds: Interval) -> Interval:
    low, high = bounds
    return Interval(
        None if low is None else Fraction(math.ceil(low)),
        None if high is None else Fraction(math.floor(high)),
    )


def _whole_limits(row: ExactRow, columns: Mapping[int, Column]) -> ExactRow:
    """Return a row with limits that its values can have, if all its columns are whole."""
    if not row.terms or not all(columns[key].integer for key in row.terms):
        return row
    step = granularity(row.terms.values())
    scaled = Interval(*(None if end is None else end / step for end in (row.lower, row.upper)))
    low, high = (None if end is None else end * step for end in _whole_ends(scaled))
    return ExactRow(row.terms, low, high)


def _parts(
    columns: Mapping[int, Column], rows: Mapping[int, ExactRow]
) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the columns that rows connect, and the positions of these rows."""
    rows_of: dict[int, list[int]] = {key: [] for key in columns}
    for position, row in rows.items():
        for key in row.terms:
            rows_of[key].append(position)
    seen: set[int] = set()
    for first in columns:
        if first in seen:
            continue
        seen.add(first)
        keys, positions = [first], dict[int, None]()
        for key in keys:
            for position in rows_of[key]:
                if position not in positions:
                    positions[position] = None
                    new = [k for k in rows[position].terms if k not in seen]
                    seen.update(new)
                    keys += new
        yield keys, list(positions)


def _rounded_up(
    values: Sequence[Fraction | float], steps: Sequence[Fraction]
) -> list[Fraction | float]:
    """Return the least values of the levels of which each is a multiple of a step.

    Where one is above the relaxation's, nothing is known of the levels after it.
    """
    rounded: list[Fraction | float] = []
    for value, step in zip(values, steps, strict=True):
        known = value if isinstance(value, float) or not step else math.ceil(value / step) * step
        rounded.append(known)
        if known != value:
            break
    return rounded + [_NO_END] * (len(values) - len(rounded))


_NO_END = -math.inf
"""The value of a level that improves without end."""


@dataclass
class _Part:
    """A program of columns that rows connect: relaxations, and their division."""

    keys: Sequence[int]
    columns: Sequence[Column]
    rows: Mapping[int, ExactRow]
    levels: Sequence[Terms]
    stop: Callable[[], object] | None

    def solve(self, start: Mapping[int, Fraction] | None) -> Choice:
        """Return the best values of the part."""
        place = {key: j for j, key in enumerate(self.keys)}
        bounds = [Interval(column.lower, column.upper) for column in self.columns]
        limits = [Interval(row.lower, row.upper) for row in self.rows.values()]
        simplex = Simplex(
            bounds,
            [{place[key]: c for key, c in row.terms.items()} for row in self.rows.values()],
            limits,
            self.stop,
        )
        costs = [{place[key]: c for key, c in level.items()} for level in self.levels]
        best = None if start is None else self._fitting([start[key] for key in self.keys])
        value: list[Fraction | float] = []
        if best is not None:
            value += [sum_of(terms, best) for terms in costs]
        steps = [self._step(terms) for terms in costs]
        contradicting: set[int] = set()
        open_boxes = [bounds]
        try:
            for _ in range(MOST_NODES):
                if not open_boxes:
                    break
                box = open_boxes.pop()
                simplex.tighten([*box, *limits])
                broken = simplex.contradiction()
                if broken:
                    contradicting.update(j - len(box) for j in broken if j >= len(box))
                    continue
                least = _rounded_up(_minimum(simplex, costs), steps)
                if best is not None and least >= value:
                    continue
                point = simplex.values[: len(box)]
                split = self._fractional(point)
                if split is None:
                    best, value = point, least
                    continue
                open_boxes += _halves(box, split, point[split])
            else:
                if open_boxes:
                    return Choice("undecided")
        except TooLarge:
            return Choice("undecided")
        if best is None:
            positions = list(self.rows)
            return Choice("infeasible", rows=[positions[i] for i in sorted(contradicting)])
        if _NO_END in value:
            return Choice("unbounded")
        return Choice("optimal", dict(zip(self.keys, best, strict=True)))

    def _fitting(self, point: list[Fraction]) -> list[Fraction] | None:
        """Return a point if it fits."""
        values = dict(zip(self.keys, point, strict=True))
        inside = all(
            Interval(column.lower, column.upper).nearest(value) == value
            and (value.denominator == 1 or not column.integer)
            for column, value in zip(self.columns, point, strict=True)
        )
        fits = inside and all(row.holds(sum_of(row.terms, values)) for row in self.rows.values())
        return point if fits else None

    def _step(self, costs: Terms) -> Fraction:
        """Return what a level's values are multiples of; 0 if nothing is known."""
        whole = all(self.columns[j].integer for j in costs)
        return granularity(costs.values()) if whole else Fraction(0)

    def _fractional(self, point: Sequence[Fraction]) -> int | None:
        """Return the first whole column whose value is a fraction; ``None`` if there is none."""
        pairs = zip(self.columns, point, strict=True)
        return next((j for j, (c, v) in enumerate(pairs) if c.integer and v.denominator > 1), None)


def _minimum(simplex: Simplex, costs: Sequence[Terms]) -> list[Fraction | float]:
    """Return the least values of the levels, each with those before it held."""
    least: list[Fraction | float] = []
    for terms in costs:
        if not simplex.minimize(terms):
            return [*least, *[_NO_END] * (len(costs) - len(least))]
        least.append(sum_of(terms, simplex.values))
    return least


def _halves(box: Sequence[Interval], column: int, value: Fraction) -> list[list[Interval]]:
    """Return a box divided at a fraction, the half that is nearer to it last."""
    low, high = box[column]
    below, above = list(box), list(box)
    below[column] = Interval(low, Fraction(math.floor(value)))
    above[column] = Interval(Fraction(math.ceil(value)), high)
    return [above, below] if value - math.floor(value) < Fraction(1, 2) else [below, above]
