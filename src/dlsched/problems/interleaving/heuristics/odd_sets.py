"""A bound on matchings that is tighter than the assignment's: potentials of odd sets as well.

Of the nodes of an odd set B a matching has at most (|B| - 1) / 2 edges within B. With a potential
z_B >= 0 for such sets, u_i + u_j + (sum of z_B over the sets with both ends) >= w_ij bounds every
matching by the sum of u plus the sum of z_B (|B| - 1) / 2 (Edmonds 1965). The sets are found by a
linear program over few edges: at its optimum without them, edges at 1/2 are odd cycles.
"""

import numpy as np

from dlsched.problems.interleaving.heuristics.tunables import MATCHING
from dlsched.results.result import Termination
from dlsched.run import Run
from dlsched.solvers.arrays import Flags, Floats, Ints
from dlsched.solvers.incremental import IncrementalProgram

_FRACTION = 1e-6
"""Values of the linear program up to this far from a whole number count as whole."""


class OddSets:
    """The linear program over some edges, a row for each node and each odd set found so far.

    Parameters
    ----------
    units
        n x n, symmetric: whole numbers, in units of 1 / `scale`.
    edges
        Rows (i, j), i < j.
    run
        Its limits are those of the linear programs.
    """

    def __init__(self, units: Floats, scale: float, edges: Ints, run: Run) -> None:
        self.units = units
        self.scale = scale
        self.n = len(units)
        self.edges = np.empty((0, 2), dtype=np.int64)
        self.sets: list[Flags] = []
        options = {
            "presolve": "off",  # each program starts from the basis of the last
            "dual_feasibility_tolerance": 1e-10,
        }
        self.program = IncrementalProgram(run, maximize=True, options=options)
        self.program.add_rows(np.full(self.n, -np.inf), np.ones(self.n))
        self._add_edges(edges)

    def tighten(self, weight: int, enough: int) -> tuple[Floats, int]:
        """Return the slack of every edge, and the bound; both doubled, like the potentials.

        Parameters
        ----------
        weight
            Of a matching.
        enough
            Odd sets are added until at most this many edges can be in a heavier matching.
        """
        best: tuple[Floats, int] | None = None
        for _ in range(MATCHING.odd_set_rounds):
            if self.program.solve() is not Termination.PROVED:
                break
            slack, missing, total = self._potentials()
            if best is None or total < best[1]:
                best = slack, total
            few = np.count_nonzero(slack < total - 2 * weight) <= 2 * enough
            if few or not self._add_edges(missing) + self._add_sets():
                break
        return best or (np.zeros((self.n, self.n)), int(self.units.sum()))

    def _potentials(self) -> tuple[Floats, Ints, int]:
        """Return doubled slacks, none below 0, the edges to add, and twice the bound."""
        duals = self.program.duals
        doubled = np.rint(np.maximum(duals, 0.0) * (2 * self.scale))
        nodes = doubled[: self.n]
        sets = doubled[self.n :]
        slack = nodes[:, None] + nodes[None, :] - 2 * self.units
        total = 0
        for flags, potential in zip(self.sets, sets.tolist(), strict=True):
            inside = np.flatnonzero(flags)
            slack[np.ix_(inside, inside)] += potential
            total += int(potential) * (len(inside) // 2)
        np.fill_diagonal(slack, np.inf)
        # Rounding, and edges that the program lacks: both ends are raised by half of what lacks.
        raised = np.ceil(np.maximum(0.0, -slack.min(axis=1)) / 2)
        missing = np.argwhere(np.triu(slack < -self.scale * _FRACTION, 1))
        slack += raised[:, None] + raised[None, :]
        return slack, missing, total + int((nodes + raised).sum())

    def _add_edges(self, edges: Ints) -> int:
        """Add columns; return how many."""
        from scipy import sparse

        count = len(edges)
        if not count:
            return 0
        i, j = edges.T
        place = np.append(i, j), np.tile(np.arange(count), 2)
        ends = sparse.csc_array((np.ones(2 * count), place), shape=(self.n, count))
        inside = np.array([flags[i] & flags[j] for flags in self.sets], dtype=float)
        A = sparse.vstack([ends, sparse.csc_array(inside.reshape(-1, count))], format="csc")
        self.program.add_columns(self.units[i, j] / self.scale, A)
        self.edges = np.concatenate([self.edges, edges])
        return count

    def _add_sets(self) -> int:
        """Add the odd components of the fractional edges whose rows are violated; return how many.

        Columns added since the last optimum are not among those edges.
        """
        from scipy import sparse
        from scipy.sparse.csgraph import connected_components

        values = self.program.values
        i, j = self.edges[: len(values)].T
        fractional = np.abs(values - np.rint(values)) > _FRACTION
        links = (np.ones(fractional.sum()), (i[fractional], j[fractional]))
        graph = sparse.csr_array(links, shape=(self.n, self.n))
        _, component = connected_components(graph, directed=False)
        sizes = np.bincount(component)
        added = 0
        for label in np.flatnonzero((sizes > 1) & (sizes % 2 == 1)).tolist():
            flags = component == label
            most = float(sizes[label] // 2)
            if values[flags[i] & flags[j]].sum() <= most + _FRACTION:
                continue
            both_ends = flags[self.edges].all(axis=1)
            within = np.flatnonzero(both_ends)
            self.program.add_row(-np.inf, most, within, np.ones(len(within)))
            self.sets.append(flags)
            added += 1
        return added
