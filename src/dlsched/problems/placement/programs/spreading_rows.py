"""Spreading rows: jobs that share tables run in the same region, or some of them nowhere.

A region's demand is the sum of the demands a_g of the groups that run there, and its square the sum
of a_g a_h over all pairs that do. The relaxation may divide every group among the regions, which
balances them; rows about single groups and regions do not see that jobs which share a table move
together. Let x_t and y_g be 1 if table t is in the region, and group g, which needs all its tables,
runs there. If g runs, its tables are there; so along a path from g over a table of it to another
reader, over one of the tables of that, and so on, up to a group h,

    [g and h run there] >= y_g - sum over the path's steps from a table t to a reader j (x_t - y_j):

each difference is 0 or 1, and if h does not run although g does, some table of the path is there
whose next reader does not run. A group that may run without all its tables is on a path with the
part to which a table is near it in place of y_j, and a step from it to a table may fail as well.
Between fractions these lengths are a spreading metric (Even, Naor, Rao, Schieber 2000).

The pairs of a node with all nodes of less weight have a column each, and rows with the shortest
paths of a relaxation's optimum. A square is at least what these columns are with the squares of its
terms, and above its tangents. Likewise for the square of a region's bytes, with paths from table to
table.

Paths are chosen in doubles, and every choice of paths gives a valid row. Weights in pairs are whole
multiples of two to minus `_BITS`, rounded down, which is valid as no pair counts less than 0, and
their sums are whole numbers below 2^62. The rest is calculated in fractions, and rounded once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.placement.model import columns_by_name
from dlsched.problems.placement.programs.coefficients import Shares
from dlsched.problems.placement.programs.cost_rows import THOUSAND
from dlsched.problems.placement.programs.rounding import below
from dlsched.problems.placement.programs.spreading_paths import Links, Paths
from dlsched.problems.placement.programs.tunables import TUNABLES
from dlsched.solvers.arrays import FloatRows, Floats, Ints
from dlsched.solvers.outcome import Vector
from dlsched.solvers.standard_form import StandardForm

_BITS = 30
"""Weights in pairs are multiples of two to minus this."""


class Parts(NamedTuple):
    """What squares of several regions are of.

    Attributes
    ----------
    nodes
        Tables or groups, the heaviest first.
    exact, whole
        Their shares, and these as multiples of two to minus `_BITS`.
    heavy
        How many have a column of pairs.
    """

    nodes: Ints
    exact: list[Fraction]
    whole: Ints
    heavy: int

    @classmethod
    def of(cls, shares: dict[int, Fraction], light: float) -> Parts:
        """Return the parts of some shares by node, of at most 1 together."""
        nodes = sorted((node for node, part in shares.items() if part), key=lambda n: -shares[n])
        exact = [shares[node] for node in nodes]
        whole = np.array([int(part * 2**_BITS) for part in exact], dtype=np.int64)
        left = whole.sum() - np.cumsum(whole)
        heavy = int(np.count_nonzero(left > light * whole.sum()))
        return cls(np.array(nodes, dtype=np.int64), exact, whole, heavy)


class Square(NamedTuple):
    """A square of the model: its column, what is squared, and the share that is its target.

    `pairs` is the first of its columns of pairs.
    """

    column: int
    region: int
    parts: Parts
    target: Fraction
    pairs: int


class Row(NamedTuple):
    """A row of at least `least`: columns and coefficients."""

    columns: Ints
    entries: Floats
    least: float


class Linear(NamedTuple):
    """What a square is at least: a constant, and terms in the parts to which nodes are there."""

    terms: dict[int, Fraction]
    constant: Fraction

    def at(self, present: Floats) -> float:
        """Return the value where nodes are there to these parts."""
        return float(self.constant) + sum(
            float(a) * float(present[n]) for n, a in self.terms.items()
        )


class SpreadingRows:
    """The columns and rows for one relaxation.

    Parameters
    ----------
    form
        The model as arrays; its variables still know their names.
    shares
        The model's coefficients.

    Attributes
    ----------
    columns
        Regions x nodes: the columns of tables, of groups, and of what is near a group.
    squares
        By region.
    form
        The model with the columns of pairs, which have no variables, and a row for each square.
    """

    def __init__(self, form: StandardForm, shares: Shares) -> None:
        column = columns_by_name(form)
        homes, runs, near = column["x"], column["y"], column["near"]
        position = {name: t for t, name in enumerate(shares.tables)}
        reads = dict.fromkeys((g, position[name]) for g, name, _ in near)
        self.links = Links(shares, list(reads))
        huge = int(form.A.nnz > TUNABLES.huge)
        self.share = TUNABLES.pairs[huge]
        groups = range(len(shares.groups))
        self.columns = np.array(
            [
                [homes[t, r] for t in shares.tables]
                + [runs[g, r] for g in groups]
                + [near[g, shares.tables[t], r] for g, t in self.links.reads]
                for r in shares.regions
            ]
        )
        self.squares: list[list[Square]] = [[] for _ in shares.regions]
        self.width = form.shape[1]
        for (k, p), row in shares.demand.items():
            nodes = {self.links.tables + g: part for g, part in row.items()}
            parts = Parts.of(nodes, TUNABLES.light_nodes[huge])
            for r, supply in enumerate(shares.supply):
                if (r, k, p) in column["square"]:
                    self._add_square(column["square"][r, k, p], r, parts, supply[k])
        parts = Parts.of(dict(enumerate(shares.bytes)), TUNABLES.light_nodes[huge])
        for r, uneven in column["uneven"].items():
            self._add_square(uneven, r, parts, shares.capacity[r])
        rows = [self._with_pairs(square) for of_region in self.squares for square in of_region]
        self.form = with_rows(_with_columns(form, self.width - form.shape[1]), rows)

    def _add_square(self, column: int, r: int, parts: Parts, target: Fraction) -> None:
        self.squares[r].append(Square(column, r, parts, target, self.width))
        self.width += parts.heavy

    def _with_pairs(self, square: Square) -> Row:
        """Return that a square is at least the squares of its terms and its columns of pairs."""
        parts = square.parts
        terms = {
            int(node): THOUSAND * part * (part - 2 * square.target)
            for node, part in zip(parts.nodes, parts.exact, strict=True)
        }
        row = self._row(square, Linear(terms, THOUSAND * square.target**2))
        doubled = [-below(2 * THOUSAND * part) for part in parts.exact[: parts.heavy]]
        columns = np.arange(square.pairs, square.pairs + parts.heavy)
        return Row(
            np.concatenate([row.columns, columns]), np.append(row.entries, doubled), row.least
        )

    def violated(self, values: Vector) -> Iterator[Row]:
        """Yield the rows that a point of the relaxation violates, and tangents at it."""
        for r, squares in enumerate(self.squares):
            present = values[self.columns[r]].clip(0.0, 1.0)
            paths = self.links.shortest(present, _sources(squares, present))
            for square in squares:
                yield from self._pairs(square, present, paths, values)
                value = values[square.column]
                tangent = self._tangent(square, present)
                if tangent.at(present) > value + TUNABLES.violation * max(0.1, value):
                    yield self._row(square, tangent)

    def _pairs(
        self, square: Square, present: Floats, paths: Paths, values: Vector
    ) -> Iterator[Row]:
        """Yield rows of the columns of pairs, s_g >= sum over lighter h of a_h (y_g - l_gh).

        A row has the pairs that are the largest at the point.
        """
        parts = square.parts
        place = np.full(len(present), -1)
        place[paths.sources] = np.arange(len(paths.sources))
        begin = np.flatnonzero(place[parts.nodes[: parts.heavy]] >= 0)
        source = place[parts.nodes[begin]]
        lighter = np.zeros((len(begin), len(present)), dtype=np.int64)
        for row, g in zip(lighter, begin.tolist(), strict=True):
            row[parts.nodes[g + 1 :]] = parts.whole[g + 1 :]
        both_run = (paths.reach[source, None] - paths.distance[source]).clip(0.0)
        lighter[_small(lighter * both_run, self.share)] = 0
        sums = self.links.sums(paths, source, lighter)
        stated = (sums @ present) / 2.0**_BITS
        pairs = square.pairs + begin
        weight = parts.whole[begin] / 2.0**_BITS
        missing = 2 * THOUSAND * weight * (stated - values[pairs])
        for i in np.flatnonzero(missing > TUNABLES.pairs_violation):
            nodes = np.flatnonzero(sums[i])
            columns = np.append(self.columns[square.region, nodes], pairs[i])
            yield Row(columns, np.append(-sums[i, nodes] / 2.0**_BITS, 1.0), 0.0)

    def _tangent(self, square: Square, present: Floats) -> Linear:
        """Return the bound by the tangent at a point."""
        parts = dict(zip(square.parts.nodes.tolist(), square.parts.exact, strict=True))
        at = Fraction(sum(float(part) * float(present[node]) for node, part in parts.items()))
        slope = 2 * THOUSAND * (at - square.target)
        terms = {node: slope * part for node, part in parts.items()}
        return Linear(terms, THOUSAND * (square.target**2 - at**2))

    def _row(self, square: Square, bound: Linear) -> Row:
        """Return a row, with coefficients rounded so that no placement that meets it is lost."""
        columns = self.columns[square.region]
        kept = {int(columns[node]): -below(a) for node, a in bound.terms.items() if a}
        entries = np.array([1.0, *kept.values()])
        return Row(np.array([square.column, *kept]), entries, below(bound.constant))


def _sources(squares: list[Square], present: Floats) -> Ints:
    """Return the nodes of a region's squares that are there, at most as many as memory allows."""
    weight = np.zeros(len(present), dtype=np.int64)
    for square in squares:
        nodes = square.parts.nodes
        weight[nodes] = np.maximum(weight[nodes], square.parts.whole)
    amount = np.where(present > TUNABLES.least_reach, present * weight, 0.0)
    heaviest = np.argsort(-amount, kind="stable")[: max(1, TUNABLES.most_distances // len(present))]
    return np.sort(heaviest[amount[heaviest] > 0])


def _small(amounts: FloatRows, share: float) -> NDArray[np.bool_]:
    """Return what is not among the largest amounts of its row that make up a share of it."""
    order = np.argsort(-amounts, axis=1, kind="stable")
    sorted_amounts = np.take_along_axis(amounts, order, axis=1)
    before = np.cumsum(sorted_amounts, axis=1) - sorted_amounts
    small = np.zeros(amounts.shape, dtype=bool)
    np.put_along_axis(small, order, before > share * amounts.sum(axis=1, keepdims=True), axis=1)
    return small


def _with_columns(form: StandardForm, more: int) -> StandardForm:
    """Return a form with more columns from 0 to 1 that cost nothing and have no variables."""
    from scipy import sparse

    empty = sparse.csc_array((form.shape[0], more))
    return replace(
        form,
        A=sparse.csc_array(sparse.hstack([form.A, empty], format="csc")),
        lower=np.append(form.lower, np.zeros(more)),
        upper=np.append(form.upper, np.ones(more)),
        integer=np.append(form.integer, np.zeros(more, dtype=bool)),
        costs=tuple(np.append(costs, np.zeros(more)) for costs in form.costs),
    )


def with_rows(form: StandardForm, rows: Iterable[Row]) -> StandardForm:
    """Return a form with more rows."""
    from scipy import sparse

    added = list(rows)
    if not added:
        return form
    number = np.repeat(np.arange(len(added)), [len(row.columns) for row in added])
    columns = np.concatenate([row.columns for row in added])
    entries = np.concatenate([row.entries for row in added])
    block = sparse.csc_array((entries, (number, columns)), shape=(len(added), form.shape[1]))
    return replace(
        form,
        A=sparse.csc_array(sparse.vstack([form.A, block], format="csc")),
        row_lower=np.append(form.row_lower, [row.least for row in added]),
        row_upper=np.append(form.row_upper, np.full(len(added), np.inf)),
        constraints=[*form.constraints, *("spreading" for _ in added)],
    )
