"""Which of the selected jobs share GPUs: rounds of matching, or full groups in order."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dlsched.problems.interleaving.heuristics.matching import SCALE
from published.muri.blossom import heaviest
from published.muri.kinds import Group, Kind, Kinds

Buckets = dict[int, list[Group]]
"""Groups by GPUs, in order of first appearance."""
Grouping = Callable[[Buckets, int], Buckets]
"""From the selected jobs, each a group, and the cluster's GPUs to the groups that run."""
Matcher = Callable[[Any], list[int]]
"""From n x n weights, 0 where there is no edge, to each node's mate, -1 if it has none."""


class Rounds:
    """The authors' rounds of matching, which merge pairs only while GPUs are short.

    Parameters
    ----------
    kinds
        Times and weights.
    largest
        Most jobs in a group, and most rounds.
    matcher
        Finds a heaviest matching.
    """

    def __init__(self, kinds: Kinds, largest: int, matcher: Matcher) -> None:
        self.kinds, self.largest, self.matcher = kinds, largest, matcher
        self._known: dict[tuple[Kind, ...], list[int]] = {}
        self._tables: dict[tuple[Kind, ...], Any] = {}

    def __call__(self, buckets: Buckets, gpus: int) -> Buckets:
        """Return the groups; pairs are merged bucket by bucket, node by node.

        Parameters
        ----------
        gpus
            GPUs of the cluster.
        """
        required = sum(size * len(groups) for size, groups in buckets.items())
        for _ in range(self.largest):
            if required <= gpus:
                break
            mates = {size: self._match(groups) for size, groups in buckets.items()}
            merged: Buckets = {}
            for size, groups in buckets.items():
                groups_of_size = merged.setdefault(size, [])
                for later, earlier in enumerate(mates[size]):
                    if earlier < 0 or mates[size][earlier] != later:
                        groups_of_size.append(groups[later])
                    elif earlier > later:
                        continue
                    elif required > gpus:
                        groups_of_size.append(groups[earlier].union(groups[later]))
                        required -= size
                    else:
                        groups_of_size += [groups[earlier], groups[later]]
            buckets = merged
        return buckets

    def _match(self, groups: Sequence[Group]) -> list[int]:
        """Return each group's mate; the answer depends on the sequence of kinds only."""
        key = tuple(group.kind for group in groups)
        if key not in self._known:
            self._known[key] = self.matcher(self._weights(key))
        return self._known[key]

    def _weights(self, nodes: Sequence[Kind]) -> Any:
        """Return the weight of every edge; there is none where the union is too large."""
        kinds = tuple(sorted(set(nodes)))  # in any order of the nodes, so that tables are reused
        if kinds not in self._tables:
            self._tables[kinds] = self._table(kinds)
        place = {kind: i for i, kind in enumerate(kinds)}
        positions = np.array([place[node] for node in nodes])
        weights = self._tables[kinds][positions[:, None], positions[None, :]]
        np.fill_diagonal(weights, 0.0)
        return weights

    def _table(self, kinds: Sequence[Kind]) -> Any:
        """Return the weights of the edges between groups of different kinds."""
        table = np.zeros((len(kinds), len(kinds)))
        for i, a in enumerate(kinds):
            for j, b in enumerate(kinds):
                if len(a) + len(b) <= self.largest:
                    table[i, j] = self.kinds.weight(a, b)
        return table


class InOrder:
    """Without Blossom: full groups of consecutive jobs, while GPUs are short."""

    def __init__(self, largest: int) -> None:
        self.largest = largest

    def __call__(self, buckets: Buckets, gpus: int) -> Buckets:
        """Return the groups; a job that is not merged precedes the group of the jobs before it."""
        required = sum(size * len(groups) for size, groups in buckets.items())
        result: Buckets = {}
        for size, groups in buckets.items():
            groups_of_size = result.setdefault(size, [])
            for first in range(0, len(groups), self.largest):
                whole = groups[first]
                for other in groups[first + 1 : first + self.largest]:
                    if required > gpus:
                        whole = whole.union(other)
                        required -= size
                    else:
                        groups_of_size.append(other)
                groups_of_size.append(whole)
        return result


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
