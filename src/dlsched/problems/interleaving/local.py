"""The compiled local search: jobs change places between groups of one class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

_LEAST_GAIN = 1e-12


@njit(cache=True)
def gamma(stages: Any, table: Any, group: Any, size: int) -> float:
    """Return a group's efficiency; ``table`` has the arrangements of its size as rows."""
    k = stages.shape[1]
    filled, least = 0.0, np.inf
    for i in range(size):
        for j in range(k):
            filled += stages[group[i], j]
    for a in range(table.shape[0]):
        time = 0.0
        for j in range(k):
            longest = 0.0
            for i in range(size):
                at = table[a, i] + j
                longest = max(longest, stages[group[i], at if at < k else at - k])
            time += longest
        least = min(least, time)
    return filled / (k * least)


@njit(cache=True)
def local_search(
    stages: Any, tables: Any, groups: Any, sizes: Any, largest: int, uniform: bool, passes: int
) -> int:
    """Improve groups in place until no swap or move helps; return the passes that it took.

    Parameters
    ----------
    stages
        Jobs x k.
    tables
        For each size the arrangements of such a group as rows, some repeated.
    groups, sizes
        Groups x largest: jobs, and how many there are.
    uniform
        Sizes stay as they are; else a job may also move to a group with room, if it was not alone.
    """
    count = len(sizes)
    worth = np.empty(count)
    for g in range(count):
        worth[g] = gamma(stages, tables[sizes[g]], groups[g], sizes[g])
    a, b = np.empty(largest, np.int64), np.empty(largest, np.int64)
    changed = np.zeros(count, np.int64)
    for number in range(1, passes + 1):
        improved = False
        for g in range(count):
            for h in range(g + 1, count):
                # A pair that was looked at since either last changed holds nothing new.
                if number > 1 and max(changed[g], changed[h]) < number - 1:
                    continue
                best, bi, bj = _LEAST_GAIN, -1, -1
                before = worth[g] + worth[h]
                for i in range(sizes[g]):
                    for j in range(sizes[h]):
                        a[:], b[:] = groups[g], groups[h]
                        a[i], b[j] = b[j], a[i]
                        gain = gamma(stages, tables[sizes[g]], a, sizes[g])
                        gain += gamma(stages, tables[sizes[h]], b, sizes[h]) - before
                        if gain > best:
                            best, bi, bj = gain, i, j
                if bi >= 0:
                    groups[g, bi], groups[h, bj] = groups[h, bj], groups[g, bi]
                if not uniform and bi < 0:
                    for turn in range(2):
                        f, t = (g, h) if turn == 0 else (h, g)
                        if sizes[f] < 2 or sizes[t] == largest:
                            continue
                        for i in range(sizes[f]):
                            a[:], b[:] = groups[f], groups[t]
                            b[sizes[t]] = a[i]
                            a[i] = a[sizes[f] - 1]
                            gain = gamma(stages, tables[sizes[f] - 1], a, sizes[f] - 1)
                            gain += gamma(stages, tables[sizes[t] + 1], b, sizes[t] + 1) - before
                            if gain > best:
                                best, bi, bj = gain, i, turn
                    if bi >= 0:
                        f, t = (g, h) if bj == 0 else (h, g)
                        groups[t, sizes[t]] = groups[f, bi]
                        groups[f, bi] = groups[f, sizes[f] - 1]
                        groups[f, sizes[f] - 1] = -1
                        sizes[t] += 1
                        sizes[f] -= 1
                if bi >= 0:
                    improved = True
                    changed[g] = changed[h] = number
                    worth[g] = gamma(stages, tables[sizes[g]], groups[g], sizes[g])
                    worth[h] = gamma(stages, tables[sizes[h]], groups[h], sizes[h])
        if not improved:
            return number
    return passes
