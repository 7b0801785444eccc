"""Maximum-weight matching on few edges per node, and the proof that no other edge is needed.

Blossom on the dense graph of a thousand nodes takes seconds. Its linear relaxation without odd sets
is an assignment problem, which takes a tenth of a second, and its potentials u bound every
matching: with u_i + u_j >= w_ij, a matching that uses edge ij weighs at most sum(u) minus the
edge's slack u_i + u_j - w_ij. So given a matching of weight W, found on few edges per node, an edge
whose slack is at least sum(u) - W is in no heavier matching. Where that leaves many edges, odd sets
are added to the relaxation (`odd_sets`).
"""

import math
from typing import NamedTuple

import numpy as np

from dlsched.errors import SolverFailure
from dlsched.problems.interleaving.heuristics.odd_sets import OddSets
from dlsched.problems.interleaving.heuristics.tunables import MATCHING
from dlsched.run import Run
from dlsched.solvers import highs
from dlsched.solvers.arrays import Flags, Floats, Ints
from dlsched.solvers.standard_form import StandardForm

MATCHING_LIBRARIES = ("rustworkx", "scipy.optimize", "scipy.sparse", "highspy")
"""What a method that matches preloads."""
SCALE = 2**36
"""Weights are in units of 1 / SCALE: sums of thousands of them are exact in doubles."""
NO_EDGE = 2.0**-30
"""The weight of an edge that must not be used; no other is lighter."""


class Matching(NamedTuple):
    """A heaviest matching, and the bound on every matching's weight.

    Attributes
    ----------
    pairs
        Rows (i, j), i < j, in ascending order.
    weight, ceiling
        Its weight and the bound, in units of 1 / `SCALE`.
    """

    pairs: Ints
    weight: int
    ceiling: int


def match(weights: Floats, run: Run | None = None, seconds: float = math.inf) -> Matching:
    """Return a maximum-weight matching of a complete graph with positive weights.

    Parameters
    ----------
    weights
        n x n, symmetric, positive off the diagonal. Rounded to multiples of 1 / `SCALE`.
    run
        The solver is recorded there. Its limits are not applied: the matching is needed, and
        without the linear programs takes longer.
    seconds
        For another matching, by an estimate. If it would take longer, the first one is returned,
        which is heaviest on few edges per node, and its bound.
    """
    n = len(weights)
    units = np.rint(weights * SCALE)
    np.fill_diagonal(units, 0.0)
    if n < 2:
        return Matching(np.empty((0, 2), dtype=np.int64), 0, 0)
    potentials = _potentials(units)
    ceiling = int(potentials.sum()) // 2
    slack = potentials[:, None] + potentials[None, :] - 2 * units  # doubled, like the potentials
    np.fill_diagonal(slack, np.inf)
    kept = _sparse(slack, min(n - 1, MATCHING.degree))
    tight = False
    while True:
        pairs = _blossom(units, kept)
        i, j = pairs.T
        weight = int(units[i, j].sum())
        matter = slack < 2 * (ceiling - weight)
        edges = np.count_nonzero(matter) / 2
        if edges * MATCHING.seconds_an_edge > seconds:
            return Matching(pairs, weight, ceiling)
        if edges > MATCHING.many_edges * n and not tight:
            tight = True
            slack, ceiling = _tightened(units, kept, weight, run)
            matter = slack < 2 * (ceiling - weight)
        if not (matter & ~kept).any():
            return Matching(pairs, weight, ceiling)
        # Next time no edge is left out that matters: the weight cannot decrease.
        kept = matter
        kept[i, j] = kept[j, i] = True


def _tightened(units: Floats, kept: Flags, weight: int, run: Run | None) -> tuple[Floats, int]:
    """Return slacks, doubled, and the bound by odd sets, from the linear program of some edges."""
    unlimited = Run(threads=run.threads if run else 1)
    relaxation = OddSets(units, SCALE, np.argwhere(np.triu(kept, 1)), unlimited)
    slack, doubled = relaxation.tighten(weight, MATCHING.many_edges * len(units))
    if run is not None:
        run.record_solver(highs.NAME, highs.version())
    return slack, doubled // 2


