"""The state of the compiled search for a heaviest matching.

Vertices are 1 to n and blossoms n + 1 and up; 0 is no node. The weight of an edge in one direction
may differ from that in the other by rounding, so each direction has its own.
"""

from __future__ import annotations

from typing import NamedTuple

from dlsched.solvers.compilation import FloatRows, Floats, Ints, ShortRows

FREE, EVEN, ODD = -1, 0, 1
"""Outside the trees; at even and at odd distance from a tree's root."""
VERTICES, NODES, MARK, HEAD, TAIL = range(5)
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
    start, stop, weight
        The edge of vertices that stands for that between two nodes; weight 0 if there is none. Of
        nodes within each other they say nothing.
    doubled
        Twice the weights of the vertices' edges, minus infinity where there is none.
    queue
        Vertices to scan.
    counters
        Vertices, nodes in use, number of the search for an ancestor, ends of the queue.
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
    stop: ShortRows
    weight: FloatRows
    doubled: FloatRows
    queue: Ints
    counters: Ints
