"""The form for proofs: squares by chords and tangents, the sigmoid by steps, in fractions.

It is the model's estimate of the cost with three differences: nothing is a double; the loads
between which none is attainable are found exactly, so that steps need no margin; and there are no
rows for what indivisible tables and jobs leave at least, since a search finds that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

from dlsched.problems.placement.definition.check import LEVELS, TOLERANCE
from dlsched.problems.placement.definition.schema import Instance
from dlsched.problems.placement.programs.coefficients import Shares
from dlsched.problems.placement.programs.form_homes import Homes
from dlsched.problems.placement.programs.rounding import sigmoid_below
from dlsched.problems.placement.programs.subset_sums import Sums
from dlsched.proofs.forms.form import Form
from dlsched.proofs.forms.parameters import require_keys, wholes

POINT_BITS = 40
"""Points of parameters are shares in multiples of two to minus this."""
_KEYS = ("squares", "stored", "steps")
_LEAST_BIG_M = Fraction(1, 1000)
"""HiGHS drops coefficients below 1e-9; a larger big-M than needed is valid."""


def estimate(instance: Instance, parameters: Mapping[str, Any]) -> Form:
    """Return the program of an estimate of the cost from below, valid whatever the parameters are.

    Parameters
    ----------
    parameters
        Lists of positions and then points, in multiples of two to minus `POINT_BITS`. ``squares``:
        region, type, priority, and shares of the demand over which the square has a chord;
        ``stored``: region, and shares of all bytes at which it has a tangent; ``steps``: region,
        type, and shares of the type's demand above which the sigmoid has a step.
    """
    return _program(instance, parameters).form()


def named_estimate(
    instance: Instance, parameters: Mapping[str, Any]
) -> tuple[Form, Mapping[str, Mapping[Any, int]]]:
    """Return the same program for variants, and the columns of what these may name.

    What is near is then stated in both directions.
    """
    program = _program(instance, parameters)
    shares = program.shares
    home = {
        (shares.tables[t], shares.regions[r]): column
        for t, of_table in enumerate(program.home)
        for r, column in enumerate(of_table)
    }
    runs = {
        (g, shares.regions[r]): column
        for g, of_group in enumerate(program.runs)
        for r, column in enumerate(of_group)
    }
    near = {
        (g, shares.tables[t], shares.regions[r]): column
        for g, of_group in program.near.items()
        for t, of_table in of_group.items()
        for r, column in enumerate(of_table)
    }
    for (g, table, region), column in near.items():
        both = {column: 1, home[table, region]: -1, runs[g, region]: -1}
        program.draft.at_least(both, -1)
    return program.form(), {"x": home, "y": runs, "near": near}


def _program(instance: Instance, parameters: Mapping[str, Any]) -> _Program:
    require_keys("estimate", parameters, (), _KEYS)
    squares, stored, steps = (
        _points(parameters.get(name, []), positions)
        for name, positions in zip(_KEYS, (3, 1, 2), strict=True)
    )
    program = _Program(instance)
    program.gpus(squares, steps)
    if instance.version == "v2":
        program.storage(stored)
    return program


FORMS: dict[str, Callable[[Instance, Mapping[str, Any]], Form]] = {"estimate": estimate}
NAMED_FORMS = {"estimate": named_estimate}
"""The forms for proofs of variants, with the columns of the variables that these may name."""


def _points(rows: Any, positions: int) -> dict[tuple[int, ...], list[Fraction]]:
    """Return the points by position; those beyond 0 and 1 are refused."""
    by_position: dict[tuple[int, ...], list[Fraction]] = {}
    for row in rows if isinstance(rows, list) else [rows]:
        if not wholes(row):
            raise ValueError("the form estimate needs lists of integers")
        points = {Fraction(v, 2**POINT_BITS) for v in row[positions:]}
        if any(not 0 <= point <= 1 for point in points):
            raise ValueError("a point of the form estimate is not between 0 and 1")
        by_position[tuple(row[:positions])] = sorted(points)
    return by_position


class _Program(Homes):
    """Placements and the estimate of their cost."""

    def form(self) -> Form:
        """Return the form of all that is stated so far."""
        return self.draft.form("estimate", LEVELS[0].name, self.costs)

    def gpus(
        self,
        squares: Mapping[tuple[int, ...], list[Fraction]],
        steps: Mapping[tuple[int, ...], list[Fraction]],
    ) -> None:
        """Add (2): a column for each square, and two for each step."""
        instance = self.instance
        shares = self.shares
        largest, weights = shares.priority_weight
        # The definition calculates this part in doubles, with at most this relative error.
        weight = Fraction(instance.weights.gpu) * largest * (1 - Fraction(TOLERANCE))
        for k in range(len(instance.kinds)):
            parts = {p: parts for (kind, p), parts in shares.demand.items() if kind == k}
            demands = {p: Sums(row.values()) for p, row in parts.items()}
            loads = Sums(shares.load[k].values())
            for r in self.places:
                cell = _Cell(shares, r, k)
                for p, row in parts.items():
                    gaps = _gaps(demands[p], squares.get((r, k, p), []))
                    cell.square[p] = self._square(self.load(row, r), cell.supply, gaps)
                    self.costs[cell.square[p]] = weight * weights[p] / 2
                if instance.version == "v2":
                    load = self.load(shares.load[k], r)
                    before = Fraction(1, 2)
                    last = None
                    for low, high in _gaps(loads, steps.get((r, k), [])):
                        factor = sigmoid_below(shares.overload(r, k, high))
                        last, extra = self._step(cell, load, low, high, last)
                        self.costs[extra] = weight * (factor - before)
                        before = factor

    def storage(self, stored: Mapping[tuple[int, ...], list[Fraction]]) -> None:
        """Add (3)."""
        instance = self.instance
        shares = self.shares
        if not instance.total_size or not instance.total_capacity:
            return
        for r in self.places:
            row = {self.home[t][r]: part for t, part in enumerate(shares.bytes)}
            tangents = [(point, point) for point in stored.get((r,), [])]
            column = self._square(row, shares.capacity[r], tangents)
            self.costs[column] = Fraction(instance.weights.storage)

    def _square(
        self,
        terms: Mapping[int, Fraction],
        share: Fraction,
        ends: Iterable[tuple[Fraction, Fraction]],
    ) -> int:
        """Return a column that is at least the square of a sum of binaries less a share.

        Between two ends without an attainable sum between them, no attainable square is below the
        chord; with equal ends it is a tangent. And as products of two binaries are not negative,
        the square is at least the sum of the terms' own, in which a binary's square is itself.
        """
        column = self.draft.column(max(share, 1 - share) ** 2)
        alone = {j: -a * (a - 2 * share) for j, a in terms.items()}
        self.draft.at_least({column: 1, **alone}, share**2)
        for low, high in ends:
            slope = low + high - 2 * share
            chord = {j: -slope * a for j, a in terms.items()}
            self.draft.at_least({column: 1, **chord}, share**2 - low * high)
        return column

    def _step(
        self,
        cell: _Cell,
        load: Mapping[int, Fraction],
        low: Fraction,
        high: Fraction,
        last: int | None,
    ) -> tuple[int, int]:
        """Return a binary, 1 if the load is not at most `low`, and a column for the squares then.

        Every load is at most `low` or at least `high`; `last` is the binary of the step before.
        """
        draft = self.draft
        over = draft.column(1, integer=True)
        most = cell.most(low)
        extra = draft.column(cell.most(Fraction(1)))
        draft.at_most({**load, over: -max(_LEAST_BIG_M, 1 - low)}, low)
        if last is not None:
            draft.at_most({over: 1, last: -1}, 0)
        squares = {column: -cell.weights[p] for p, column in cell.square.items()}
        draft.at_least({extra: 1, over: -most, **squares}, -most)
        draft.at_least({extra: 1, over: -cell.least(high)}, 0)
        return over, extra


class _Cell:
    """The squares of one region and type: shares of the supply, by priority of the demand."""

    def __init__(self, shares: Shares, r: int, k: int) -> None:
        self.supply = shares.supply[r][k]
        self.weights = shares.priority_weight[1]
        self.part = {p: part for (kind, p), part in shares.part.items() if kind == k}
        self.square: dict[int, int] = {}

    def most(self, load: Fraction) -> Fraction:
        """Return the largest sum of weighted squares at a load of at most this."""
        total = Fraction(0)
        for p, part in self.part.items():
            share = min(Fraction(1), load / part)
            total += self.weights[p] * max(self.supply, share - self.supply) ** 2
        return total

    def least(self, load: Fraction) -> Fraction:
        """Return the least sum of weighted squares at a load of at least this (Cauchy-Schwarz)."""
        excess = load - self.supply
        if excess <= 0 or not all(self.weights[p] for p in self.part):
            return Fraction(0)
        total = Fraction(0)
        for p, part in self.part.items():
            total += part**2 / self.weights[p]
        return excess**2 / total


def _gaps(sums: Sums, points: Iterable[Fraction]) -> list[tuple[Fraction, Fraction]]:
    """Return the gaps between attainable sums that hold points, in ascending order."""
    return sorted({gap for gap in map(sums.around, points) if gap is not None})
