"""The least sum of squared differences that whole lumps leave; compiled."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dlsched.compilation import entry


@entry("float64(float64[::1], float64[::1], float64[::1], float64, boolean)")
def poured(load: Any, target: Any, room: Any, rest: float, all_of_it: bool) -> float:
    """Return the least sum of (load + poured - target)^2 when `rest` is poured over the regions.

    Parameters
    ----------
    room
        Scratch, one number per region.
    all_of_it
        Whether all must be poured; else what is left over costs nothing.
    """
    n = len(load)
    for i in range(n):  # sorted by insertion: there are few regions
        off, k = load[i] - target[i], i
        while k > 0 and room[k - 1] > off:
            room[k] = room[k - 1]
            k -= 1
        room[k] = off
    level, left = room[0], rest
    for i in range(1, n + 1):
        top = room[i] if i < n else math.inf
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


def least(lumps: Any, target: Any, all_of_it: bool, most_nodes: int) -> float:
    """Return a lower bound on the sum of squares when every lump goes to one region.

    A depth-first search over the lumps, largest first, with the others poured; what it has no time
    to look at counts with the bound of its node. Exact, but for rounding, if it ends within
    `most_nodes`.

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
    rest = np.append(np.cumsum(lumps[::-1])[::-1], 0.0)
    incumbent = _greedy(lumps, target, all_of_it)
    if n == 0:
        return incumbent
    return float(
        _search(lumps, target, rest, np.zeros(regions), np.full(n + 1, -1), np.zeros(regions),
                incumbent, all_of_it, most_nodes)
    )  # fmt: skip


def _greedy(lumps: Any, target: Any, all_of_it: bool) -> float:
    """Return the sum of squares with each lump where it leaves least."""
    off = -target.copy()
    for lump in lumps.tolist():
        change = lump * (lump + 2 * off)
        where = int(np.argmin(change))
        if all_of_it or change[where] < 0:
            off[where] += lump
    return float(off @ off)


@entry(
    "float64(float64[::1], float64[::1], float64[::1], float64[::1], int64[::1], float64[::1],"
    " float64, boolean, int64)"
)
def _search(
    lumps: Any, target: Any, rest: Any, load: Any, choice: Any, room: Any, incumbent: float,
    all_of_it: bool, most_nodes: int,
) -> float:  # fmt: skip
    """Search; `load`, `choice` and `room` are scratch: zeros, -1 for each lump and one more."""
    n, regions = len(lumps), len(target)
    cut = math.inf  # the least bound of a node that was not looked into
    depth, nodes = 0, 0
    if poured(load, target, room, rest[0], all_of_it) >= incumbent:
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
            load[choice[depth]] -= lumps[depth]
        choice[depth] += 1
        r = choice[depth]
        if r > regions or (r == regions and all_of_it):
            choice[depth] = -1
            depth -= 1
            continue
        if r < regions:
            same = False  # a region just like an earlier one need not be tried
            for q in range(r):
                if target[q] == target[r] and load[q] == load[r]:
                    same = True
            load[r] += lumps[depth]
            if same:
                continue
        bound = poured(load, target, room, rest[depth + 1], all_of_it)
        if bound >= incumbent:
            continue
        nodes += 1
        if nodes > most_nodes:
            cut = min(cut, bound)
            continue
        depth += 1
        choice[depth] = -1
    return min(incumbent, cut)
