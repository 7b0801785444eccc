"""The simplex method in fractions, for the few columns that a variant adds.

Each row is a basic column at first, the sum of its terms, with the row's limits as bounds. A pivot
exchanges a basic column for another one. Of all candidates the first is taken (Bland's rule), so
that the method ends: with an optimum, with a row that the bounds contradict, or with a ray.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction

from dlsched.solvers.row_scale import ExactRow
from dlsched.variants.exact_values import sum_of
from dlsched.variants.tightening import Column, Terms

MOST_OPERATIONS = 200_000
"""Operations on fractions before a program counts as too large: about a second."""


class TooLarge(Exception):
    """The program takes more operations than it may."""


class Simplex:
    """Columns within bounds, and sums of them within limits.

    Parameters
    ----------
    columns
        Bounds by the columns' keys.
    sums
        Each becomes a column of its key.
    stop
        Asked at each pivot; what is true counts as too large.

    Attributes
    ----------
    values
        Of the columns and the sums.
    """

    def __init__(
        self,
        columns: Mapping[int, Column],
        sums: Mapping[int, ExactRow],
        stop: Callable[[], object] | None = None,
    ) -> None:
        self.stop = stop
        self.operations = 0
        self._limits = {key: Column(row.lower, row.upper) for key, row in sums.items()}
        self.bounds = {**columns, **self._limits}
        self.values = {j: ends.nearest(Fraction(0)) for j, ends in columns.items()}
        self.values |= {key: sum_of(row.terms, self.values) for key, row in sums.items()}
        self._basic = {key: dict(row.terms) for key, row in sums.items()}

    def tighten(self, columns: Mapping[int, Column]) -> None:
        """Give all columns other bounds, and the sums their limits."""
        self.bounds = {**columns, **self._limits}
        for column in self.bounds:
            change = self._outside(column)
            if change and column not in self._basic:
                self._move(column, change)

    def contradiction(self) -> list[int]:
        """Make every basic column keep its bounds; return columns whose bounds exclude it."""
        while True:
            broken = min((b for b in self._basic if self._outside(b)), default=None)
            if broken is None:
                return []
            missing = self._outside(broken)
            terms = self._basic[broken]
            step = 1 if missing > 0 else -1
            entering = min((j for j, c in terms.items() if self._may_go(j, step * c)), default=None)
            if entering is None:
                return [broken, *terms]
            self._move(entering, missing / terms[entering])
            self._pivot(broken, entering)

    def minimize(self, costs: Terms) -> bool:
        """Minimize a sum of columns from values within the bounds; return whether it is bounded.

        Columns that would make it worse are then fixed, so that its minimum is kept.
        """
        while True:
            reduced = self._reduced(costs)
            entering = min((j for j, c in reduced.items() if self._may_go(j, -c)), default=None)
            if entering is None:
                for j, cost in reduced.items():
                    if cost:
                        self.bounds[j] = Column(self.values[j], self.values[j])
                return True
            step = -1 if reduced[entering] > 0 else 1
            longest, leaving = self.bounds[entering].room(self.values[entering], step), entering
            for b, terms in self._basic.items():
                rate = step * terms.get(entering, Fraction(0))
                room = self.bounds[b].room(self.values[b], 1 if rate > 0 else -1) if rate else None
                if room is None:
                    continue
                length = room / abs(rate)
                if longest is None or length < longest or (length == longest and b < leaving):
                    longest, leaving = length, b
            if longest is None:
                return False
            self._move(entering, step * longest)
            if leaving != entering:
                self._pivot(leaving, entering)

    def _outside(self, column: int) -> Fraction:
        """Return what a column's value is to change by to keep its bounds."""
        return self.bounds[column].nearest(self.values[column]) - self.values[column]

    def _may_go(self, column: int, direction: Fraction) -> bool:
        """Whether a column's value may change in the direction of a sign."""
        room = self.bounds[column].room(self.values[column], 1 if direction > 0 else -1)
        return bool(direction) and (room is None or room > 0)

    def _move(self, column: int, change: Fraction) -> None:
        """Change the value of a column that is not basic, and of the sums with it."""
        self.values[column] += change
        for b, terms in self._basic.items():
            if column in terms:
                self._count(1)
                self.values[b] += terms[column] * change

    def _reduced(self, costs: Terms) -> dict[int, Fraction]:
        """Return costs as ones of the columns that are not basic."""
        reduced: dict[int, Fraction] = {}
        for column, cost in costs.items():
            terms = self._basic.get(column, {column: Fraction(1)})
            self._count(len(terms))
            for j, c in terms.items():
                reduced[j] = reduced.get(j, Fraction(0)) + cost * c
        return reduced

    def _pivot(self, leaving: int, entering: int) -> None:
        """Exchange a basic column for one of its terms."""
        if self.stop is not None and self.stop():
            raise TooLarge
        terms = self._basic.pop(leaving)
        scale = 1 / terms.pop(entering)
        solved = {j: -c * scale for j, c in terms.items()} | {leaving: scale}
        self._basic[entering] = solved
        for b, others in self._basic.items():
            weight = others.pop(entering, None) if b != entering else None
            if weight is not None:
                self._count(len(solved))
                for j, c in solved.items():
                    total = others.get(j, 0) + weight * c
                    if total:
                        others[j] = total
                    else:
                        del others[j]

    def _count(self, operations: int) -> None:
        self.operations += operations
        if self.operations > MOST_OPERATIONS:
            raise TooLarge
