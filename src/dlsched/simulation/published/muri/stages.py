"""The stages of the blossom algorithm: each ends with one more matched pair, or the matching."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dlsched.simulation.published.muri.blossom import (
    EVEN,
    FREE,
    HEAD,
    NODES,
    ODD,
    TAIL,
    VERTICES,
    Forest,
    enqueue,
    expand,
    slack,
    use,
)
from dlsched.solvers.compilation import entry, loop

_NEARLY = 1e-5
"""A label within this share of the step counts as used up by it."""


@loop
def scan(f: Any) -> bool:
    """Scan the queue's vertices and use their tight edges; return whether one augments."""
    # Most of the time is spent here: calls with the whole state as argument would double it.
    outer, label, weight = f.outer, f.label, f.weight
    nearest, tightest, start, stop = f.nearest, f.tightest, f.start, f.stop
    while f.counters[HEAD] < f.counters[TAIL]:
        u = f.queue[f.counters[HEAD]]
        f.counters[HEAD] += 1
        if f.side[outer[u]] == ODD:
            continue
        for v in range(1, f.counters[VERTICES] + 1):
            if weight[u, v] <= 0 or outer[u] == outer[v]:
                continue
            tight = label[u] + label[v] - weight[u, v] * 2.0
            if tight <= 0:
                if use(f, u, v):
                    return True
                continue
            x = outer[v]
            if x != v:
                a, b = start[u, x], stop[u, x]
                tight = label[a] + label[b] - weight[a, b] * 2.0
            if nearest[x] == 0 or tight < tightest[x]:
                nearest[x], tightest[x] = u, tight
    return False


@loop
def step(f: Any) -> float:
    """Return by how much labels can change before an edge becomes tight or a blossom opens."""
    n, nodes = f.counters[VERTICES], f.counters[NODES]
    least = math.inf
    for b in range(n + 1, nodes + 1):
        if f.outer[b] == b and f.side[b] == ODD:
            least = min(least, f.label[b] / 2.0)
    for x in range(1, nodes + 1):
        if f.outer[x] == x and f.nearest[x] != 0:
            if f.side[x] == FREE:
                least = min(least, f.tightest[x])
            elif f.side[x] == EVEN:
                least = min(least, f.tightest[x] / 2.0)
    return least


@loop
def relabel(f: Any, amount: float) -> bool:
    """Change the labels; return False once an even vertex's label is used up: the matching ends."""
    n, nodes = f.counters[VERTICES], f.counters[NODES]
    for u in range(1, n + 1):
        side = f.side[f.outer[u]]
        if side == EVEN:
            if f.label[u] <= amount or f.label[u] - amount <= _NEARLY * f.label[u]:
                return False
            f.label[u] -= amount
        elif side == ODD:
            f.label[u] += amount
    for b in range(n + 1, nodes + 1):
        if f.outer[b] == b:
            if f.side[b] == EVEN:
                f.label[b] += amount * 2
            elif f.side[b] == ODD:
                f.label[b] -= amount * 2
    for x in range(1, nodes + 1):
        if f.nearest[x] != 0:
            f.tightest[x] = slack(f, f.nearest[x], x)
    return True


@loop
def use_nearest(f: Any) -> bool:
    """Use the edges that the labels have made tight, open blossoms; return as `use` does."""
    n = f.counters[VERTICES]
    for x in range(1, f.counters[NODES] + 1):  # without the blossoms that are made meanwhile
        near = f.nearest[x]
        tight = near != 0 and f.outer[near] != x and f.tightest[x] <= 0
        if f.outer[x] == x and tight and use(f, near, x):
            return True
    for b in range(n + 1, f.counters[NODES] + 1):
        if f.outer[b] == b and f.side[b] == ODD and f.label[b] <= 0:
            expand(f, b)
    return False


@loop
def stage(f: Any) -> bool:
    """Grow trees from all free vertices until an edge is added; return False if none can be."""
    nodes = f.counters[NODES]
    f.side[: nodes + 1] = FREE
    f.nearest[: nodes + 1] = 0
    f.counters[HEAD] = f.counters[TAIL] = 0
    for x in range(1, nodes + 1):
        if f.outer[x] == x and f.mate[x] == 0:
            f.parent[x] = 0
            f.side[x] = EVEN
            enqueue(f, x)
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
    found = False
    while stage(f):
        found = True
    return found


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
        petals=np.zeros((nodes, n + 2), dtype=np.int64),
        size=np.zeros(nodes, dtype=np.int64),
        petal_of=np.zeros((nodes, n + 1), dtype=np.int64),
        start=np.zeros((nodes, nodes), dtype=np.int64),
        stop=np.zeros((nodes, nodes), dtype=np.int64),
        weight=np.zeros((nodes, nodes)),
        queue=np.zeros(2 * n + 2, dtype=np.int64),
        counters=np.array([n, n, 0, 0, 0]),
    )
    vertices = np.arange(n + 1)
    f.outer[: n + 1] = vertices
    f.label[: n + 1] = weights.max(initial=0.0)
    f.petal_of[vertices, vertices] = vertices
    f.start[: n + 1, : n + 1] = vertices[:, None]
    f.stop[: n + 1, : n + 1] = vertices[None, :]
    f.weight[1 : n + 1, 1 : n + 1] = weights
    if f.weight.any():
        run_stages(f)
    mates: list[int] = (f.mate[1 : n + 1] - 1).tolist()
    return mates
