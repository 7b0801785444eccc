"""The compiled search for groups whose worth exceeds what their jobs cost.

Profiles of one class are sorted by the sum of their stages, largest first. A depth-first search
adds profiles in that order, each at a free offset. With w the class's weight, k resources and T the
iteration time so far, a group S can grow by a job d to a reduced value of at most

    w sum(S) / (k T) - price(S) + (w / k min(1, sum(d) / T) - price(d)),

because the time only grows, and is at least sum(d) in the end. The largest second term over all d
from some position on is read off a table by position and T (the suffix-max table); T is rounded
down to the table's grid, which only raises the term. Everything is in 64-bit floats;
`REDUCED_ERROR` says what they may be off by.

Loops are written out where numpy has an expression for them: each such expression costs a second
of compilation.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dlsched.compilation import entry, loop
from dlsched.problems.interleaving.groups import Indices, Vector

PER_DOUBLING = 64
DOUBLINGS = 20
GRID = DOUBLINGS * PER_DOUBLING
"""Steps of T in the tables; later ones count as the last."""
SMALL_QUOTA = 64
SAFETY = 1e-12
"""Added to every bound before it prunes, relative to the class's weight plus its largest price; far
more than its rounding."""
REDUCED_ERROR = 2.0**-40
"""No reduced value is off by more, relative to the class's weight plus its largest price.

