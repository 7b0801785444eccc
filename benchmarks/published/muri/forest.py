"""The state of the compiled search for a heaviest matching.

Vertices are 1 to n and blossoms n + 1 and up; 0 is no node. The weight of an edge in one direction
may differ from that in the other by rounding, so each direction has its own.
"""

from __future__ import annotations

from typing import NamedTuple

from dlsched.solvers.compilation import FloatRows, Floats, Ints, ShortRows

FREE, EVEN, ODD = -1, 0, 1
"""Outside the trees; at even and at odd distance from a tree's root."""
VERTICES, NODES, MARK, HEAD, TAIL, SHOWN = range(6)
"""Places in `Forest.counters`."""


class Forest(NamedTuple):
    """The state of the search; arrays are indexed by node.

    Attributes
    ----------
    mate
        Vertex to which a node is matched, 0 if none.
    outer
        The outermost blossom that a node is in, itself if none, 0 if the blossom is not in use.
    side
        `FREE`, `EVEN` or `ODD`, of outermost nodes.
    nearest
        The even vertex with the tightest edge to an outermost node, 0 if none.
    tightest
        That edge's slack, infinite if there is none.
    parent
        Vertex from which an odd node was reached.
    marked
        Number of the last search for a common ancestor that passed a node.
    label
        The dual variables.
    petals, size
        The nodes of each blossom's odd cycle, from its base, and their number.
    petal_of
        The petal of a blossom in which a vertex is, 0 if it is not in it.
    start
        The edge of vertices that stands for that between two nodes: from which vertex of the first
        node it starts. It ends where that from the second node starts. Of nodes within each other
        it says nothing.
    doubled
        Twice the weights of the vertices' edges, minus infinity where there is none.
    back
        The transposed matrix; the same one if it is symmetric.
    waiting
        Nodes whose petals are still to be visited.
    chosen, least
        Where a new blossom's tightest edge to each vertex starts, and its slack, infinite where
        there is no edge.
    bar
        Edges to a vertex matter to the scan if their slack is below this: they are tight, or
        tighter than the tightest so far.
    slack
        The slacks of the vertex that is scanned.
    first, following
        The vertices of the outermost blossoms that are not odd, in order; 0 after the last.
    shown
        These blossoms, and some that have become odd since.
    queue
        Vertices to scan.
    counters
        Vertices, nodes in use, number of the search for an ancestor, ends of the queue, length of
        `shown`.
    """

    mate: Ints
    outer: Ints
    side: Ints
    nearest: Ints
    tightest: Floats
    parent: Ints
    marked: Ints
    label: Floats
    petals: ShortRows
    size: Ints
    petal_of: ShortRows
    start: ShortRows
    back: FloatRows
    doubled: FloatRows
    waiting: Ints
    chosen: Ints
    least: Floats
    bar: Floats
    slack: Floats
    first: Ints
    following: Ints
    shown: Ints
    queue: Ints
    counters: Ints
