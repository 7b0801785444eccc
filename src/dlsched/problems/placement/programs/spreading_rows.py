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
Between fractions these lengths are a spreading metric (Even, Naor, Rao, Schieber 2000). The
shortest paths of a relaxation's optimum give a row that says how large the square is at least;
likewise for the square of a region's bytes, with paths from table to table.

Paths are chosen in doubles, and every choice of paths gives a valid row. Demands in products are
whole multiples of two to minus `_BITS`, rounded down, which is valid as no pair counts less than 0,
and their sums are whole numbers below 2^62. The rest is calculated in fractions, and rounded once.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from dlsched.problems.placement.programs.coefficients import Shares
from dlsched.problems.placement.programs.cost_rows import THOUSAND
from dlsched.problems.placement.programs.rounding import below
from dlsched.solvers.compilation import FloatRows, Floats, IntRows, Ints, entry
from dlsched.solvers.outcome import Vector
from dlsched.solvers.standard_form import StandardForm

_BITS = 30
"""Demands in products are multiples of two to minus this, so that a product fits in 64 bits."""
_UNIT = Fraction(1, 4**_BITS)
_SHORTEST = 1e-9
"""Length of what is no step, as a sparse matrix has no entries of 0."""
_LEAST_REACH = 1e-4
"""Who runs in a region to a lesser part is no beginning of a path."""
_TOLERANCE = 1e-4
"""A row that is violated by less, of a thousandth or of the square, is not added."""
_SOURCES = 256
"""Beginnings of paths that are looked at together."""


class Square(NamedTuple):
    """A square of the model: its column, what is squared, and the share that is its target.

    Attributes
    ----------
    parts
        By node (a table or a group) its exact share.
    weights
        The row of `SpreadingRows.weights` that has the same shares as whole numbers.
    """

    column: int
    region: int
    parts: dict[int, Fraction]
    target: Fraction
    weights: int


class Row(NamedTuple):
    """A row of at least `least`: columns and coefficients."""

    entries: dict[int, float]
    least: float


