"""The compiled local search of `regroup`: the jobs of two groups are divided between them anew.

Loops are written out where numpy has an expression for them: each such expression costs a second
of compilation.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dlsched.problems.interleaving.heuristics.exchange_search import Jobs, due, gamma, look
from dlsched.solvers.compilation import Floats, IntRows, Ints, entry, loop

_LEAST_GAIN = 1e-12
_EFFORT = 1 << 18
"""Most divisions times arrangements of a group for which every division of two groups is tried."""


class Division(NamedTuple):
    """The jobs of two groups, and two parts of them; each trial overwrites the last one's.

    both: jobs of both groups. parts: 2 x jobs. sizes: of the parts. bounds: on their efficiencies.
    """

    both: Ints
    parts: IntRows
    sizes: Ints
    bounds: Floats


@loop
def joined(groups: Any, sizes: Any, g: int, h: int, both: Any) -> Any:
    """Fill in the jobs of two groups; return how many they are."""
    for i in range(sizes[g]):
        both[i] = groups[g, i]
    for i in range(sizes[h]):
        both[sizes[g] + i] = groups[h, i]
    return sizes[g] + sizes[h]


@loop
def ones(mask: int) -> int:
    """Return how many bits of a mask are set."""
    count = 0
    while mask > 0:
        count += mask & 1
        mask >>= 1
    return count


@loop
def near(mask: int, first: int, total: int) -> bool:
    """Return whether a division merges two groups, or one or two jobs move or change places.

    Before it the first jobs, as many as `first`, are in one part and the others in the other.
    """
    moved = ones(mask ^ ((1 << first) - 1))
    return min(moved, total - moved) <= 2 or ones(mask) == total


@loop
def divide(jobs: Any, division: Any, count: int, mask: int) -> None:
    """Divide jobs into two parts by the bits of a mask, and bound the parts' efficiencies.

    An iteration takes at least as long as each job's stages.
    """
    k = jobs.stages.shape[1]
    both, parts, sizes, bounds = division
    for part in range(2):
        filled = 0.0
        longest = 0.0
        sizes[part] = 0
        bounds[part] = 0.0
        for i in range(count):
            if (mask >> i) & 1 != part:
                parts[part, sizes[part]] = both[i]
                sizes[part] += 1
                duration = 0.0
                for r in range(k):
                    duration += jobs.stages[both[i], r]
                filled += duration
                longest = max(longest, duration)
        if sizes[part] > 0:
            bounds[part] = filled / (k * longest)


@loop
def allowed(mask: int, first: int, second: int, largest: int, uniform: bool, price: float) -> bool:
    """Return whether the parts have sizes that groups may have."""
    total = first + second
    small = min(ones(mask), total - ones(mask))
    if total - small > largest or (small == 0 and price < 0.0):
        return False
    return not uniform or small == min(first, second)


@loop
def best_division(
    jobs: Any, division: Any, first: int, second: int, uniform: bool, price: float, least: float
) -> int:
    """Return the mask of the best division of two groups worth more than `least`; -1 if none is.

    The groups have `first` and `second` jobs, which are in ``division.both``.
    """
    total = first + second
    largest = len(division.both) // 2
    far = (1 << (total - 1)) * jobs.arrangements[min(total, largest)] > _EFFORT
    best = least
    kept = -1
    # The first job is always in the first part.
    for half in range(1 << (total - 1)):
        mask = 2 * half + 1
        if not allowed(mask, first, second, largest, uniform, price):
            continue
        if far and not near(mask, first, total):
            continue
        divide(jobs, division, total, mask)
        bounds = division.bounds
        cost = price if division.sizes[1] > 0 and price >= 0.0 else 0.0
        if bounds[0] + bounds[1] - cost <= best:
            continue
        value = gamma(jobs, division.parts[0], division.sizes[0]) - cost
        if value + bounds[1] <= best:
            continue
        if division.sizes[1] > 0:
            value += gamma(jobs, division.parts[1], division.sizes[1])
        if value > best:
            best = value
            kept = mask
    return kept


@entry(
    "boolean(Jobs, int64[:,::1], int64[::1], boolean, int64[::1], int64, float64)", records=(Jobs,)
)
def divide_pairs(
    jobs: Any, groups: Any, sizes: Any, uniform: bool, changed: Any, number: int, price: float
) -> bool:
    """Divide the jobs of every two groups anew, once; groups change in place.

    With many jobs on many resources only divisions are tried that differ by an exchange of two
    jobs, by one job or two that move, or by merging.

    Parameters
    ----------
    groups, sizes
        Groups x largest: their jobs, and how many each has. A group may be empty.
    uniform
        Whether sizes stay as they are.
    changed, number
        When each group last changed, changed in place, and this pass, as in `exchange_pass`.
    price
        What a group with jobs costs; below 0 if none may become empty or get its first job.

    Returns
    -------
    bool
        Whether a division helped; if not, none does.
    """
    count, largest = groups.shape
    worth = np.zeros(count)
    division = Division(
        np.empty(2 * largest, np.int64),
        np.empty((2, 2 * largest), np.int64),
        np.empty(2, np.int64),
        np.empty(2),
    )
    for g in range(count):
        if sizes[g] > 0:
            worth[g] = gamma(jobs, groups[g], sizes[g])
    again = False
    for g in range(count):
        emptied = False
        for h in range(g + 1, count):
            if sizes[g] == 0:
                break
            if sizes[h] == 0 and (price < 0.0 or emptied):
                continue
            emptied = emptied or sizes[h] == 0
            if not due(changed, number, g, h):
                continue
            total = joined(groups, sizes, g, h, division.both)
            least = worth[g] + worth[h] + _LEAST_GAIN
            if sizes[h] > 0 and price >= 0.0:
                least -= price
            mask = best_division(jobs, division, sizes[g], sizes[h], uniform, price, least)
            if mask < 0:
                continue
            again = True
            changed[h] = look(count, number, g, h)
            # Empty groups that follow another one are not tried with the new group in this pass.
            changed[g] = look(count, number, g, count - 1 if emptied else h)
            divide(jobs, division, total, mask)
            for part, group in enumerate((g, h)):
                sizes[group] = division.sizes[part]
                for i in range(largest):
                    groups[group, i] = division.parts[part, i] if i < sizes[group] else -1
                worth[group] = gamma(jobs, groups[group], sizes[group]) if sizes[group] > 0 else 0.0
    return again
