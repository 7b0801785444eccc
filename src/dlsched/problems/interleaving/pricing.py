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

from typing import Any

import numpy as np
from numba import njit

GRID = 512
"""Steps of T in the suffix-max table, geometric."""
SMALL_QUOTA = 64
SAFETY = 1e-12
"""Added to every bound before it prunes; far more than its rounding."""
REDUCED_ERROR = 2.0**-40
"""No reduced value is off by more, relative to the class's weight plus its largest price.

Efficiencies are within 2**-44 (groups.GAMMA_ERROR); up to 8 prices and a GPU price are subtracted,
each rounding within 2**-52 of a partial sum that is at most 9 times the largest of them.
"""


@njit(cache=True)
def suffix_max(sums: Any, prices: Any, weight: float, k: int, largest: int) -> Any:
    """Return the suffix-max table, the first time of its grid, and steps per factor e.

    ``table[p, t]`` is the most that a profile from position p on adds at the t-th time.
    """
    n = len(sums)
    low = sums[n - 1] * (1 - 1e-12)
    ratio = max(1 + 1e-9, (largest * sums[0] / low) ** (1.0 / (GRID - 1)))
    table = np.full((n + 1, GRID), -np.inf)
    for t in range(GRID):
        s = weight / (k * low * ratio**t)
        for p in range(n - 1, -1, -1):
            table[p, t] = max(table[p + 1, t], s * sums[p] - prices[p])
    return table, low, 1.0 / np.log(ratio)


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
    suffix: Any,
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
    members: Any,
    values: Any,
) -> Any:
    """Search one class for groups whose reduced value is above a threshold.

    Parameters
    ----------
    firsts
        The groups whose first profile is at a position from ``firsts[0]`` to before ``firsts[1]``.
    suffix
        What `suffix_max` returned.
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
    members, values
        Room for the answer: rows of positions, -1 where a group is smaller, and reduced values.

    Returns
    -------
    tuple
        Number of groups found (those beyond the room are counted, not stored), and the largest
        value met; a value that the threshold hides need not be met.
    """
    k, n = turned.shape[0], turned.shape[1]
    table, low, scale = suffix

    chosen = np.full(largest, -1, np.int64)
    offset = np.zeros(largest, np.int64)
    used = np.zeros(k, np.bool_)
    busiest = np.zeros((largest + 1, k))
    total = np.zeros(largest + 1)
    paid = np.zeros(largest + 1)
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
                    t = min(max(int(np.log(time / low) * scale) - 1, 0), GRID - 1)
                    more = table[chosen[depth - 1], t]
                    left = largest - depth
                    if smallest == largest:
                        bound = value + left * more
                    else:
                        bound = value + more + (left - 1) * max(0.0, more)
                    grow = bound > limit - SAFETY
                if grow and left == 1:
                    # The last job needs no bookkeeping: it is the loop that takes the time.
                    grow = False
                    start = chosen[depth - 1]
                    for p in range(start, n):
                        reach = s * (total[depth] + sums[p]) - paid[depth] - prices[p]
                        if reach <= limit - SAFETY:
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
                        value = weight * (total[depth] + sums[p]) / (k * shortest)
                        value -= paid[depth] + prices[p]
                        best = max(best, value)
                        if value > limit:
                            chosen[depth] = p
                            kept = keep(members, values, found, kept, quota, chosen, value)
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
            # The next free offset for this place, else the next profile.
            p, o = chosen[depth], offset[depth] + 1
            placed = False
            while p < n and not placed:
                copies = 0
                for i in range(depth):
                    copies += chosen[i] == p
                if copies < many[p]:
                    while o < k and (used[o] or (p == chosen[depth - 1] and o < offset[depth - 1])):
                        o += 1
                    placed = o < k
                if not placed:
                    p, o = p + 1, 1
            if not placed:
                chosen[depth] = -1
                fresh = False
                offset[depth] = 0
                continue
            chosen[depth], offset[depth] = p, o
            used[o] = True
            for j in range(k):
                busiest[depth + 1, j] = max(busiest[depth, j], turned[o, p, j])
            total[depth + 1] = total[depth] + sums[p]
            paid[depth + 1] = paid[depth] + prices[p]
            depth += 1
            fresh = True
        found += kept
    return found, best
