"""The compiled search for groups whose worth exceeds what their jobs cost.

Profiles of one class are sorted by the sum of their stages, largest first. A depth-first search
adds profiles in that order, each at a free offset. With w the class's weight, k resources, T the
iteration time so far and s = w / (k T), a group S can grow by a job d to a reduced value of at most

    s sum(S) - price(S) + (s sum(d) - price(d)),

because T only grows. The largest second term over all d from some position on is read off a table
by position and T (the suffix-max table); T is rounded down to the table's grid, which only raises
the term. Everything is in 64-bit floats; `REDUCED_ERROR` says what they may be off by.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

PER_DOUBLING = 64
GRID = 20 * PER_DOUBLING
"""Steps of T in the tables; later ones count as the last."""
SMALL_QUOTA = 64
SAFETY = 1e-12
"""Added to every bound before it prunes; far more than its rounding."""
REDUCED_ERROR = 2.0**-40
"""No reduced value is off by more, relative to the class's weight plus its largest price.

Efficiencies are within 2**-44 (groups.GAMMA_ERROR); up to 8 prices and a GPU price are subtracted,
each rounding within 2**-52 of a partial sum that is at most 9 times the largest of them.
"""


@njit(cache=True)
def step_of(time: float, low: float) -> int:
    """Return the step of the suffix-max table at or below an iteration time.

    Steps per doubling are even, as in a float's bits: a logarithm would take most of the search.
    """
    fraction, exponent = math.frexp(time / low)
    return min(GRID - 1, (exponent - 1) * PER_DOUBLING + int((2 * fraction - 1) * PER_DOUBLING))


@njit(cache=True)
def growth(more: float, value: float, left: int, uniform: bool) -> float:
    """Return the most that a group can be worth with up to `left` more jobs; all, if uniform."""
    if uniform:
        return value + left * more
    return value + more + (left - 1) * max(0.0, more)


@njit(cache=True)
def tables(sums: Any, prices: Any, weight: float, k: int, largest: int) -> Any:
    """Return what jobs add at most, for the times of a grid that begins at `low`.

    Returns
    -------
    tuple
        ``suffix[p, t]``, the most that a profile from position p on adds at the t-th time;
        ``order[t]``, the positions by what they add, most first, and ``adds[t]``, how much; `low`.
    """
    n = len(sums)
    low = sums[n - 1] * (1 - 1e-12)
    steps = 1 + step_of(largest * sums[0], low)
    suffix = np.full((n + 1, steps), -np.inf)
    order = np.empty((steps, n), np.int64)
    adds = np.empty((steps, n))
    for t in range(steps):
        time = low * 2.0 ** (t // PER_DOUBLING) * (1 + (t % PER_DOUBLING) / PER_DOUBLING)
        add = weight / (k * time * (1 - 1e-12)) * sums - prices
        for p in range(n - 1, -1, -1):
            suffix[p, t] = max(suffix[p + 1, t], add[p])
        order[t] = np.argsort(-add, kind="mergesort")
        adds[t] = add[order[t]]
    return suffix, order, adds, low


@njit(cache=True)
def keep(
    members: Any, values: Any, begin: int, kept: int, quota: int, row: Any, value: float
) -> Any:
    """Note a group among the best of its first profile; return how many of these there are.

    Several arrangements of one group may be met; with a small quota only the best of them stays.
    """
    room = len(values)
    if begin + kept >= room:
        return min(kept + 1, quota)  # counted, not stored
    if quota <= SMALL_QUOTA:
        for i in range(begin, begin + kept):
            same = True
            for j in range(len(row)):
                same = same and members[i, j] == row[j]
            if same:
                values[i] = max(values[i], value)
                return kept
    if kept < quota:
        place = begin + kept
        kept += 1
    else:
        place = begin + int(np.argmin(values[begin : begin + kept]))
    values[place] = value
    members[place] = row
    return kept


@njit(cache=True)
def price_class(
    firsts: Any,
    known: Any,
    turned: Any,
    sums: Any,
    prices: Any,
    many: Any,
    weight: float,
    fixed: float,
    smallest: int,
    largest: int,
    threshold: float,
    quota: int,
    listing: bool,
    members: Any,
    values: Any,
) -> Any:
    """Search one class for groups whose reduced value is above a threshold.

    Parameters
    ----------
    firsts
        The groups whose first profile is at a position from ``firsts[0]`` to before ``firsts[1]``.
    known
        What `tables` returned.
    turned
        k x n x k: profiles by offset, stages from there on; n in the order of `sums`.
    sums, prices, many
        Sum of stages (descending), price and number of jobs of each profile.
    weight, fixed
        A group is worth weight * gamma - fixed - its jobs' prices.
    smallest, largest
        Sizes of groups.
    threshold
        Values at or below it are of no interest.
    quota
        Most groups to keep with the same first profile, the best of them.
    listing
        Whether to end as soon as there is no more room: the largest value is then not met.
    members, values
        Room for the answer: rows of positions, -1 where a group is smaller, and reduced values.

    Returns
    -------
    tuple
        Number of groups found (those beyond the room are counted, not stored), and the largest
        value met; a value that the threshold hides need not be met.
    """
    k, n = turned.shape[0], turned.shape[1]
    suffix, order, adds, low = known
    uniform = smallest == largest

    chosen = np.full(largest, -1, np.int64)
    offset = np.zeros(largest, np.int64)
    used = np.zeros(k, np.bool_)
    busiest = np.zeros((largest + 1, k))
    total = np.zeros(largest + 1)
    paid = np.zeros(largest + 1)
    # Of the group at each depth: weight / (k T), reduced value, and the most a job adds.
    slope, worth, rest = np.zeros(largest + 1), np.zeros(largest + 1), np.zeros(largest + 1)
    found, best = 0, -np.inf
    for first in range(firsts[0], firsts[1]):
        limit, kept = threshold, 0
        # The first profile stays at offset 0: a cyclic shift changes nothing.
        chosen[:] = -1
        chosen[0] = first
        used[:] = False
        used[0] = True
        busiest[1] = turned[0, first]
        total[1] = sums[first]
        paid[1] = fixed + prices[first]
        depth, fresh = 1, True
        while depth >= 1:
            if listing and found + kept > len(values):
                return found + kept, best
            if fresh:
                time = busiest[depth].sum()
                s = weight / (k * time)
                value = s * total[depth] - paid[depth]
                if depth >= smallest:
                    best = max(best, value)
                    if value > limit:
                        kept = keep(members, values, found, kept, quota, chosen, value)
                        if kept == quota and found + kept <= len(values):
                            limit = max(limit, values[found : found + kept].min())
                grow = depth < largest
                if grow:
                    more = suffix[chosen[depth - 1], step_of(time, low)]
                    grow = growth(more, value, largest - depth, uniform) > limit - SAFETY
                    slope[depth], worth[depth], rest[depth] = s, value, more
                if grow and depth == largest - 1:
                    # The last job needs no bookkeeping: it is the loop that takes the time.
                    grow = False
                    start = chosen[depth - 1]
                    t = step_of(time, low)
                    for r in range(n):
                        if value + adds[t, r] <= limit - SAFETY:
                            break
                        p = order[t, r]
                        if p < start:
                            continue
                        if p == start:
                            copies = 0
                            for i in range(depth):
                                copies += chosen[i] == p
                            if copies >= many[p]:
                                continue
                        shortest = np.inf
                        for o in range(1, k):
                            if not used[o]:
                                longer = 0.0
                                for j in range(k):
                                    longer += max(busiest[depth, j], turned[o, p, j])
                                shortest = min(shortest, longer)
                        full = weight * (total[depth] + sums[p]) / (k * shortest)
                        full -= paid[depth] + prices[p]
                        best = max(best, full)
                        if full > limit:
                            chosen[depth] = p
                            kept = keep(members, values, found, kept, quota, chosen, full)
                            chosen[depth] = -1
                            if kept == quota and found + kept <= len(values):
                                limit = max(limit, values[found : found + kept].min())
                if grow:
                    chosen[depth], offset[depth] = chosen[depth - 1], 0
                fresh = grow
            if not fresh:
                # Take the last job back and try its next place.
                depth -= 1
                if depth == 0:
                    break
                used[offset[depth]] = False
            # The next place from which the group is of interest, or can become so.
            p, o = chosen[depth], offset[depth] + 1
            placed = False
            while p < n and not placed:
                same = p == chosen[depth - 1]
                copies = 0
                if same:
                    for i in range(depth):
                        copies += chosen[i] == p
                # At the time so far, this job and the best ones after it would add at most so much.
                add = slope[depth] * sums[p] - prices[p]
                reach = growth(rest[depth], worth[depth] + add, largest - depth - 1, uniform)
                if copies < many[p] and max(worth[depth] + add, reach) > limit - SAFETY:
                    while o < k and not placed:
                        if not used[o] and not (same and o < offset[depth - 1]):
                            time = 0.0
                            for j in range(k):
                                slot = max(busiest[depth, j], turned[o, p, j])
                                busiest[depth + 1, j] = slot
                                time += slot
                            value = weight * (total[depth] + sums[p]) / (k * time)
                            value -= paid[depth] + prices[p]
                            if depth + 1 >= smallest:
                                best = max(best, value)
                            reach = growth(
                                suffix[p, step_of(time, low)], value, largest - depth - 1, uniform
                            )
                            placed = max(value, reach) > limit - SAFETY
                        o += 1
                if not placed:
                    p, o = p + 1, 1
            if not placed:
                chosen[depth], offset[depth] = -1, 0
                fresh = False
                continue
            chosen[depth], offset[depth] = p, o - 1
            used[o - 1] = True
            total[depth + 1] = total[depth] + sums[p]
            paid[depth + 1] = paid[depth] + prices[p]
            depth += 1
            fresh = True
        found += kept
    return found, best
