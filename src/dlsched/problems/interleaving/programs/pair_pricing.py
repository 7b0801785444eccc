"""The compiled search for groups above the prices of many jobs, by pairs that complete a group.

`pricing.price_class` adds one job after the other. Here groups of three or four jobs begin with all
but the last two of them, as there in descending order of stage sums. For each offset that is left,
the profiles are listed which at that offset may be one of the last two jobs; then pairs of two
lists are looked at. With S the first jobs, T(S + c) the iteration time with a job c at its offset,
w the class's weight and k resources, a group with c and d has a reduced value of at most

    w (sum(S) + sum(c) + sum(d)) / (k max(T(S + c), T(S + d))) - price(S) - price(c) - price(d),

which takes two look-ups where the time itself takes k steps. A profile is listed if such a value
is above the threshold with the best partner by the suffix-max table at T(S + c).

Times are summed in one order everywhere, so that rounding keeps T(S + c) <= T(S + c + d). All else
is as in `pricing`, with the same error of a reduced value.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dlsched.problems.interleaving.programs.pricing import SAFETY, apart_from, copies_of, step_of
from dlsched.problems.interleaving.structures.tables import GrowthTables, Profiles
from dlsched.solvers.compilation import entry, loop

BLOCK = 16
"""Pairs that are looked at together first: the processor computes several at once."""


@loop
def more_than(add: float, missing: int, uniform: bool) -> float:
    """Return the most that up to `missing` jobs add; with all of them, if uniform."""
    return missing * add if uniform else missing * max(0.0, add)


@loop
def record(
    chosen: Any, size: int, value: float, found: int, members: Any, values: Any, share: Any
) -> int:
    """Record a group above the threshold; return the number of groups found.

    Beyond the capacity one takes the place of another of less value.
    """
    for i in range(size):
        share[chosen[i]] = max(share[chosen[i]], value / size)
    place = found % len(values)
    if found < len(values) or value > values[place]:
        values[place] = value
        for i in range(len(chosen)):
            members[place, i] = chosen[i] if i < size else -1
    return found + 1


@loop
def times_with(busiest: Any, moved: Any, begin: int, times: Any) -> None:
    """Compute the iteration time with each profile from a position on, at one offset."""
    k, n = moved.shape
    for p in range(begin, n):
        times[p] = 0.0
    for j in range(k):
        most = busiest[j]
        row = moved[j]
        for p in range(begin, n):
            stage = row[p]
            times[p] += stage if stage > most else most


@entry(
    "int64(int64, int64, GrowthTables, Profiles, float64[:,:,::1], float64, int64, int64[:,::1], "
    "float64[::1], float64[::1])",
    records=(GrowthTables, Profiles),
)
def price_pairs(  # noqa: PLR0912, PLR0915
    begin: int,
    end: int,
    tables: Any,
    profiles: Any,
    moved: Any,
    threshold: float,
    found: int,
    members: Any,
    values: Any,
    share: Any,
) -> int:
    """Search one class, of groups of at most three or four jobs, for groups above a threshold.

    Parameters
    ----------
    begin, end
        The positions of the groups' first profiles: from `begin` to before `end`.
    moved
        ``moved[o, j, p]`` is the stage of profile p in step j if it starts at offset o.
    found
        Groups found so far.
    members, values
        Arrays for the groups, as in `pricing.price_class`, and for their reduced values. One group
        may be there in several arrangements.
    share
        By profile: the largest share of a job in the reduced value of a group above the threshold
        with it, which is updated.

    Returns
    -------
    int
        Number of groups found; those beyond the capacity are counted, the best of them stored.
    """
    suffix, _, _, low = tables
    _, sums, prices, multiplicity, weight, fixed, smallest, largest, apart = profiles
    k, _, n = moved.shape
    uniform = smallest == largest
    limited = len(apart) > 0
    max_price = 0.0
    for p in range(n):
        max_price = max(max_price, abs(prices[p]))
    floor = threshold - SAFETY * (weight + max_price + abs(fixed) + abs(threshold))

    chosen = np.full(largest, -1, np.int64)
    used = np.zeros(k, np.bool_)
    busiest = np.zeros((2, k))
    count = np.zeros(k, np.int64)
    # Of the profiles listed for each offset: positions, times, stage sums and prices.
    place = np.zeros((k, n), np.int64)
    time_of = np.zeros((k, n))
    filled = np.zeros((k, n))
    price = np.zeros((k, n))
    times = np.zeros(n)
    zero: Any = np.int64(0)
    depth = zero + largest - 2
    for first in range(begin, end):
        chosen[0] = first
        time = 0.0
        for j in range(k):
            busiest[0, j] = moved[0, j, first]
            time += busiest[0, j]
        value = weight * sums[first] / (k * time) - fixed - prices[first]
        if smallest <= 1 and value > threshold:
            found = record(chosen, 1, value, found, members, values, share)
        # With three jobs the second loop runs once, without a second job.
        for second in range(first, n if depth > 1 else first + 1):
            if depth > 1:
                chosen[1] = second
                if second == first and multiplicity[first] < 2:
                    continue
                if limited and apart[first, second]:
                    continue
            for shift in range(1, k if depth > 1 else 2):
                for o in range(k):
                    used[o] = o == 0
                total = sums[first]
                cost = fixed + prices[first]
                time = 0.0
                for j in range(k):
                    busiest[1, j] = busiest[0, j]
                    if depth > 1:
                        busiest[1, j] = max(busiest[0, j], moved[shift, j, second])
                    time += busiest[1, j]
                if depth > 1:
                    used[shift] = True
                    total += sums[second]
                    cost += prices[second]
                    value = weight * total / (k * time) - cost
                    if smallest <= depth and value > threshold:
                        found = record(chosen, depth, value, found, members, values, share)
                best = suffix[second, step_of(time, low)]
                if weight * total / (k * time) - cost + more_than(best, 2, uniform) <= floor:
                    continue
                # The profiles that may be one of the last two jobs, by offset.
                best = more_than(best, 1, uniform)
                for o in range(1, k):
                    count[o] = 0
                    if used[o]:
                        continue
                    times_with(busiest[1], moved[o], second, times)
                    for p in range(second, n):
                        worth = weight * (total + sums[p])
                        if worth <= k * times[p] * (cost + prices[p] - best + floor):
                            continue
                        if copies_of(chosen, depth, p) >= multiplicity[p]:
                            continue
                        if limited and apart_from(apart, chosen, depth, p):
                            continue
                        value = worth / (k * times[p]) - cost - prices[p]
                        if smallest <= depth + 1 and value > threshold:
                            chosen[depth] = p
                            found = record(chosen, depth + 1, value, found, members, values, share)
                        add = suffix[second, step_of(times[p], low)]
                        if value + more_than(add, 1, uniform) > floor:
                            m = count[o]
                            place[o, m] = p
                            time_of[o, m] = times[p]
                            filled[o, m] = weight * sums[p]
                            price[o, m] = prices[p]
                            count[o] = m + 1
                # Pairs of two offsets.
                for o in range(1, k):
                    for q in range(o + 1, k):
                        time_of_q, filled_q, price_q = time_of[q], filled[q], price[q]
                        for i in range(count[o]):
                            p = place[o, i]
                            other = time_of[o, i]
                            worth = weight * total + filled[o, i]
                            charge = cost + price[o, i] + floor
                            for at in range(0, count[q], BLOCK):
                                until = min(at + BLOCK, count[q])
                                promising = zero
                                for m in range(at, until):
                                    time = time_of_q[m]
                                    time = time if time > other else other
                                    most = k * time * (charge + price_q[m])
                                    promising += 1 if worth + filled_q[m] > most else 0
                                if promising == 0:
                                    continue
                                for m in range(at, until):
                                    time = time_of_q[m]
                                    time = time if time > other else other
                                    if worth + filled_q[m] <= k * time * (charge + price_q[m]):
                                        continue
                                    d = place[q, m]
                                    chosen[depth] = p
                                    if copies_of(chosen, depth + 1, d) >= multiplicity[d]:
                                        continue
                                    if limited and apart[p, d]:
                                        continue
                                    time = 0.0
                                    for j in range(k):
                                        slot = max(busiest[1, j], moved[o, j, p])
                                        time += max(slot, moved[q, j, d])
                                    value = weight * (total + sums[p] + sums[d]) / (k * time)
                                    value -= cost + prices[p] + prices[d]
                                    if value > threshold:
                                        chosen[depth + 1] = d
                                        found = record(
                                            chosen, largest, value, found, members, values, share
                                        )
    return found
