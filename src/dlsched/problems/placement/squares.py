"""The least sum of squared differences that whole lumps leave; compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True)
def poured(load: Any, target: Any, rest: float, all_of_it: bool) -> float:
    """Return the least sum of (load + poured - target)^2 when `rest` is poured over the regions.

    Parameters
    ----------
    all_of_it
        Whether all must be poured; else what is left over costs nothing.
    """
    room = np.sort(load - target)
    n = len(room)
    level, left = room[0], rest
    for i in range(1, n + 1):
        top = room[i] if i < n else np.inf
        if not all_of_it and top > 0.0:
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
        off = max(room[i], level)
        total += off * off
    return total


@njit(cache=True)
def least(lumps: Any, target: Any, all_of_it: bool, most_nodes: int) -> float:
    """Return a lower bound on the sum of squares when every lump goes to one region.

    A depth-first search over the lumps, largest first, with the others poured; what it has no time
    to look at counts with the bound of its node. Exact if it ends within `most_nodes`.

    Parameters
    ----------
    lumps
        Shares, descending.
    target
        By region.
    all_of_it
        Whether every lump must go somewhere.
    """
    n, regions = len(lumps), len(target)
    rest = np.zeros(n + 1)
    for i in range(n - 1, -1, -1):
        rest[i] = rest[i + 1] + lumps[i]
    load = np.zeros(regions)
    greedy = np.zeros(regions)
    for i in range(n):  # the first incumbent: each where it leaves least
        best, where = (np.inf if all_of_it else 0.0), -1
        for r in range(regions):
            d = (greedy[r] + lumps[i] - target[r]) ** 2 - (greedy[r] - target[r]) ** 2
            if d < best:
                best, where = d, r
        if where >= 0:
            greedy[where] += lumps[i]
    incumbent = ((greedy - target) ** 2).sum()
    cut = np.inf  # the least bound of a node that was not looked into
    choice = np.full(n + 1, -1, dtype=np.int64)
    depth, nodes = 0, 0
    if poured(load, target, rest[0], all_of_it) >= incumbent:
        return incumbent
    while depth >= 0:
        if depth == n:
            incumbent = min(incumbent, ((load - target) ** 2).sum())
            depth -= 1
            continue
        if choice[depth] >= 0 and choice[depth] < regions:
            load[choice[depth]] -= lumps[depth]
        choice[depth] += 1
        r = choice[depth]
        if r > regions or (r == regions and all_of_it):
            choice[depth] = -1
            depth -= 1
            continue
        if r < regions:
            load[r] += lumps[depth]
            same = False  # a region just like an earlier one need not be tried
            for q in range(r):
                if target[q] == target[r] and load[q] == load[r] - lumps[depth]:
                    same = True
            if same:
                continue
        bound = poured(load, target, rest[depth + 1], all_of_it)
        if bound >= incumbent:
            continue
        nodes += 1
        if nodes > most_nodes:
            cut = min(cut, bound)
            continue
        depth += 1
        choice[depth] = -1
    return min(incumbent, cut)
