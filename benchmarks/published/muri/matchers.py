"""What finds a heaviest matching of a round, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dlsched.problems.interleaving.heuristics.matching import SCALE
from published.muri.blossom import heaviest

Matcher = Callable[[Any], list[int]]
"""From n x n weights, 0 where there is no edge, to each node's mate, -1 if it has none."""


def library_matching(weights: Any) -> list[int]:
    """Return the heaviest matching that rustworkx finds on the graph of all edges."""
    import rustworkx

    graph = rustworkx.PyGraph(multigraph=False)
    graph.add_nodes_from(range(len(weights)))
    i, j = np.nonzero(np.triu(weights, 1))
    units = np.rint(weights[i, j] * SCALE).astype(int)
    graph.add_edges_from(list(zip(i.tolist(), j.tolist(), units.tolist(), strict=True)))
    mates = [-1] * len(weights)
    for a, b in rustworkx.max_weight_matching(graph, max_cardinality=False, weight_fn=int):
        mates[a], mates[b] = b, a
    return mates


MATCHERS: dict[str, Matcher] = {"template": heaviest, "muri": library_matching}
"""By the names of methods."""