Efficiencies are within 2**-44 (groups.GAMMA_ERROR); up to 8 prices and a GPU price are subtracted,
each rounding within 2**-52 of a partial sum that is at most 9 times the largest of them.
"""


def _step_of(time: float, low: float) -> int:
    """Return the step of the suffix-max table at or below an iteration time.

    Steps per doubling are even, as in a float's bits: a logarithm would take most of the search.
    """
    if time >= low * 2.0**DOUBLINGS:
        return GRID - 1
    fraction, exponent = math.frexp(time / low)
    return min(GRID - 1, (exponent - 1) * PER_DOUBLING + int((2 * fraction - 1) * PER_DOUBLING))


step_of = loop(_step_of)


def tables(
    sums: Vector, prices: Vector, weight: float, k: int, largest: int
) -> tuple[Vector, Indices, Vector, float]:
    """Return what jobs add at most, for the times of a grid that begins at `low`.

    Returns
    -------
    tuple
        ``suffix[p, t]``, the most that a profile from position p on adds at the t-th time;
        ``order[t]``, the positions by what they add, most first, and ``adds[t]``, how much; `low`.
    """
    n = len(sums)
    low = float(sums[-1]) * (1 - 1e-12)
    at = np.arange(1 + _step_of(largest * float(sums[0]), low))
    grid = low * 2.0 ** (at // PER_DOUBLING) * (1 + (at % PER_DOUBLING) / PER_DOUBLING)
    # Dividing the larger by the smaller could overflow where times lie far apart.
    share = np.minimum(sums, grid[:, None]) / grid[:, None] * (1 + 1e-12)
    add = weight / k * share - prices
    suffix = np.full((n + 1, len(at)), -np.inf)
    suffix[:n] = np.maximum.accumulate(add[:, ::-1], axis=1)[:, ::-1].T
    order = np.argsort(-add, axis=1, kind="stable")
    return suffix, order, np.take_along_axis(add, order, axis=1), low


@loop
def growth(more: float, value: float, left: int, uniform: bool) -> float:
    """Return the most that a group can be worth with up to `left` more jobs; all, if uniform."""
    if uniform:
        return value + left * more
    return value + more + (left - 1) * max(0.0, more)


@loop
def least(values: Any, begin: int, end: int) -> int:
    """Return the position of the least of some values."""
    place = begin
    for i in range(begin + 1, end):
        if values[i] < values[place]:
            place = i
    return place


@loop
def copies_of(chosen: Any, depth: int, p: int) -> int:
    """Return how often a group has a profile."""
    copies = 0
    for i in range(depth):
        if chosen[i] == p:
            copies += 1
    return copies


@loop
def keep(
    members: Any, values: Any, begin: int, kept: int, quota: int, row: Any, value: float
) -> int:
    """Note a group among the best of its first profile; return how many of these there are.

    Several arrangements of one group may be met; with a small quota only the best of them stays.
    """
    capacity = len(values)
    if begin + kept >= capacity:
        return min(kept + 1, quota)  # counted, not stored
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
        place = least(values, begin, begin + kept)
    values[place] = value
    for j in range(len(row)):
        members[place, j] = row[j]
    return kept


@entry(
    "Tuple((int64, float64))(int64, int64, float64[:,::1], int64[:,::1], float64[:,::1], float64, "
    "float64[:,:,::1], float64[::1], float64[::1], int64[::1], float64, float64, int64, int64, "
    "float64, int64, boolean, int64[:,::1], float64[::1])"
)
def price_class(
    begin: int,
    end: int,
    suffix: Any,
    order: Any,
    adds: Any,
    low: float,
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
    begin, end
        The groups whose first profile is at a position from `begin` to before `end`.
    suffix, order, adds, low
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
        Whether to end as soon as there is no more capacity: the largest value is then not met.
    members, values
        Arrays for the answer: rows of positions, -1 where a group is smaller, and reduced values.

    Returns
    -------
    tuple
        Number of groups found (those beyond the capacity are counted, not stored), and the largest
        value met; a value that the threshold hides need not be met.
    """
    k, n = turned.shape[0], turned.shape[1]
    uniform = smallest == largest
    dearest = 0.0
    for p in range(n):
        dearest = max(dearest, abs(prices[p]))
    safety = SAFETY * (weight + dearest + abs(fixed))

    chosen = np.full(largest, -1, np.int64)
    offset = np.zeros(largest, np.int64)
    used = np.zeros(k, np.bool_)
    busiest = np.zeros((largest + 1, k))
    # Of the group at each depth: iteration time, sum of its stages, what it pays.
    times, total, paid = np.zeros(largest + 1), np.zeros(largest + 1), np.zeros(largest + 1)
    # Its reduced value, and the most that a job adds.
    worth, rest = np.zeros(largest + 1), np.zeros(largest + 1)
    # Of a plain 0 numba would compile what it is passed to twice, for it and for int64.
    zero: Any = np.int64(0)
    found, best = zero, -np.inf
    for first in range(begin, end):
        limit, kept = threshold, zero
        # The first profile stays at offset 0: a cyclic shift changes nothing.
        for i in range(largest):
            chosen[i] = -1
        for o in range(k):
            used[o] = False
            busiest[1, o] = turned[0, first, o]
        chosen[0] = first
        used[0] = True
        total[1] = sums[first]
        paid[1] = fixed + prices[first]
        depth, fresh = zero + 1, True
        while depth >= 1:
            if listing and found + kept > len(values):
                return found + kept, best
            if fresh:
                time = 0.0
                for j in range(k):
                    time += busiest[depth, j]
                value = weight * total[depth] / (k * time) - paid[depth]
                if depth >= smallest:
                    best = max(best, value)
                    if value > limit:
                        kept = keep(members, values, found, kept, quota, chosen, value)
                        if kept == quota and found + kept <= len(values):
                            limit = max(limit, values[least(values, found, found + kept)])
                grow = depth < largest
                if grow:
                    more = suffix[chosen[depth - 1], step_of(time, low)]
                    grow = growth(more, value, largest - depth, uniform) > limit - safety
                    times[depth], worth[depth], rest[depth] = time, value, more
                if grow and depth == largest - 1:
                    # The last job needs no bookkeeping: it is the loop that takes the time.
                    grow = False
                    start = chosen[depth - 1]
                    t = step_of(time, low)
                    for r in range(n):
                        if value + adds[t, r] <= limit - safety:
                            break
                        p = order[t, r]
                        if p < start:
                            continue
                        if p == start and copies_of(chosen, depth, p) >= many[p]:
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
                                limit = max(limit, values[least(values, found, found + kept)])
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
                copies = copies_of(chosen, depth, p) if same else 0
                # At the time so far, this job and the best ones after it would add at most so much.
                add = weight / k * min(1.0, sums[p] / max(sums[p], times[depth])) - prices[p]
                reach = growth(rest[depth], worth[depth] + add, largest - depth - 1, uniform)
                if copies < many[p] and max(worth[depth] + add, reach) > limit - safety:
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
                            placed = max(value, reach) > limit - safety
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
