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

import numpy as np

from dlsched.problems.placement.programs.gpu_cells import Cell
from dlsched.solvers.compilation import Floats, Ints, entry, loop

_FREE = -1
_OUT = -2
_IN = -3
"""Of an undecided item without a home, of one without a region, and of one in a region; the number
of a region stands for an item that runs there or nowhere."""
_ULP = 2.0**-51
"""More than the relative error of a term and of an addition, with that of rounded data."""
LEAST = 1e-300
"""More than the sum of what numbers below the least double contribute."""


@loop
def _sort_out(cell: Cell, home: Ints, decision: Ints, state: Ints, base: Floats) -> float:
    """Set each item's state, and each region's load of items there; return the penalties paid."""
    regions = len(base)
    for r in range(regions):
        base[r] = 0.0
    paid = 0.0
    for i in range(len(cell.share)):
        r = -1
        apart = False
        missing = False
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
def _slopes(cell: Cell, state: Ints, base: Floats, level: Floats) -> None:
    """Set each region's slope: the marginal cost at the optimum with divisible items."""
    regions = len(base)
    load = np.zeros(regions)
    full = np.zeros(regions)
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
def _common_slope(cell: Cell, state: Ints, base: Floats, load: Floats) -> float:
    """Return the slope of the regions that take items without a home.

    There they have room for all items that are dearer: first how many these are is found, then the
    slope itself. `load` is scratch memory.
    """
    low = 0
    high = len(cell.share)
    while low < high:
        middle = (low + high) // 2
        slope = cell.penalty[middle] / cell.share[middle]
        if slope == math.inf or _wanted(cell, state, base, load, middle) < _room(cell, load, slope):
            low = middle + 1
        else:
            high = middle
    amount = _wanted(cell, state, base, load, low)
    least = math.inf
    most = -math.inf
    for r in range(len(base)):
        excess = load[r] - cell.target[r]
        least = min(least, 2 * excess)
        most = max(most, 2 * (excess + amount))
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
def _wanted(cell: Cell, state: Ints, base: Floats, load: Floats, count: int) -> float:
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
def _room(cell: Cell, load: Floats, slope: float) -> float:
    """Return how much more the regions take until all have the slope."""
    total = 0.0
    for r in range(len(load)):
        total += max(0.0, cell.target[r] + slope / 2 - load[r])
    return total


@loop
def _divisible(
    cell: Cell, home: Ints, decision: Ints, state: Ints, base: Floats, level: Floats
) -> float:
    """Return a lower bound on the cost given some homes and decisions, rounded down."""
    paid = _sort_out(cell, home, decision, state, base)
    _slopes(cell, state, base, level)
    total = paid
    size = paid
    least = math.inf
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
def _settle(cell: Cell, home: Ints, i: int, r: int) -> None:
    """Give the tables of an item that is decided to run in a region their home."""
    if r < len(cell.target) and not cell.voting[i]:
        for a in range(cell.first[i], cell.first[i + 1]):
            home[cell.tables[a]] = r


@loop
def _may_run(cell: Cell, i: int, region: int, known: int, used: Floats) -> bool:
    """Whether a search must try an item in a region, or nowhere if `region` is their number.

    Parameters
    ----------
    known
        The only region where the item may be; negative for any.
    used
        By region: above 0 if something is there. Of unused ones with equal targets, the first will
        do.
    """
    if region == len(used):
        return bool(cell.penalty[i] < math.inf)
    if known >= 0 or used[region] > 0:
        return known in (region, _FREE)
    for earlier in range(region):
        if cell.alike[earlier] == cell.alike[region] and used[earlier] == 0:
            return False
    return True


@loop
def _copy(source: Ints, target: Ints) -> None:
    """Copy an array: ``target[:] = source`` takes seconds to compile, with its error messages."""
    for i in range(len(source)):
        target[i] = source[i]


@loop
def _push(bounds: list[float], nodes: list[int], bound: float, node: int) -> None:
    """Add a node to a heap: the least bound comes first, of equal ones the least number.

    These loops are compiled in a fifth of the time that numba's heapq with tuples takes.
    """
    bounds.append(bound)
    nodes.append(node)
    i = len(bounds) - 1
    while i > 0:
        above = (i - 1) // 2
        if bounds[above] < bound or (bounds[above] == bound and nodes[above] < node):
            break
        bounds[i] = bounds[above]
        nodes[i] = nodes[above]
        i = above
    bounds[i] = bound
    nodes[i] = node


@loop
def _drop_first(bounds: list[float], nodes: list[int]) -> None:
    """Take the first node off a heap."""
    bound = bounds.pop()
    node = nodes.pop()
    size = len(bounds)
    if size == 0:
        return
    i = 0
    while 2 * i + 1 < size:
        below = 2 * i + 1
        other = below + 1
        if other < size and (
            bounds[other] < bounds[below]
            or (bounds[other] == bounds[below] and nodes[other] < nodes[below])
        ):
            below = other
        if bound < bounds[below] or (bound == bounds[below] and node < nodes[below]):
            break
        bounds[i] = bounds[below]
        nodes[i] = nodes[below]
        i = below
    bounds[i] = bound
    nodes[i] = node


@entry("float64(Cell, int64[::1], int64)", records=(Cell,))
def least_cost(cell: Cell, given: Ints, most_nodes: int) -> float:
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
    regions = len(cell.target)
    home = given.copy()
    decision = np.empty(len(cell.share), dtype=np.int64)
    decision[:] = -1
    state = np.zeros(len(cell.share), dtype=np.int64)
    base = np.zeros(regions)
    level = np.zeros(regions)
    # By node of the tree: the node above it, the item that it decides, and that item's region.
    parent = [-1]
    item = [-1]
    choice = [-1]
    bounds = [_divisible(cell, home, decision, state, base, level)]
    nodes = [0]
    for _ in range(most_nodes):
        bound = bounds[0]
        node = nodes[0]
        _drop_first(bounds, nodes)
        _copy(given, home)
        decision[:] = -1
        above = node
        while above > 0:
            decision[item[above]] = choice[above]
            _settle(cell, home, item[above], choice[above])
            above = parent[above]
        _sort_out(cell, home, decision, state, base)
        i = -1
        for k in cell.order:
            if state[k] >= _FREE:
                i = k
                break
        if i < 0:
            return float(bound)
        used = base.copy()
        for h in home:
            if h >= 0:
                used[h] = 1.0
        known = state[i]
        kept = home.copy()
        for region in range(regions + 1):
            if _may_run(cell, i, region, known, used):
                decision[i] = region
                _copy(kept, home)
                _settle(cell, home, i, region)
                least = _divisible(cell, home, decision, state, base, level)
                _push(bounds, nodes, max(bound, least), len(parent))
                parent.append(node)
                item.append(i)
                choice.append(region)
    return float(bounds[0])
