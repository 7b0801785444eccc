"""The compiled search for groups whose worth exceeds the prices of their jobs.

Profiles of one class are sorted by the sum of their stages, largest first. A depth-first search
adds profiles in that order, each at a free offset. With w the class's weight, k resources and T the
iteration time so far, adding a job d to a group S gives a reduced value of at most

    w sum(S) / (k T) - price(S) + (w / k min(1, sum(d) / T) - price(d)),

because the time only grows, and is at least sum(d) in the end. The largest second term over all d
from some position on is read from a table by position and T (the suffix-max table); T is rounded
down to a time of the table, which only raises the term. Everything is in 64-bit floats, with the
error `groups.REDUCED_ERROR`.

Loops are written out where numpy has an expression for them: each such expression costs a second
of compilation. What is done at each step of the search is in one function: divided into loops that
take the groups on the way as a record, it took five to seven times as long, as numba counts the
references to each array that is passed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dlsched.problems.interleaving.structures.tables import GrowthTables, Profiles, Query, time_step
from dlsched.solvers.compilation import entry, loop

SMALL_QUOTA = 64
SAFETY = 1e-12
"""Added to every bound before it prunes, relative to the class's weight plus its largest price; far
more than its rounding."""

step_of = loop(time_step)


@loop
def growth_bound(more: float, value: float, left: int, uniform: bool) -> float:
    """Return a bound on a group's value with up to `left` more jobs; with all, if uniform."""
    if uniform:
        return value + left * more
    return value + more + (left - 1) * max(0.0, more)


@loop
def argmin(values: Any, begin: int, end: int) -> int:
    """Return the position of the least of the values from `begin` to before `end`."""
    place = begin
    for i in range(begin + 1, end):
        if values[i] < values[place]:
            place = i
    return place


@loop
def copies_of(chosen: Any, depth: int, p: int) -> int:
    """Return the number of jobs of a profile in a group."""
    copies = 0
    for i in range(depth):
        if chosen[i] == p:
            copies += 1
    return copies


@loop
def apart_from(apart: Any, chosen: Any, depth: int, p: int) -> bool:
    """Return whether a profile must not share with one that is in a group."""
    for i in range(depth):  # noqa: SIM110 - a compiled loop has no generators
        if apart[chosen[i], p]:
            return True
    return False


@loop
def store(
    members: Any, values: Any, begin: int, kept: int, quota: int, row: Any, value: float
) -> int:
    """Store a group among the best of its first profile; return the number of these.

    Several arrangements of one group may be met; with a small quota only the best of them stays.
    Groups beyond the capacity are counted, not stored.
    """
    capacity = len(values)
    if begin + kept >= capacity:
        return min(kept + 1, quota)
    if quota <= SMALL_QUOTA:
        for i in range(begin, begin + kept):
            same = True
            for j in range(len(row)):
                same = same and members[i, j] == row[j]
            if same:
                values[i] = max(values[i], value)
                return kept
    place = begin + kept
    if kept < quota:
        kept += 1
    else:
        place = argmin(values, begin, begin + kept)
    values[place] = value
    for j in range(len(row)):
        members[place, j] = row[j]
    return kept


@loop
def offer(
    members: Any,
    values: Any,
    begin: int,
    kept: int,
    quota: int,
    limit: float,
    row: Any,
    value: float,
) -> Any:
    """Store a group; return how many its first profile has, and the value to exceed from now on."""
    kept = store(members, values, begin, kept, quota, row, value)
    if kept == quota and begin + kept <= len(values):
        limit = max(limit, values[argmin(values, begin, begin + kept)])
    return kept, limit


@loop
def safety_of(profiles: Any) -> float:
    """Return what is added to the bounds of a class before they prune."""
    max_price = 0.0
    for p in range(len(profiles.prices)):
        max_price = max(max_price, abs(profiles.prices[p]))
    return float(SAFETY * (profiles.weight + max_price + abs(profiles.fixed)))


