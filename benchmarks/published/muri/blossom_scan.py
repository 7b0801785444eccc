"""The scan of the blossom algorithm: even vertices in the queue's order, and their edges.

A vertex is compared with all others without a branch, so that the processor takes several at once;
only edges whose slack is below a bar, which few are, are then looked at one by one.
"""

from __future__ import annotations

import math
from typing import Any

from dlsched.solvers.compilation import loop
from published.muri.blossom import slack_of, use
from published.muri.forest import HEAD, NODES, ODD, SHOWN, TAIL, VERTICES

_LEAST = 5e-324
"""The least positive number: a slack is below it if the edge is tight."""


@loop
def set_bars(f: Any) -> None:
    """State which slack of an edge to a vertex matters, and which vertices blossoms have."""
    outer, side, tightest, bar = f.outer, f.side, f.tightest, f.bar
    first, following = f.first, f.following
    n, nodes = f.counters[VERTICES], f.counters[NODES]
    first[: nodes + 1] = 0
    count = 0
    for v in range(n, 0, -1):
        x = outer[v]
        if side[x] == ODD:
            bar[v] = -math.inf
        elif x == v:
            bar[v] = max(tightest[v], _LEAST)
        else:
            bar[v] = _LEAST
            if first[x] == 0:
                f.shown[count] = x
                count += 1
            following[v] = first[x]
            first[x] = v
    f.counters[SHOWN] = count


@loop
def close_bars(f: Any, x: int) -> None:
    """State that edges to a node that has become odd do not matter, but those to its mate do."""
    n, bar = f.counters[VERTICES], f.bar
    even = f.outer[f.mate[x]]
    if even <= n:
        bar[even] = math.inf
    if x <= n:
        bar[x] = -math.inf
        return
    v = f.first[x]
    f.first[x] = 0
    while v != 0:
        bar[v] = -math.inf
        v = f.following[v]


@loop
def compare_blossoms(f: Any, u: int, lowest: int) -> None:
    """Compare a vertex's edges to blossoms, by their vertices from one on, with the tightest."""
    outer, label, doubled = f.outer, f.label, f.doubled
    first, following = f.first, f.following
    for i in range(f.counters[SHOWN]):
        x = f.shown[i]
        v = first[x]
        if v == 0 or x == outer[u]:
            continue
        while v != 0 and (v < lowest or not 0 < label[u] + label[v] - doubled[u, v] < math.inf):
            v = following[v]
        if v != 0:
            tight = slack_of(f, u, f.start[x, u])
            if tight < f.tightest[x]:
                f.nearest[x], f.tightest[x] = u, tight


@loop
def any_below(slack: Any, label: Any, doubled: Any, bar: Any, base: float) -> bool:
    """Compute a vertex's slacks to all others; return whether any is below its bar."""
    below = 0
    for v in range(len(bar)):  # without a branch, for several vertices at once
        slack[v] = base + label[v] - doubled[v]
        below += slack[v] < bar[v]
    return below > 0


@loop
def scan(f: Any) -> bool:
    """Scan the queue's vertices and use their tight edges; return whether one augments."""
    # Most of the time is spent here: one vertex is compared with all others by `any_below`, and
    # those for which that changes something, few, one by one.
    outer, label, bar, slack = f.outer, f.label, f.bar, f.slack
    nearest, tightest = f.nearest, f.tightest
    queue, counters = f.queue, f.counters
    n = counters[VERTICES]
    labels = label[: n + 1]
    set_bars(f)
    while counters[HEAD] < counters[TAIL]:
        u = queue[counters[HEAD]]
        counters[HEAD] += 1
        if f.side[outer[u]] == ODD:
            continue
        compare_blossoms(f, u, 1)
        if not any_below(slack, labels, f.doubled[u], bar, label[u]):
            continue
        for v in range(1, n + 1):
            if slack[v] >= bar[v]:
                continue
            if slack[v] > 0:
                nearest[v] = u
                tightest[v] = bar[v] = slack[v]
            elif outer[v] != outer[u]:
                x, own = outer[v], outer[u]
                if use(f, u, v):
                    return True
                if outer[u] == own:  # a tree has grown by the other node and its mate
                    close_bars(f, x)
                else:
                    set_bars(f)
                compare_blossoms(f, u, v + 1)
    return False
