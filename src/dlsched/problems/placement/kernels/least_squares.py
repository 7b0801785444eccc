"""The least sum of squared differences when indivisible items go to regions."""

import cython
import numpy as np

_INF = cython.declare(cython.double, float("inf"))


@cython.ccall
@cython.nogil
@cython.exceptval(check=False)
def relaxed_squares(
    load: cython.double[::1],
    target: cython.double[::1],
    scratch: cython.double[::1],
    rest: cython.double,
) -> cython.double:
    """Return the least sum of (load + added - target)^2 if `rest` is divisible (water filling).

    Parameters
    ----------
    load, target
        By region.
    scratch
        Memory, one number per region.
    """
    regions = load.shape[0]
    for r in range(regions):  # insertion sort: there are few regions
        difference = load[r] - target[r]
        k = r
        while k > 0 and scratch[k - 1] > difference:
            scratch[k] = scratch[k - 1]
            k -= 1
        scratch[k] = difference
    level = scratch[0]
    for below in range(1, regions + 1):
        top = scratch[below] if below < regions else _INF
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


def min_squares(items: cython.double[::1], target: cython.double[::1], most_nodes: cython.longlong):
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
    least = _greedy(np.asarray(items), np.asarray(target))
    if items.shape[0] == 0:
        return least
    n, regions = items.shape[0], target.shape[0]
    rest: cython.double[::1] = np.zeros(n + 1)
    load: cython.double[::1] = np.zeros(regions)
    scratch: cython.double[::1] = np.zeros(regions)
    choice: cython.longlong[::1] = np.full(n + 1, -1)
    incumbent: cython.double = least
    with cython.nogil:
        for i in range(n - 1, -1, -1):
            rest[i] = rest[i + 1] + items[i]
        least_unexplored = _INF
        depth: cython.longlong = 0
        nodes: cython.longlong = 0
        if relaxed_squares(load, target, scratch, rest[0]) >= incumbent:
            depth = -1
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
            same: cython.bint = _is_like_earlier(load, target, r)
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


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_like_earlier(
    load: cython.double[::1], target: cython.double[::1], r: cython.longlong
) -> cython.bint:
    """Whether an earlier region has the same target and load."""
    alike: cython.bint = False
    for q in range(r):
        if target[q] == target[r] and load[q] == load[r]:
            alike = True
    return alike


def _greedy(items, target):
    """Return the sum of squares with each item where it increases the sum least."""
    difference = -target
    for item in items.tolist():
        difference[np.argmin(item * (item + 2 * difference))] += item
    return float(difference @ difference)