@entry(
    "Tuple((int64, float64))(int64, int64, GrowthTables, Profiles, Query, int64[:,::1], "
    "float64[::1])",
    records=(GrowthTables, Profiles, Query),
)
def price_class(  # noqa: PLR0912, PLR0915
    begin: int, end: int, tables: Any, profiles: Any, query: Any, members: Any, values: Any
) -> Any:
    """Search one class for groups whose reduced value is above a threshold.

    Parameters
    ----------
    begin, end
        The positions of the groups' first profiles: from `begin` to before `end`.
    members, values
        Arrays for the result: rows of positions, -1 where a group is smaller, and reduced values.

    Returns
    -------
    tuple
        Number of groups found (those beyond the capacity are counted, not stored), and the largest
        reduced value; one at or below the threshold may be missing.
    """
    suffix, order, adds, low = tables
    rotated, sums, prices, multiplicity, weight, fixed, smallest, largest, apart = profiles
    threshold, quota, _, listing = query
    k = rotated.shape[0]
    n = rotated.shape[1]
    uniform = smallest == largest
    limited = len(apart) > 0
    safety = safety_of(profiles)

    chosen = np.full(largest, -1, np.int64)
    offset = np.zeros(largest, np.int64)
    used = np.zeros(k, np.bool_)
    busiest = np.zeros((largest + 1, k))
    # Of the group at each depth: iteration time, sum of its stages, what its jobs cost.
    times = np.zeros(largest + 1)
    total = np.zeros(largest + 1)
    cost = np.zeros(largest + 1)
    # Its reduced value, and the most that a job adds.
    worth = np.zeros(largest + 1)
    rest = np.zeros(largest + 1)
    # Of a plain 0 numba would compile what it is passed to twice, for it and for int64.
    zero: Any = np.int64(0)
    stored = zero
    best = -np.inf
    for first in range(begin, end):
        limit = threshold
        kept = zero
        # The first profile stays at offset 0: a cyclic shift changes nothing.
        for i in range(largest):
            chosen[i] = -1
        for o in range(k):
            used[o] = False
            busiest[1, o] = rotated[0, first, o]
        chosen[0] = first
        used[0] = True
        total[1] = sums[first]
        cost[1] = fixed + prices[first]
        depth = zero + 1
        extended = True
        while depth >= 1:
            if listing and stored + kept > len(values):
                return stored + kept, best
            if extended:
                time = 0.0
                for j in range(k):
                    time += busiest[depth, j]
                value = weight * total[depth] / (k * time) - cost[depth]
                if depth >= smallest:
                    best = max(best, value)
                    if value > limit:
                        kept, limit = offer(
                            members, values, stored, kept, quota, limit, chosen, value
                        )
                grow = depth < largest
                if grow:
                    more = suffix[chosen[depth - 1], step_of(time, low)]
                    grow = growth_bound(more, value, largest - depth, uniform) > limit - safety
                    times[depth] = time
                    worth[depth] = value
                    rest[depth] = more
                if grow and depth == largest - 1:
                    # The last job needs no bookkeeping; most of the time is spent in this loop.
                    grow = False
                    start = chosen[depth - 1]
                    t = step_of(time, low)
                    for r in range(n):
                        if value + adds[t, r] <= limit - safety:
                            break
                        p = order[t, r]
                        if p < start:
                            continue
                        if p == start and copies_of(chosen, depth, p) >= multiplicity[p]:
                            continue
                        if limited and apart_from(apart, chosen, depth, p):
                            continue
                        shortest = np.inf
                        for o in range(1, k):
                            if not used[o]:
                                longer = 0.0
                                for j in range(k):
                                    longer += max(busiest[depth, j], rotated[o, p, j])
                                shortest = min(shortest, longer)
                        full = weight * (total[depth] + sums[p]) / (k * shortest)
                        full -= cost[depth] + prices[p]
                        best = max(best, full)
                        if full > limit:
                            chosen[depth] = p
                            kept, limit = offer(
                                members, values, stored, kept, quota, limit, chosen, full
                            )
                            chosen[depth] = -1
                if grow:
                    chosen[depth] = chosen[depth - 1]
                    offset[depth] = 0
                extended = grow
            if not extended:
                # Remove the last job and try its next position.
                depth -= 1
                if depth == 0:
                    break
                used[offset[depth]] = False
            # Find the next profile and offset whose value, or whose growth bound, is large enough.
            p = chosen[depth]
            o = offset[depth] + 1
            placed = False
            while p < n and not placed:
                same = p == chosen[depth - 1]
                copies = copies_of(chosen, depth, p) if same else 0
                # What this job, and the best ones after it, add at most at the time so far.
                add = weight / k * min(1.0, sums[p] / max(sums[p], times[depth])) - prices[p]
                bound = growth_bound(rest[depth], worth[depth] + add, largest - depth - 1, uniform)
                possible = copies < multiplicity[p]
                possible = possible and max(worth[depth] + add, bound) > limit - safety
                if possible and not (limited and apart_from(apart, chosen, depth, p)):
                    while o < k and not placed:
                        if not used[o] and not (same and o < offset[depth - 1]):
                            time = 0.0
                            for j in range(k):
                                slot = max(busiest[depth, j], rotated[o, p, j])
                                busiest[depth + 1, j] = slot
                                time += slot
                            value = weight * (total[depth] + sums[p]) / (k * time)
                            value -= cost[depth] + prices[p]
                            if depth + 1 >= smallest:
                                best = max(best, value)
                            bound = growth_bound(
                                suffix[p, step_of(time, low)], value, largest - depth - 1, uniform
                            )
                            placed = max(value, bound) > limit - safety
                        o += 1
                if not placed:
                    p += 1
                    o = 1
            if not placed:
                chosen[depth] = -1
                offset[depth] = 0
                extended = False
                continue
            chosen[depth] = p
            offset[depth] = o - 1
            used[o - 1] = True
            total[depth + 1] = total[depth] + sums[p]
            cost[depth + 1] = cost[depth] + prices[p]
            depth += 1
            extended = True
        stored += kept
    return stored, best
