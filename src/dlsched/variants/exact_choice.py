"""The best values of a few integer variables under rows that no solver decides, exactly.

Bounds are propagated through the rows in fractions, and the widest variable's range is halved.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

from dlsched.variants.tightening import Column, Terms

Ranges: TypeAlias = dict[int, tuple[int, int]]
"""The least and the largest value of each variable, by its key."""
MOST_TERMS = 50_000
"""Terms of rows that are looked at: about a second."""


@dataclass(frozen=True)
class Row:
    """A row in exact arithmetic; ``None`` for no limit."""

    terms: Terms
    lower: Fraction | None
    upper: Fraction | None

    @property
    def too_wide(self) -> bool:
        """Whether a solver may take coefficients or limits for 0 beside others."""
        limits = [limit for limit in (self.lower, self.upper) if limit is not None]
        sizes = [abs(number) for number in (*self.terms.values(), *limits) if number]
        return bool(sizes) and max(sizes) > _WIDE * min(sizes)


_WIDE = 10**6
"""A solver takes for an integer what differs by 1e-6 from one."""


@dataclass
class ExactChoice:
    """The search.

    Parameters
    ----------
    rows
        Over the integer variables alone.
    levels
        Costs to minimize, one level after the other.
    """

    rows: Sequence[Row]
    levels: Sequence[Terms]
    best: dict[int, int] | None = None
    value: list[Fraction] = field(default_factory=list)
    looked_at: int = 0

    def solve(self, columns: Mapping[int, Column]) -> bool:
        """Find the best values; return whether the search was complete."""
        boxes: list[Ranges] = [{key: _range(column) for key, column in columns.items()}]
        while boxes:
            ranges = boxes.pop()
            if not self._propagate(ranges):
                continue
            if self.looked_at > MOST_TERMS:
                return False
            if self.best is not None and self._least(ranges) >= self.value:
                continue
            key = max(ranges, key=lambda k: ranges[k][1] - ranges[k][0])
            low, high = ranges[key]
            if low == high:
                self.best = {k: first for k, (first, _) in ranges.items()}
                self.value = self._least(ranges)
                continue
            middle = (low + high) // 2
            halves = [ranges | {key: (middle + 1, high)}, ranges | {key: (low, middle)}]
            boxes += sorted(halves, key=self._least, reverse=True)
        return True

    def _least(self, ranges: Ranges) -> list[Fraction]:
        """Return a value of the levels that nothing in the box is below."""
        return [
            sum((c * ranges[key][c < 0] for key, c in terms.items()), Fraction(0))
            for terms in self.levels
        ]

    def _propagate(self, ranges: Ranges) -> bool:
        """Shrink the box to what the rows leave, or to some more; return whether some is left."""
        changed = True
        while changed and self.looked_at <= MOST_TERMS:
            changed = False
            for row in self.rows:
                for sign, limit in ((1, row.upper), (-1, row.lower)):
                    if limit is None:
                        continue
                    self.looked_at += len(row.terms)
                    terms = {key: sign * c for key, c in row.terms.items()}
                    shrunk = _shrink(terms, sign * limit, ranges)
                    if shrunk is None:
                        return False
                    changed = changed or bool(shrunk)
                    ranges.update(shrunk)
        return True


def _shrink(terms: Terms, limit: Fraction, ranges: Ranges) -> Ranges | None:
    """Return the ranges that a row "at most" makes smaller; ``None`` if it leaves nothing."""
    slack = limit - sum((c * ranges[key][c < 0] for key, c in terms.items()), Fraction(0))
    if slack < 0:
        return None
    shrunk = {}
    for key, c in terms.items():
        low, high = ranges[key]
        step = math.floor(slack / abs(c))
        if step < high - low:
            shrunk[key] = (low, low + step) if c > 0 else (high - step, high)
    return shrunk


def _range(column: Column) -> tuple[int, int]:
    assert column.lower is not None and column.upper is not None
    return math.ceil(column.lower), math.floor(column.upper)
