"""The least cost of one cell when its items are indivisible.

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

This is one file, as the search calls as C what bounds a node.
"""

import heapq

import cython
import numpy as np
from cython.cimports.libc.math import fabs

_INF = cython.declare(cython.double, float("inf"))
_FREE = cython.declare(cython.longlong, -1)
_OUT = cython.declare(cython.longlong, -2)
_IN = cython.declare(cython.longlong, -3)
"""Of an undecided item without a home, of one without a region, and of one in a region; the number
of a region stands for an item that runs there or nowhere."""
_ULP = cython.declare(cython.double, 2.0**-51)
"""More than the relative error of a term and of an addition, with that of rounded data."""
LEAST = 1e-300
_LEAST = cython.declare(cython.double, LEAST)
"""More than the sum of what numbers below the least double contribute."""


@cython.final
@cython.cclass
class Cell:
    """The arrays of `programs.gpu_cells.Cell`, which has their meaning, and a node of the search.

    Attributes
    ----------
    home
        By table: its region at the node, -1 for none.
    decision
        By item: the region where it runs, or their number for nowhere; -1 if it is undecided.
    state
        By item: see `_FREE`.
    base
        By region: the load of the items that are there.
    level
        By region: its slope.
    load, full
        Work space of `_slopes`, by region.
    used, kept
        Of the node above: by region, above 0 if something is there; and its homes.
    """

    share: cython.const[cython.double][::1]
    penalty: cython.const[cython.double][::1]
    voting: cython.const[cython.longlong][::1]
    first: cython.const[cython.longlong][::1]
    tables: cython.const[cython.longlong][::1]
    order: cython.const[cython.longlong][::1]
    target: cython.const[cython.double][::1]
    alike: cython.const[cython.longlong][::1]
    items: cython.longlong
    regions: cython.longlong
    home: cython.longlong[::1]
    decision: cython.longlong[::1]
    state: cython.longlong[::1]
    base: cython.double[::1]
    level: cython.double[::1]
    load: cython.double[::1]
    full: cython.double[::1]
    used: cython.double[::1]
    kept: cython.longlong[::1]

    def __init__(self, cell, given):
        self.share, self.penalty, self.voting = cell.share, cell.penalty, cell.voting
        self.first, self.tables, self.order = cell.first, cell.tables, cell.order
        self.target, self.alike = cell.target, cell.alike
        self.items, self.regions = len(cell.share), len(cell.target)
        self.home, self.kept = given.copy(), given.copy()
        self.decision, self.state = np.full((2, self.items), -1, dtype=np.int64)
        self.base, self.level, self.load, self.full, self.used = np.zeros((5, self.regions))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sort_out(cell: Cell) -> cython.double:
    """Set each item's state, and each region's load of items there; return the penalties paid."""
    for r in range(cell.regions):
        cell.base[r] = 0.0
    paid = 0.0
    for i in range(cell.items):
        region: cython.longlong = -1
        apart: cython.bint = False
        missing: cython.bint = False
        for a in range(cell.first[i], cell.first[i + 1]):
            h = cell.home[cell.tables[a]]
            if h < 0:
                missing = True
            elif region < 0:
                region = h
            elif h != region:
                apart = True
        state = region if region >= 0 else _FREE
        if cell.decision[i] >= 0:
            region = cell.decision[i]
            state = _OUT if region == cell.regions else _IN
        elif cell.voting[i]:
            state = _FREE if missing or apart else _IN
        elif apart:
            state = _OUT
        elif region >= 0 and cell.penalty[i] == _INF:
            state = _IN
        cell.state[i] = state
        if state == _IN:
            cell.base[region] += cell.share[i]
        elif state == _OUT:
            paid += cell.penalty[i]
    return paid


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _slopes(cell: Cell) -> cython.void:
    """Set each region's slope: the marginal cost at the optimum with divisible items."""
    load, full = cell.load, cell.full
    for r in range(cell.regions):
        full[r] = 0.0
    free = _wanted(cell, 0)
    for i in range(cell.items):  # items that run in one region or nowhere, the dearest first
        r = cell.state[i]
        if r == _FREE:
            free += cell.share[i]
        elif r >= 0 and full[r] == 0.0:
            ratio = cell.penalty[i] / cell.share[i]
            if 2 * (load[r] + cell.share[i] - cell.target[r]) <= ratio:
                load[r] += cell.share[i]
            else:
                full[r] = 1.0
                cell.level[r] = max(ratio, 2 * (load[r] - cell.target[r]))
    for r in range(cell.regions):
        if full[r] == 0.0:
            cell.level[r] = 2 * (load[r] - cell.target[r])
    if free != 0.0:
        slope = _common_slope(cell)
        for r in range(cell.regions):
            cell.level[r] = max(cell.level[r], slope)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _common_slope(cell: Cell) -> cython.double:
    """Return the slope of the regions that take items without a home.

    There they have room for all items that are dearer: first how many these are is found, then the
    slope itself. It leaves other loads in ``load``.
    """
    low: cython.longlong = 0
    high = cell.items
    while low < high:
        middle = (low + high) // 2
        slope = cell.penalty[middle] / cell.share[middle]
        if slope == _INF or _wanted(cell, middle) < _room(cell, slope):
            low = middle + 1
        else:
            high = middle
    amount = _wanted(cell, low)
    least, most = _INF, -_INF
    for r in range(cell.regions):
        excess = cell.load[r] - cell.target[r]
        least = min(least, 2 * excess)
        most = max(most, 2 * (excess + amount))
    if low < cell.items:
        least = max(least, cell.penalty[low] / cell.share[low])
    if low > 0 and cell.penalty[low - 1] < _INF:
        most = min(most, cell.penalty[low - 1] / cell.share[low - 1])
    for _ in range(40):
        slope = (least + most) / 2
        if _room(cell, slope) > amount:
            most = slope
        else:
            least = slope
    return (least + most) / 2


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _wanted(cell: Cell, count: cython.longlong) -> cython.double:
    """Return how much of the first `count` items has no home, and set the load of the others."""
    for r in range(cell.regions):
        cell.load[r] = cell.base[r]
    free = 0.0
    for i in range(count):
        if cell.state[i] == _FREE:
            free += cell.share[i]
        elif cell.state[i] >= 0:
            cell.load[cell.state[i]] += cell.share[i]
    return free


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _room(cell: Cell, slope: cython.double) -> cython.double:
    """Return how much more the regions take until all have the slope."""
    total = 0.0
    for r in range(cell.regions):
        total += max(0.0, cell.target[r] + slope / 2 - cell.load[r])
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _divisible(cell: Cell) -> cython.double:
    """Return a lower bound on the cost at a node, rounded down."""
    paid = _sort_out(cell)
    _slopes(cell)
    total, size, least = paid, paid, _INF
    for r in range(cell.regions):
        level = cell.level[r]
        linear = level * (cell.base[r] - cell.target[r])
        tangent = level * level / 4
        total += linear - tangent
        size += fabs(linear) + 2 * fabs(level) * cell.target[r] + tangent
        least = min(least, level)
    for i in range(cell.items):
        if cell.state[i] >= _FREE:
            slope = least if cell.state[i] == _FREE else cell.level[cell.state[i]]
            term = min(cell.penalty[i], slope * cell.share[i])
            total += term
            size += fabs(term)
    return total - size * (cell.items + 3 * cell.regions + 16) * _ULP - _LEAST


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _decide(cell: Cell, i: cython.longlong, r: cython.longlong) -> cython.void:
    """Decide that an item runs in a region, where its tables are then, or nowhere."""
    cell.decision[i] = r
    if r < cell.regions and not cell.voting[i]:
        for a in range(cell.first[i], cell.first[i + 1]):
            cell.home[cell.tables[a]] = r


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _next_item(cell: Cell) -> cython.longlong:
    """Return the item to decide at a node, -1 if there is none; set what its children need."""
    _sort_out(cell)
    for r in range(cell.regions):
        cell.used[r] = cell.base[r]
    for t in range(cell.home.shape[0]):
        cell.kept[t] = cell.home[t]
        if cell.home[t] >= 0:
            cell.used[cell.home[t]] = 1.0
    for k in range(cell.items):
        if cell.state[cell.order[k]] >= _FREE:
            return cell.order[k]
    return -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _may_run(
    cell: Cell, i: cython.longlong, region: cython.longlong, known: cython.longlong
) -> cython.bint:
    """Whether a search must try an item in a region, or nowhere if `region` is their number.

    Of regions where nothing is, with equal targets, the first will do.

    Parameters
    ----------
    known
        The only region where the item may be; negative for any.
    """
    if region == cell.regions:
        return cell.penalty[i] < _INF
    if known >= 0 or cell.used[region] > 0:
        return known in (region, _FREE)
    for earlier in range(region):
        if cell.alike[earlier] == cell.alike[region] and cell.used[earlier] == 0:
            return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _child(cell: Cell, i: cython.longlong, r: cython.longlong) -> cython.double:
    """Return a lower bound with a decision more than at the node that `_next_item` looked at."""
    for t in range(cell.home.shape[0]):
        cell.home[t] = cell.kept[t]
    _decide(cell, i, r)
    return _divisible(cell)


