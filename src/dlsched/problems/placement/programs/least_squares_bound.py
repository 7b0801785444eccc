"""The least sum of squared differences when indivisible items go to regions; compiled."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dlsched.solvers.compilation import entry


@entry("float64(float64[::1], float64[::1], float64[::1], float64, boolean)")
def relaxed_squares(load: Any, target: Any, scratch: Any, rest: float, assign_all: bool) -> float:
    """Return the least sum of (load + added - target)^2 if `rest` is divisible (water filling).

    Parameters
    ----------
    scratch
        Memory, one number per region.
    assign_all
        Whether all of `rest` must be added; else any part of it may be left out.
    """
    n = len(load)
    for i in range(n):  # insertion sort: there are few regions
        difference, k = load[i] - target[i], i
        while k > 0 and scratch[k - 1] > difference:
            scratch[k] = scratch[k - 1]
            k -= 1
        scratch[k] = difference
    level, left = scratch[0], rest
    for i in range(1, n + 1):
        top = scratch[i] if i < n else math.inf
        if not assign_all and top > 0.0:
            top = max(level, 0.0)
            if left >= i * (top - level):
                level = top
                break
        need = i * (top - level)
        if need >= left:
            level += left / i
            break
        left -= need
        level = top
    total = 0.0
    for i in range(n):
        difference = max(scratch[i], level)
        total += difference * difference
    return total


def min_squares(items: Any, target: Any, assign_all: bool, most_nodes: int) -> float:
    """Return a lower bound on the sum of squares when every item goes to one region.

    Depth-first branch and bound over the items, largest first, with the rest divisible; a node
    beyond `most_nodes` counts with its bound. Exact, but for rounding, within `most_nodes`.

    Parameters
    ----------
    items
        Shares, descending.
    target
        By region.
    assign_all
        Whether every item must go to some region.
    """
    incumbent = _greedy(items, target, assign_all)
    if not len(items):
        return incumbent
    return float(_search(items, target, incumbent, assign_all, most_nodes))


def _greedy(items: Any, target: Any, assign_all: bool) -> float:
    """Return the sum of squares with each item where it increases the sum least."""
    difference = -target.copy()
    for item in items.tolist():
        change = item * (item + 2 * difference)
        r = int(np.argmin(change))
        if assign_all or change[r] < 0:
            difference[r] += item
    return float(difference @ difference)


@entry("float64(float64[::1], float64[::1], float64, boolean, int64)")
def _search(items: Any, target: Any, incumbent: float, assign_all: bool, most_nodes: int) -> float:  # noqa: PLR0912
    n, regions = len(items), len(target)
    rest = np.zeros(n + 1)
    for i in range(n - 1, -1, -1):
        rest[i] = rest[i + 1] + items[i]
    load, scratch = np.zeros(regions), np.zeros(regions)
    choice = np.full(n + 1, -1)
    least_unexplored = math.inf
    depth, nodes = 0, 0
    if relaxed_squares(load, target, scratch, rest[0], assign_all) >= incumbent:
        return incumbent
    while depth >= 0:
        if depth == n:
            squares = 0.0
            for q in range(regions):
                squares += (load[q] - target[q]) * (load[q] - target[q])
            incumbent = min(incumbent, squares)
            depth -= 1
            continue
        if choice[depth] >= 0 and choice[depth] < regions:
            load[choice[depth]] -= items[depth]
        choice[depth] += 1
        r = choice[depth]
        if r > regions or (r == regions and assign_all):
            choice[depth] = -1
            depth -= 1
            continue
        if r < regions:
            same = False  # as an earlier region
            for q in range(r):
                if target[q] == target[r] and load[q] == load[r]:
                    same = True
            load[r] += items[depth]
            if same:
                continue
        bound = relaxed_squares(load, target, scratch, rest[depth + 1], assign_all)
        if bound >= incumbent:
            continue
        nodes += 1
        if nodes > most_nodes:
            least_unexplored = min(least_unexplored, bound)
            continue
        depth += 1
        choice[depth] = -1
    return min(incumbent, least_unexplored)
