"""The matching of Muri's published simulator in plain Python: every slack is computed anew.

It is what the compiled search was before it was made faster, which must not change an answer.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
from published.muri.blossom import (
    add_branch,
    ancestor,
    augment,
    enqueue,
    even_place,
    reverse,
    set_outer,
)
from published.muri.forest import EVEN, FREE, HEAD, NODES, ODD, TAIL, VERTICES

_NEARLY = 1e-5


def slack(f: Any, a: int, b: int) -> float:
    """Return the slack of the edge between two nodes."""
    u, v = f.start[a, b], f.stop[a, b]
    result: float = f.label[u] + f.label[v] - f.weight[u, v] * 2.0
    return result


def find_nearest(f: Any, x: int) -> None:
    """Find the nearest even vertex of a node."""
    f.nearest[x] = 0
    for u in range(1, f.counters[VERTICES] + 1):
        if f.weight[u, x] > 0 and f.outer[u] != x and f.side[f.outer[u]] == EVEN:
            tight = slack(f, u, x)
            if f.nearest[x] == 0 or tight < f.tightest[x]:
                f.nearest[x], f.tightest[x] = u, tight


def shrink(f: Any, u: int, top: int, v: int) -> None:
    """Make a blossom of the cycle that an edge between two even nodes closes."""
    n = f.counters[VERTICES]
    b = n + 1
    while b <= f.counters[NODES] and f.outer[b] != 0:
        b += 1
    f.counters[NODES] = max(b, f.counters[NODES])
    nodes = f.counters[NODES]
    f.label[b], f.side[b] = 0.0, EVEN
    f.mate[b] = f.mate[top]
    f.petals[b, 0], f.size[b] = top, 1
    add_branch(f, b, u, top)
    reverse(f, b)
    add_branch(f, b, v, top)
    set_outer(f, b, b)
    for x in range(1, nodes + 1):
        f.weight[b, x] = f.weight[x, b] = 0.0
    f.petal_of[b, :] = 0
    # The edge of a blossom to a node is the tightest of its petals'.
    for i in range(f.size[b]):
        petal = f.petals[b, i]
        for x in range(1, nodes + 1):
            if f.weight[b, x] <= 0 or slack(f, petal, x) < slack(f, b, x):
                f.start[b, x], f.stop[b, x] = f.start[petal, x], f.stop[petal, x]
                f.weight[b, x] = f.weight[petal, x]
                f.start[x, b], f.stop[x, b] = f.start[x, petal], f.stop[x, petal]
                f.weight[x, b] = f.weight[x, petal]
        for x in range(1, n + 1):
            if f.petal_of[petal, x] != 0:
                f.petal_of[b, x] = petal
    find_nearest(f, b)


def expand(f: Any, b: int) -> None:
    """Replace an odd blossom whose label is used up by its petals."""
    for i in range(f.size[b]):
        set_outer(f, f.petals[b, i], f.petals[b, i])
    entered = f.petal_of[b, f.start[b, f.parent[b]]]
    place = even_place(f, b, entered)
    for i in range(0, place, 2):
        odd, even = f.petals[b, i], f.petals[b, i + 1]
        f.parent[odd] = f.start[even, odd]
        f.side[odd], f.side[even] = ODD, EVEN
        f.nearest[odd] = 0
        find_nearest(f, even)
        enqueue(f, even)
    f.side[entered], f.parent[entered] = ODD, f.parent[b]
    for i in range(place + 1, f.size[b]):
        f.side[f.petals[b, i]] = FREE
        find_nearest(f, f.petals[b, i])
    f.outer[b] = 0


def use(f: Any, a: int, b: int) -> bool:
    """Use a tight edge: grow a tree, close a blossom, or augment, which returns True."""
    start, stop = f.start[a, b], f.stop[a, b]
    u, v = f.outer[start], f.outer[stop]
    if f.side[v] == FREE:
        f.parent[v] = start
        f.side[v] = ODD
        even = f.outer[f.mate[v]]
        f.nearest[v] = f.nearest[even] = 0
        f.side[even] = EVEN
        enqueue(f, even)
    elif f.side[v] == EVEN:
        top = ancestor(f, u, v)
        if top == 0:
            augment(f, u, v)
            augment(f, v, u)
            return True
        shrink(f, u, top, v)
    return False


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


def heaviest(weights: Any) -> list[int]:
    """Return each vertex's mate, -1 if it has none."""
    n = len(weights)
    nodes = n + n // 2 + 2  # blossoms that exist at once, and their slots, are at most n / 2
    f = SimpleNamespace(
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
        waiting=np.zeros(nodes, dtype=np.int64),
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
        while stage(f):
            pass
    mates: list[int] = (f.mate[1 : n + 1] - 1).tolist()
    return mates
