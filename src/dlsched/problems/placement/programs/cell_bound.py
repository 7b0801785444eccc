"""The least cost of one cell when its items are indivisible; compiled.

The cost is convex in the regions' loads. For any slopes s_r, as y^2 >= s y - s^2 / 4, and with b_r
the load of the items that are decided, t_r the target, a_i and p_i an item's share and penalty:

cost >= paid + sum_r (s_r (b_r - t_r) - s_r^2 / 4) + sum_i min(p_i, a_i min_r s_r)

(for an item that can only be in one region, `s_r` of that region instead of the least). The slopes
are those of the optimum with divisible items. A best-first search decides the items.

Rounding: every number is an exact one rounded to nearest, or a slope, which is exact whatever it
is. With n items and R regions, b_r is a sum of at most n terms that are not negative, the total one
of at most n + 2 R + 1 terms, and each term a product of at most three rounded numbers. So the error
is at most n + 2 R + 8 units of 2^-53 times the sum of the absolute values of the terms, in which
s_r (b_r - t_r) counts with |s_r| (b_r + t_r). A larger one is subtracted. What is below the least
double is not covered by that; `LEAST` is.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dlsched.problems.placement.programs.gpu_cells import Cell
from dlsched.solvers.compilation import entry, loop

_FREE, _OUT, _IN = -1, -2, -3
"""Of an undecided item without a home, of one without a region, and of one in a region; the number
of a region stands for an item that runs there or nowhere."""
_ULP = 2.0**-51
"""More than the relative error of a term and of an addition, with that of rounded data."""
LEAST = 1e-300
"""More than the sum of what numbers below the least double contribute."""


@loop
def _sort_out(cell: Any, home: Any, decision: Any, state: Any, base: Any) -> float:
    """Set each item's state, and each region's load of items there; return the penalties paid."""
    regions = len(base)
    for r in range(regions):
        base[r] = 0.0
    paid = 0.0
    for i in range(len(cell.share)):
        r, apart, missing = -1, False, False
        for a in range(cell.first[i], cell.first[i + 1]):
            h = home[cell.tables[a]]
            if h < 0:
                missing = True
            elif r < 0:
                r = h
            elif h != r:
                apart = True
        state[i] = r if r >= 0 else _FREE
        if decision[i] >= 0:
            r = decision[i]
            state[i] = _OUT if r == regions else _IN
        elif cell.voting[i]:
            state[i] = _FREE if missing or apart else _IN
        elif apart:
            state[i] = _OUT
        elif r >= 0 and cell.penalty[i] == math.inf:
            state[i] = _IN
        if state[i] == _IN:
            base[r] += cell.share[i]
        elif state[i] == _OUT:
            paid += cell.penalty[i]
    return paid


@loop
def _slopes(cell: Any, state: Any, base: Any, level: Any) -> None:
    """Set each region's slope: the marginal cost at the optimum with divisible items."""
    regions = len(base)
    load, full = np.zeros(regions), np.zeros(regions)
    free = _wanted(cell, state, base, load, 0)
    for i in range(len(cell.share)):  # items that run in one region or nowhere, the dearest first
        r = state[i]
        if r == _FREE:
            free += cell.share[i]
        elif r >= 0 and not full[r]:
            ratio = cell.penalty[i] / cell.share[i]
            if 2 * (load[r] + cell.share[i] - cell.target[r]) <= ratio:
                load[r] += cell.share[i]
            else:
                full[r] = 1.0
                level[r] = max(ratio, 2 * (load[r] - cell.target[r]))
    for r in range(regions):
        if not full[r]:
            level[r] = 2 * (load[r] - cell.target[r])
    if free:
        slope = _common_slope(cell, state, base, load)
        for r in range(regions):
            level[r] = max(level[r], slope)


@loop
def _common_slope(cell: Any, state: Any, base: Any, load: Any) -> float:
    """Return the slope of the regions that take items without a home.

    There they have room for all items that are dearer: first how many these are is found, then the
    slope itself. `load` is scratch memory.
    """
    low, high = 0, len(cell.share)
    while low < high:
        middle = (low + high) // 2
        slope = cell.penalty[middle] / cell.share[middle]
        if slope == math.inf or _wanted(cell, state, base, load, middle) < _room(cell, load, slope):
            low = middle + 1
        else:
            high = middle
    amount = _wanted(cell, state, base, load, low)
    least, most = math.inf, -math.inf
    for r in range(len(base)):
        least = min(least, 2 * (load[r] - cell.target[r]))
        most = max(most, 2 * (load[r] - cell.target[r] + amount))
    if low < len(cell.share):
        least = max(least, cell.penalty[low] / cell.share[low])
    if low > 0 and cell.penalty[low - 1] < math.inf:
        most = min(most, cell.penalty[low - 1] / cell.share[low - 1])
    for _ in range(40):
        slope = (least + most) / 2
        if _room(cell, load, slope) > amount:
            most = slope
        else:
            least = slope
    return (least + most) / 2


@loop
def _wanted(cell: Any, state: Any, base: Any, load: Any, count: int) -> float:
    """Return how much of the first `count` items has no home, and set the load of the others."""
    for r in range(len(base)):
        load[r] = base[r]
    free = 0.0
    for i in range(count):
        if state[i] == _FREE:
            free += cell.share[i]
        elif state[i] >= 0:
            load[state[i]] += cell.share[i]
    return free