def least_cost(cell, given: cython.longlong[::1], most_nodes: cython.longlong):
    """Return a lower bound on the cost of a cell, given the homes of some tables.

    Best first over the items: each goes to a region, with its tables, or nowhere. Exact, but for
    rounding, if it ends within `most_nodes`.

    Parameters
    ----------
    cell
        A `programs.gpu_cells.Cell`.
    given
        Regions of the cell's tables, -1 for none.
    most_nodes
        Of the search, each with a bound for every region; 0 for the bound with divisible items.
    """
    work = Cell(cell, given)
    regions, room = work.regions, cython.cast(cython.longlong, 1)
    for _ in range(work.items):
        room = min(room * (regions + 1) + 1, most_nodes * (regions + 1) + 1)
    # By node of the tree: the node above it, the item that it decides, and that item's region.
    above: cython.longlong[::1] = np.empty(room, dtype=np.int64)
    item: cython.longlong[::1] = np.empty(room, dtype=np.int64)
    choice: cython.longlong[::1] = np.empty(room, dtype=np.int64)
    made: cython.longlong = 1
    open_nodes = [(_divisible(work), 0)]
    for _ in range(most_nodes):
        bound, node = heapq.heappop(open_nodes)
        work.home[:] = given
        work.decision[:] = -1
        n: cython.longlong = node
        while n > 0:
            _decide(work, item[n], choice[n])
            n = above[n]
        i = _next_item(work)
        if i < 0:
            return bound
        known = work.state[i]
        for r in range(regions + 1):
            if _may_run(work, i, r, known):
                least = _child(work, i, r)
                above[made], item[made], choice[made] = node, i, r
                heapq.heappush(open_nodes, (least if least > bound else bound, made))
                made += 1
    return open_nodes[0][0]