class SpreadingRows:
    """The rows for one relaxation.

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
    weights
        Squares of a region x nodes: shares in multiples of two to minus `_BITS`.
    """

    def __init__(self, form: StandardForm, shares: Shares) -> None:
        self.tables = len(shares.tables)
        self.joint = self.tables + len(shares.groups)
        column: dict[str, dict[Any, int]] = {}
        for j, variable in enumerate(form.variables):
            family = variable.parent_component().local_name
            column.setdefault(family, {})[variable.index()] = j
        reads = [
            (g, t)
            for g, group in enumerate(shares.groups)
            if not group.together
            for t in group.tables
        ]
        self.columns = np.array(
            [
                [column["x"][t, r] for t in shares.tables]
                + [column["y"][g, r] for g in range(len(shares.groups))]
                + [column["near"][g, shares.tables[t], r] for g, t in reads]
                for r in shares.regions
            ]
        )
        steps = [
            (t, self.tables + g)
            for g, group in enumerate(shares.groups)
            if group.together
            for t in group.tables
        ]
        free = [(g, t) for t, g in steps]
        for node, (g, t) in enumerate(reads, self.joint):
            steps += [(t, node), (self.tables + g, node)]
            free += [(node, t), (node, self.tables + g)]
        # scipy 1.13 takes no graph with other numbers than these.
        self.steps = np.array(steps, dtype=np.int32).reshape(-1, 2).T
        self.free = np.array(free, dtype=np.int32).reshape(-1, 2).T
        demands = {
            key: {self.tables + g: part for g, part in row.items()}
            for key, row in shares.demand.items()
        }
        stored = dict(enumerate(shares.bytes)) if "uneven" in column else {}
        self.weights = np.zeros((len(demands) + 1, self.columns.shape[1]), dtype=np.int64)
        for i, parts in enumerate((*demands.values(), stored)):
            for node, part in parts.items():
                self.weights[i, node] = int(part * 2**_BITS)
        self.squares: list[list[Square]] = [[] for _ in shares.regions]
        for i, ((k, p), parts) in enumerate(demands.items()):
            for r, of_region in enumerate(self.squares):
                at = column.get("square", {}).get((r, k, p))
                if at is not None:
                    of_region.append(Square(at, r, parts, shares.supply[r][k], i))
        for r, at in column.get("uneven", {}).items():
            square = Square(at, r, stored, shares.capacity[r], len(demands))
            self.squares[r].append(square)

    def violated(self, values: Vector) -> Iterator[Row]:
        """Yield the rows that a point of the relaxation violates, and tangents at it."""
        for r, squares in enumerate(self.squares):
            present = values[self.columns[r]].clip(0.0, 1.0)
            pairs = self._pairs(present)
            for square in squares:
                rows = (self._linked(square, pairs[square.weights]), self._tangent(square, present))
                for parts, least in rows:
                    reached = float(least) + sum(
                        float(part) * present[node] for node, part in parts.items()
                    )
                    value = values[square.column]
                    if reached > value + _TOLERANCE * max(1.0, value):
                        yield self._row(square, parts, least)

    def _linked(self, square: Square, pairs: Ints) -> tuple[dict[int, Fraction], Fraction]:
        """Return the terms and the constant of what the square is at least, by pairs."""
        terms = {int(n): THOUSAND * _UNIT * int(pairs[n]) for n in np.flatnonzero(pairs)}
        for node, part in square.parts.items():
            terms[node] = terms.get(node, Fraction(0)) - 2 * THOUSAND * square.target * part
        return terms, THOUSAND * square.target**2

    def _tangent(self, square: Square, present: Vector) -> tuple[dict[int, Fraction], Fraction]:
        """Return the same by the tangent at a point."""
        at = Fraction(sum(float(part) * present[node] for node, part in square.parts.items()))
        slope = 2 * THOUSAND * (at - square.target)
        terms = {node: slope * part for node, part in square.parts.items()}
        return terms, THOUSAND * (square.target**2 - at**2)

    def _row(self, square: Square, terms: dict[int, Fraction], least: Fraction) -> Row:
        """Return a row, with coefficients rounded so that no placement that meets it is lost."""
        columns = self.columns[square.region]
        entries = {int(columns[node]): -below(part) for node, part in terms.items() if part}
        return Row({square.column: 1.0, **entries}, below(least))

    def _pairs(self, present: Vector) -> IntRows:
        """Return by square and node what the sum over pairs is, in units of `_UNIT`."""
        from scipy import sparse
        from scipy.sparse.csgraph import dijkstra

        missing = np.maximum(present[self.steps[0]] - present[self.steps[1]], 0.0) + _SHORTEST
        length = np.concatenate([missing, np.full(self.free.shape[1], _SHORTEST)])
        ends = np.concatenate([self.steps, self.free], axis=1)
        graph = sparse.csr_array((length, (ends[0], ends[1])), shape=(len(present), len(present)))
        sources = np.flatnonzero(self.weights.any(axis=0) & (present > _LEAST_REACH))
        total = np.zeros_like(self.weights)
        for first in range(0, len(sources), _SOURCES):
            some = sources[first : first + _SOURCES]
            reach = present[some]
            distance, before = dijkstra(
                graph, indices=some, return_predecessors=True, limit=float(reach.max())
            )
            order = np.argsort(distance, axis=1)
            total += sum_pairs(
                distance,
                before.astype(np.int64),
                order,
                some,
                reach,
                self.weights,
                self.tables,
                self.joint,
            )
        return total


@entry(
    "int64[:, ::1](float64[:, ::1], int64[:, ::1], int64[:, ::1], int64[::1], float64[::1], "
    "int64[:, ::1], int64, int64)"
)
def sum_pairs(
    distance: FloatRows,
    before: IntRows,
    order: IntRows,
    sources: Ints,
    reach: Floats,
    weights: IntRows,
    tables: int,
    joint: int,
) -> IntRows:
    """Return the coefficients of the sum over pairs, by square and node.

    A source g adds its weight times that of h times y_g less the steps on the path to h, for each h
    that is nearer than y_g.

    Parameters
    ----------
    distance, before, order
        Sources x nodes: distances, the nodes before on shortest paths, and nodes by distance.
    sources, reach
        Nodes, and the parts to which they are present.
    weights
        Squares x nodes.
    tables, joint
        Nodes below the first are tables, then groups; from the second on they are a group and a
        table that are both there.
    """
    squares, nodes = weights.shape
    total = np.zeros((squares, nodes), dtype=np.int64)
    below_node = np.zeros((nodes, squares), dtype=np.int64)
    for s in range(len(sources)):
        source = sources[s]
        below_node[:, :] = 0
        for i in range(nodes - 1, -1, -1):  # the farthest first: what follows a node is known
            node = order[s, i]
            if not distance[s, node] < reach[s]:
                continue
            for k in range(squares):
                below_node[node, k] += weights[k, node]
            if node == source:
                continue
            last = before[s, node]
            step = node >= joint or (node >= tables and last < tables)
            for k in range(squares):
                below_node[last, k] += below_node[node, k]
                if step:
                    amount = weights[k, source] * below_node[node, k]
                    total[k, last] -= amount
                    total[k, node] += amount
        for k in range(squares):
            total[k, source] += weights[k, source] * below_node[source, k]
    return total
