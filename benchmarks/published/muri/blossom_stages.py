"""The stages of the blossom algorithm: each ends with one more matched pair, or the matching."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dlsched.solvers.compilation import entry, loop
from published.muri.blossom import enqueue, expand, slack_of, use
from published.muri.blossom_scan import scan
from published.muri.forest import (
    EVEN,
    FREE,
    HEAD,
    NODES,
    ODD,
    TAIL,
    VERTICES,
    Forest,
)

_NEARLY = 1e-5
"""A label within this share of the step counts as used up by it."""


@loop
def step(f: Any) -> float:
    """Return by how much labels can change before an edge becomes tight or a blossom opens."""
    outer, side, label = f.outer, f.side, f.label
    nearest, tightest = f.nearest, f.tightest
    n, nodes = f.counters[VERTICES], f.counters[NODES]
    least = math.inf
    for b in range(n + 1, nodes + 1):
        if outer[b] == b and side[b] == ODD:
            least = min(least, label[b] / 2.0)
    for x in range(1, nodes + 1):
        if outer[x] == x and nearest[x] != 0:
            if side[x] == FREE:
                least = min(least, tightest[x])
            elif side[x] == EVEN:
                least = min(least, tightest[x] / 2.0)
    return least


@loop
def relabel(f: Any, amount: float) -> bool:
    """Change the labels; return False once an even vertex's label is used up: the matching ends."""
    outer, side, label = f.outer, f.side, f.label
    nearest, tightest = f.nearest, f.tightest
    n, nodes = f.counters[VERTICES], f.counters[NODES]
    for u in range(1, n + 1):
        where = side[outer[u]]
        if where == EVEN:
            if label[u] <= amount or label[u] - amount <= _NEARLY * label[u]:
                return False
            label[u] -= amount
        elif where == ODD:
            label[u] += amount
    for b in range(n + 1, nodes + 1):
        if outer[b] == b:
            if side[b] == EVEN:
                label[b] += amount * 2
            elif side[b] == ODD:
                label[b] -= amount * 2
    for x in range(1, nodes + 1):
        u = nearest[x]
        if u != 0 and outer[x] == x:
            tightest[x] = slack_of(f, u, f.start[x, u])
    return True


@loop
def use_nearest(f: Any) -> bool:
    """Use the edges that the labels have made tight, open blossoms; return as `use` does."""
    outer, side, label = f.outer, f.side, f.label
    nearest, tightest = f.nearest, f.tightest
    n = f.counters[VERTICES]
    for x in range(1, f.counters[NODES] + 1):  # without the blossoms that are made meanwhile
        near = nearest[x]
        tight = near != 0 and tightest[x] <= 0 and outer[near] != x
        if tight and outer[x] == x and use(f, near, x):
            return True
    for b in range(n + 1, f.counters[NODES] + 1):
        if outer[b] == b and side[b] == ODD and label[b] <= 0:
            expand(f, b)
    return False


@loop
def stage(f: Any) -> bool:
    """Grow trees from all free vertices until an edge is added; return False if none can be."""
    outer, side, mate, parent = f.outer, f.side, f.mate, f.parent
    queue, counters = f.queue, f.counters
    n, nodes = counters[VERTICES], counters[NODES]
    side[: nodes + 1] = FREE
    f.nearest[: nodes + 1] = 0
    f.tightest[: nodes + 1] = math.inf
    counters[HEAD] = counters[TAIL] = 0
    for x in range(1, nodes + 1):
        if outer[x] == x and mate[x] == 0:
            parent[x] = 0
            side[x] = EVEN
            if x > n:
                enqueue(f, x)
            else:  # most of them; a call takes longer
                queue[counters[TAIL]] = x
                counters[TAIL] += 1
    if f.counters[TAIL] == 0:
        return False
    while True:
        if scan(f):
            return True
        if not relabel(f, step(f)):
            return False
        f.counters[HEAD] = f.counters[TAIL] = 0
        if use_nearest(f):
            return True


@entry("boolean(Forest)", records=(Forest,))
def run_stages(f: Any) -> bool:
    """Match until no stage adds an edge; return whether any did."""
    any_added = False
    while stage(f):
        any_added = True
    return any_added


def heaviest(weights: Any) -> list[int]:
    """Return each vertex's mate in the matching that the fixed order of search finds.

    Parameters
    ----------
    weights
        n x n; the weight of an edge as seen from each of its vertices; 0 where there is no edge.

    Returns
    -------
    list
        Positions, -1 for a vertex without mate.
    """
    n = len(weights)
    doubled = np.full((n + 1, n + 1), -math.inf)
    doubled[1:, 1:] = np.where(weights > 0, weights * 2.0, -math.inf)
    nodes = n + n // 2 + 2  # blossoms that exist at once, and their slots, are at most n / 2
    f = Forest(
        mate=np.zeros(nodes, dtype=np.int64),
        outer=np.zeros(nodes, dtype=np.int64),
        side=np.full(nodes, FREE),
        nearest=np.zeros(nodes, dtype=np.int64),
        tightest=np.zeros(nodes),
        parent=np.zeros(nodes, dtype=np.int64),
        marked=np.zeros(nodes, dtype=np.int64),
        label=np.zeros(nodes),
        petals=np.zeros((nodes, n + 2), dtype=np.uint16),
        size=np.zeros(nodes, dtype=np.int64),
        petal_of=np.zeros((nodes, n + 1), dtype=np.uint16),
        start=np.zeros((nodes, nodes), dtype=np.uint16),
        doubled=doubled,
        back=doubled if np.array_equal(weights, weights.T) else doubled.T.copy(),
        waiting=np.zeros(nodes, dtype=np.int64),
        chosen=np.zeros(n + 1, dtype=np.int64),
        least=np.zeros(n + 1),
        bar=np.zeros(n + 1),
        slack=np.zeros(n + 1),
        first=np.zeros(nodes, dtype=np.int64),
        shown=np.zeros(nodes, dtype=np.int64),
        following=np.zeros(n + 1, dtype=np.int64),
        queue=np.zeros(2 * n + 2, dtype=np.int64),
        counters=np.array([n, n, 0, 0, 0, 0]),
    )
    vertices = np.arange(n + 1)
    f.outer[: n + 1] = vertices
    f.label[: n + 1] = weights.max(initial=0.0)
    f.petal_of[vertices, vertices] = vertices
    f.start[: n + 1] = vertices[:, None]
    if weights.any():
        run_stages(f)
    mates: list[int] = (f.mate[1 : n + 1] - 1).tolist()
    return mates