def match_types(weights: Floats, counts: Ints, run: Run) -> Ints:
    """Return how often to pair nodes of two types in a heaviest matching of the given counts.

    The matching of interchangeable nodes is an integer program with a row for each type. Its weight
    is that of Blossom's matching, and with a few types it takes milliseconds for any counts.

    Parameters
    ----------
    weights
        Types x types, symmetric; the diagonal is for two nodes of one type. Pairs of weight
        `NO_EDGE` are not made.
    counts
        Nodes of each type.
    run
        The solver is recorded there; its limits are not applied to a program this small.

    Returns
    -------
    array
        Types x types, above and on the diagonal.
    """
    from scipy import sparse

    often = np.zeros(weights.shape, dtype=np.int64)
    a, b = np.nonzero(np.triu(weights > NO_EDGE))
    if not len(a):
        return often
    type_rows = np.eye(len(counts))
    form = StandardForm.of(
        sparse.csc_array(type_rows[:, a] + type_rows[:, b]),
        np.full(len(counts), -np.inf),
        counts.astype(float),
        np.full(len(a), np.inf),
        weights[a, b],
        sense="max",
    )
    run.record_solver(highs.NAME, highs.version())
    solved = highs.solve(form, 0, Run(), quiet=True)
    if solved.values is None:
        raise SolverFailure(
            f"HiGHS could not match {len(counts)} types: {solved.termination.sentence}"
        )
    often[a, b] = np.rint(solved.values)
    return often


def _potentials(units: Floats) -> Floats:
    """Return whole numbers p with p_i + p_j >= 2 w_ij, p_i >= 0, of least sum.

    The optimal assignment, in which a node may also stay unassigned at weight 0, gives the
    potentials of both sides by shortest paths; p is their sum over both sides, which are equal.
    """
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(units, maximize=True)
    partner = np.empty(len(units), dtype=np.int64)
    partner[rows] = columns
    # arcs[i, j]: the weight that the assignment loses if row i takes column j.
    arcs = units[np.arange(len(units)), partner][:, None] - units[:, :]
    distance = np.zeros(len(units))
    for _ in range(len(units)):
        shorter = np.minimum(distance, (distance[partner][:, None] + arcs).min(axis=0))
        if (shorter == distance).all():
            break
        distance = shorter
    right = -distance
    row_potentials = units[np.arange(len(units)), partner] - right[partner]
    return row_potentials + right


def _sparse(slack: Floats, degree: int) -> Flags:
    """Return which edges are among the `degree` of least slack at one of their ends."""
    n = len(slack)
    kept = np.zeros((n, n), dtype=bool)
    nearest = np.argpartition(slack, degree - 1, axis=1)[:, :degree]
    kept[np.arange(n)[:, None], nearest] = True
    return kept | kept.T


def _blossom(units: Floats, kept: Flags) -> Ints:
    """Return a heaviest matching on the kept edges; unmatched nodes are then paired in order."""
    import rustworkx

    n = len(units)
    i, j = np.nonzero(np.triu(kept, 1))
    graph = rustworkx.PyGraph(multigraph=False)
    graph.add_nodes_from(range(n))
    weights = units[i, j].astype(int).tolist()
    graph.add_edges_from(list(zip(i.tolist(), j.tolist(), weights, strict=True)))
    matching = rustworkx.max_weight_matching(graph, max_cardinality=False, weight_fn=int)
    pairs = sorted((min(e), max(e)) for e in matching)
    alone = sorted(set(range(n)) - {v for pair in pairs for v in pair})
    pairs += [(a, b) for a, b in zip(alone[::2], alone[1::2], strict=False)]
    return np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
