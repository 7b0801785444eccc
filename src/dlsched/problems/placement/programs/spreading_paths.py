"""Shortest paths between what shares tables in a region, and sums of the pairs at their ends.

Nodes are the tables, the groups of jobs, and pairs of a group that may run without all its tables
and a table that is there as well. A step leads from a table to what needs it, and fails if the
table is there and that is not; its length is the difference of the parts to which they are there,
at a point of the relaxation. A step from what needs a table to the table cannot fail.

Each choice of paths gives a valid sum, so that lengths may be doubles.
"""

from typing import NamedTuple

import numpy as np

from dlsched.problems.placement.kernels.path_sums import sum_pairs
from dlsched.problems.placement.programs.coefficients import Shares
from dlsched.problems.placement.programs.tunables import PRECISION, TUNABLES
from dlsched.solvers.arrays import FloatRows, Floats, IntRows, Ints


class Paths(NamedTuple):
    """Shortest paths from some nodes, at a point.

    Attributes
    ----------
    sources, reach
        Nodes, and the parts to which they are there. A pair with what is farther counts nothing.
    distance, before, order
        Sources x nodes: distances, the nodes before on the paths, and the nodes by distance.
    """

    sources: Ints
    reach: Floats
    distance: FloatRows
    before: IntRows
    order: IntRows


class Links:
    """The steps between tables and what needs them.

    Attributes
    ----------
    tables, joint
        Nodes below the first are tables, then groups; from the second on they are a group and a
        table that are both there.
    reads
        The groups and tables of the latter.
    """

    def __init__(self, shares: Shares, reads: list[tuple[int, int]]) -> None:
        self.tables = len(shares.tables)
        self.joint = self.tables + len(shares.groups)
        self.reads = reads
        steps = [
            (t, self.tables + g)
            for g, group in enumerate(shares.groups)
            if group.together
            for t in group.tables
        ]
        free = [(g, t) for t, g in steps]
        for node, (g, t) in enumerate(self.reads, self.joint):
            steps += [(t, node), (self.tables + g, node)]
            free += [(node, t), (node, self.tables + g)]
        # scipy 1.13 takes no graph with other numbers than these.
        self.steps = np.array(steps, dtype=np.int32).reshape(-1, 2).T
        self.free = np.array(free, dtype=np.int32).reshape(-1, 2).T

    def shortest(self, present: Floats, sources: Ints) -> Paths:
        """Return the shortest paths from some nodes, given the part to which each node is there."""
        from scipy import sparse
        from scipy.sparse.csgraph import dijkstra

        missing = (
            np.maximum(present[self.steps[0]] - present[self.steps[1]], 0.0) + PRECISION.shortest
        )
        length = np.concatenate([missing, np.full(self.free.shape[1], PRECISION.shortest)])
        ends = np.concatenate([self.steps, self.free], axis=1)
        graph = sparse.csr_array((length, (ends[0], ends[1])), shape=(len(present), len(present)))
        reach = present[sources]
        distance = np.full((len(sources), len(present)), np.inf)
        before = np.full(distance.shape, -1, dtype=np.int64)
        for part in np.array_split(np.argsort(reach, kind="stable"), TUNABLES.searches):
            if len(part):
                distance[part], before[part] = dijkstra(
                    graph,
                    indices=sources[part],
                    return_predecessors=True,
                    limit=float(reach[part[-1]]),
                )
        return Paths(sources, reach, distance, before, np.argsort(distance, axis=1))

    def sums(self, paths: Paths, rows: Ints, weights: IntRows) -> IntRows:
        """Return the coefficients of weighted sums of pairs; see `sum_pairs`."""
        sums: IntRows = sum_pairs(paths, rows, weights, self.tables, self.joint)
        return sums