@loop
def _room(cell: Any, load: Any, slope: float) -> float:
    """Return how much more the regions take until all have the slope."""
    total = 0.0
    for r in range(len(load)):
        total += max(0.0, cell.target[r] + slope / 2 - load[r])
    return total


@loop
def _divisible(cell: Any, home: Any, decision: Any, state: Any, base: Any, level: Any) -> float:
    """Return a lower bound on the cost given some homes and decisions, rounded down."""
    paid = _sort_out(cell, home, decision, state, base)
    _slopes(cell, state, base, level)
    total, size, least = paid, paid, math.inf
    for r in range(len(base)):
        linear = level[r] * (base[r] - cell.target[r])
        tangent = level[r] * level[r] / 4
        total += linear - tangent
        size += abs(linear) + 2 * abs(level[r]) * cell.target[r] + tangent
        least = min(least, level[r])
    for i in range(len(cell.share)):
        if state[i] >= _FREE:
            slope = least if state[i] == _FREE else level[state[i]]
            term = min(cell.penalty[i], slope * cell.share[i])
            total += term
            size += abs(term)
    return total - size * (len(cell.share) + 3 * len(base) + 16) * _ULP - LEAST


@loop
def _settle(cell: Any, home: Any, i: int, r: int) -> None:
    """Give the tables of an item that is decided to run in a region their home."""
    if r < len(cell.target) and not cell.voting[i]:
        for a in range(cell.first[i], cell.first[i + 1]):
            home[cell.tables[a]] = r


@loop
def _push(heap: Any, bounds: Any, waiting: int, node: int) -> None:
    """Add a node to the heap of those that wait, the least bound first."""
    place = waiting
    while place > 0 and bounds[heap[(place - 1) // 2]] > bounds[node]:
        heap[place] = heap[(place - 1) // 2]
        place = (place - 1) // 2
    heap[place] = node


@loop
def _pop(heap: Any, bounds: Any, waiting: int) -> int:
    """Remove the node with the least bound from the heap, and return it."""
    least, last, place = heap[0], heap[waiting - 1], 0
    while 2 * place + 1 < waiting:
        below = 2 * place + 1
        if below + 1 < waiting and bounds[heap[below + 1]] < bounds[heap[below]]:
            below += 1
        if bounds[heap[below]] >= bounds[last]:
            break
        heap[place] = heap[below]
        place = below
    heap[place] = last
    return int(least)


@entry("float64(Cell, int64[::1], int64)", records=(Cell,))
def least_cost(cell: Any, given: Any, most_nodes: int) -> float:  # noqa: PLR0912
    """Return a lower bound on the cost of a cell, given the homes of some tables.

    Best first over the items: each goes to a region, with its tables, or nowhere. Exact, but for
    rounding, if it ends within `most_nodes`.

    Parameters
    ----------
    given
        Regions of the cell's tables, -1 for none.
    most_nodes
        Of the search, each with a bound for every region; 0 for the bound with divisible items.
    """
    n, regions = len(cell.share), len(cell.target)
    home, decision = given.copy(), np.full(n, -1)
    state, base, level = np.zeros(n, dtype=np.int64), np.zeros(regions), np.zeros(regions)
    places = most_nodes * (regions + 1) + 1
    # Of many places few are reached, so none is written before.
    bounds, heap = np.empty(places), np.empty(places, dtype=np.int64)
    parent = np.empty(places, dtype=np.int64)
    item, choice = np.empty(places, dtype=np.int64), np.empty(places, dtype=np.int64)
    bounds[0], heap[0], waiting = _divisible(cell, home, decision, state, base, level), 0, 1
    used, count = np.zeros(regions), 1
    for _ in range(most_nodes):
        node, waiting = _pop(heap, bounds, waiting), waiting - 1
        for t in range(len(home)):
            home[t] = given[t]
        for k in range(n):
            decision[k] = -1
        x = node
        while x > 0:
            decision[item[x]] = choice[x]
            _settle(cell, home, item[x], choice[x])
            x = parent[x]
        kept = home.copy()
        _sort_out(cell, home, decision, state, base)
        i = -1
        for k in range(n):
            if state[cell.order[k]] >= _FREE:
                i = cell.order[k]
                break
        if i < 0:
            return float(bounds[node])
        for r in range(regions):
            used[r] = base[r]
        for t in range(len(home)):
            if home[t] >= 0:
                used[home[t]] = 1.0
        only = state[i]
        for r in range(regions + 1):
            if r == regions:
                if cell.penalty[i] == math.inf:
                    continue
            elif only >= 0 and r != only:
                continue
            elif not used[r]:
                same = False  # as an earlier region
                for q in range(r):
                    same |= cell.alike[q] == cell.alike[r] and not used[q]
                if same:
                    continue
            decision[i] = r
            for t in range(len(home)):
                home[t] = kept[t]
            _settle(cell, home, i, r)
            least = _divisible(cell, home, decision, state, base, level)
            bounds[count] = max(bounds[node], least)
            parent[count], item[count], choice[count] = node, i, r
            _push(heap, bounds, waiting, count)
            count, waiting = count + 1, waiting + 1
    return float(bounds[heap[0]])
