"""The least sum of squared differences when indivisible items go to regions; compiled."""

from __future__ import annotations

import math

import numpy as np

from dlsched.solvers.compilation import Floats, entry


@entry("float64(float64[::1], float64[::1], float64[::1], float64)")
def relaxed_squares(load: Floats, target: Floats, scratch: Floats, rest: float) -> float:
    """Return the least sum of (load + added - target)^2 if `rest` is divisible (water filling).

    Parameters
    ----------
    scratch
        Memory, one number per region.
    """
    regions = len(load)
    for r in range(regions):  # insertion sort: there are few regions
        difference = load[r] - target[r]
        k = r
        while k > 0 and scratch[k - 1] > difference:
            scratch[k] = scratch[k - 1]
            k -= 1
        scratch[k] = difference
    level = scratch[0]
    for below in range(1, regions + 1):
        top = scratch[below] if below < regions else math.inf
        room = below * (top - level)
        if room >= rest:
            level += rest / below
            break
        rest -= room
        level = top
    total = 0.0
    for r in range(regions):
        difference = max(scratch[r], level)
        total += difference * difference
    return total


def min_squares(items: Floats, target: Floats, most_nodes: int) -> float:
    """Return a lower bound on the sum of squares when every item goes to one region.

    Depth-first branch and bound over the items, largest first, with the rest divisible; a node
    beyond `most_nodes` counts with its bound. Exact, but for rounding, within `most_nodes`.

    Parameters
    ----------
    items
        Shares, descending.
    target
        By region.
    """
    incumbent = _greedy(items, target)
    if not len(items):
        return incumbent
    return float(_search(items, target, incumbent, most_nodes))


def _greedy(items: Floats, target: Floats) -> float:
    """Return the sum of squares with each item where it increases the sum least."""
    difference = -target.copy()
    for item in items.tolist():
        difference[np.argmin(item * (item + 2 * difference))] += item
    return float(difference @ difference)


@entry("float64(float64[::1], float64[::1], float64, int64)")
def _search(items: Floats, target: Floats, incumbent: float, most_nodes: int) -> float:
    n = len(items)
    regions = len(target)
    rest = np.zeros(n + 1)
    for i in range(n - 1, -1, -1):
        rest[i] = rest[i + 1] + items[i]
    load = np.zeros(regions)
    scratch = np.zeros(regions)
    choice = np.full(n + 1, -1)
    least_unexplored = math.inf
    depth = 0
    nodes = 0
    if relaxed_squares(load, target, scratch, rest[0]) >= incumbent:
        return incumbent
    while depth >= 0:
        if depth == n:
            squares = 0.0
            for q in range(regions):
                squares += (load[q] - target[q]) * (load[q] - target[q])
            incumbent = min(incumbent, squares)
            depth -= 1
            continue
        if choice[depth] >= 0:
            load[choice[depth]] -= items[depth]
        choice[depth] += 1
        r = choice[depth]
        if r == regions:
            choice[depth] = -1
            depth -= 1
            continue
        same = False  # as an earlier region
        for q in range(r):
            if target[q] == target[r] and load[q] == load[r]:
                same = True
        load[r] += items[depth]
        if same:
            continue
        bound = relaxed_squares(load, target, scratch, rest[depth + 1])
        if bound >= incumbent:
            continue
        nodes += 1
        if nodes > most_nodes:
            least_unexplored = min(least_unexplored, bound)
            continue
        depth += 1
        choice[depth] = -1
    return min(incumbent, least_unexplored)
