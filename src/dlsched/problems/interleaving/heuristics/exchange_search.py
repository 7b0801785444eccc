"""The compiled local search: jobs change places between groups of one class.

Loops are written out where numpy has an expression for them: each such expression costs a second
of compilation.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dlsched.solvers.compilation import FlagRows, FloatRows, IntCube, Ints, entry, loop

_LEAST_GAIN = 1e-12
_PENALTY = 100.0
"""What two jobs of a group cost that must not share; an efficiency is at most 1."""


class Jobs(NamedTuple):
    """Stages (jobs x k), and for each size of a group the arrangements and how many they are.

    ``offsets[size, a, i]`` is the offset of the i-th job in the a-th arrangement. Jobs i and j must
    not share if ``apart[i, j]``; without rows any may.
    """

    stages: FloatRows
    offsets: IntCube
    arrangements: Ints
    apart: FlagRows


@loop
def gamma(jobs: Any, group: Any, size: int) -> float:
    """Return a group's efficiency at its best offsets, less a penalty if jobs must not share."""
    stages = jobs.stages
    offsets = jobs.offsets
    k = stages.shape[1]
    filled = 0.0
    least = np.inf
    for i in range(size):
        for j in range(k):
            filled += stages[group[i], j]
    for a in range(jobs.arrangements[size]):
        time = 0.0
        for j in range(k):
            longest = 0.0
            for i in range(size):
                resource = offsets[size, a, i] + j
                longest = max(longest, stages[group[i], resource if resource < k else resource - k])
            time += longest
            if time >= least:
                break
        least = min(least, time)
    cost = 0.0
    if len(jobs.apart) > 0:
        for i in range(size):
            for j in range(i):
                if jobs.apart[group[i], group[j]]:
                    cost += _PENALTY
    return float(filled / (k * least)) - cost


@loop
def exchanged(jobs: Any, groups: Any, sizes: Any, pair: Any, places: Any, a: Any, b: Any) -> float:
    """Return the efficiency of two groups after an exchange, which is left in `a` and `b`.

    The jobs at `places` of the two groups change places. A place after a group's last job is empty:
    the other group's job moves there.
    """
    g, h = pair
    i, j = places
    sa = sizes[g]
    sb = sizes[h]
    for s in range(len(a)):
        a[s] = groups[g, s]
        b[s] = groups[h, s]
    if i < sa and j < sb:
        a[i], b[j] = b[j], a[i]
    elif i < sa:
        b[sb] = a[i]
        a[i] = a[sa - 1]
        a[sa - 1] = -1
        sa -= 1
        sb += 1
    else:
        a[sa] = b[j]
        b[j] = b[sb - 1]
        b[sb - 1] = -1
        sa += 1
        sb -= 1
    return gamma(jobs, a, sa) + gamma(jobs, b, sb)


@loop
def possible(sizes: Any, pair: Any, places: Any, largest: int) -> bool:
    """Return whether one of the places is empty and the other group's job may move there."""
    g, h = pair
    i, j = places
    there = j == sizes[h]
    back = i == sizes[g]
    if there == back:
        return False
    giver, taker = (sizes[g], sizes[h]) if there else (sizes[h], sizes[g])
    return bool(giver >= 2 and taker < largest)


@loop
def best_exchange(
    jobs: Any, groups: Any, sizes: Any, pair: Any, uniform: bool, before: float, a: Any, b: Any
) -> Any:
    """Return the places of the swap or move of two groups that helps most; -1, -1 if none does.

    Swaps first; moves, one of the places empty, where no swap helps. `before` is the sum of the
    groups' efficiencies, `a` and `b` are overwritten.
    """
    g, h = pair
    best = _LEAST_GAIN
    bi = -1
    bj = -1
    for moving in range(2):
        if moving and (uniform or bi >= 0):
            break
        for i in range(sizes[g] + moving):
            for j in range(sizes[h] + moving):
                if moving and not possible(sizes, pair, (i, j), len(a)):
                    continue
                after = exchanged(jobs, groups, sizes, pair, (i, j), a, b)
                if after - before > best:
                    best = after - before
                    bi = i
                    bj = j
    return bi, bj


@loop
def look(count: int, number: int, g: int, h: int) -> int:
    """Return when a pass looks at two groups, the first before the second: pairs in their order."""
    return (number * count + g) * count + h


@loop
def due(changed: Any, number: int, g: int, h: int) -> bool:
    """Return whether one of two groups changed since they were looked at in the pass before."""
    return bool(max(changed[g], changed[h]) >= look(len(changed), number - 1, g, h))


@entry("boolean(Jobs, int64[:,::1], int64[::1], boolean, int64[::1], int64)", records=(Jobs,))
def exchange_pass(
    jobs: Any, groups: Any, sizes: Any, uniform: bool, changed: Any, number: int
) -> bool:
    """Try every two groups for the swap or the move that helps most; return whether one did.

    Parameters
    ----------
    groups, sizes
        Groups x largest: their jobs, and how many each has. Changed in place.
    uniform
        Whether sizes stay as they are; else a job of a group of two or more may also move to a
        group that is not full.
    changed, number
        When each group last changed, as `look` counts, changed in place; and this pass, from 1. A
        group that counts as new changed at the end of a pass 0, any other one before it.
    """
    count, largest = groups.shape
    worth = np.empty(count)
    a = np.empty(largest, np.int64)
    b = np.empty(largest, np.int64)
    for g in range(count):
        for s in range(largest):
            a[s] = groups[g, s]
        worth[g] = gamma(jobs, a, sizes[g])
    improved = False
    for g in range(count):
        for h in range(g + 1, count):
            if not due(changed, number, g, h):
                continue
            pair = (g, h)
            i, j = best_exchange(jobs, groups, sizes, pair, uniform, worth[g] + worth[h], a, b)
            if i < 0:
                continue
            improved = True
            changed[g] = changed[h] = look(count, number, g, h)
            exchanged(jobs, groups, sizes, pair, (i, j), a, b)
            gained = int(i == sizes[g]) - int(j == sizes[h])
            sizes[g] += gained
            sizes[h] -= gained
            for s in range(largest):
                groups[g, s] = a[s]
                groups[h, s] = b[s]
            worth[g] = gamma(jobs, a, sizes[g])
            worth[h] = gamma(jobs, b, sizes[h])
    return improved
