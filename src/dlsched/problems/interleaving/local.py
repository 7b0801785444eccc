"""The compiled local search: jobs change places between groups of one class.

Loops are written out where numpy has an expression for them: each such expression costs a second
of compilation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dlsched.compilation import entry, loop

_LEAST_GAIN = 1e-12


@loop
def gamma(stages: Any, tables: Any, rows: Any, group: Any, size: int) -> float:
    """Return a group's efficiency; see `local_search` for the tables."""
    k = stages.shape[1]
    filled, least = 0.0, np.inf
    for i in range(size):
        for j in range(k):
            filled += stages[group[i], j]
    for a in range(rows[size]):
        time = 0.0
        for j in range(k):
            longest = 0.0
            for i in range(size):
                at = tables[size, a, i] + j
                longest = max(longest, stages[group[i], at if at < k else at - k])
            time += longest
        least = min(least, time)
    return filled / (k * least)


@loop
def after(
    stages: Any,
    tables: Any,
    rows: Any,
    groups: Any,
    sizes: Any,
    g: int,
    h: int,
    i: int,
    j: int,
    a: Any,
    b: Any,
) -> float:
    """Return the efficiency of two groups after an exchange, which is left in `a` and `b`.

    The i-th job of group g and the j-th of group h change places; a place beyond a group's jobs
    stands for nobody, so that the other job moves.
    """
    sa, sb = sizes[g], sizes[h]
    for s in range(len(a)):
        a[s], b[s] = groups[g, s], groups[h, s]
    if i < sa and j < sb:
        a[i], b[j] = b[j], a[i]
    elif i < sa:
        b[sb], a[i], a[sa - 1] = a[i], a[sa - 1], -1
        sa, sb = sa - 1, sb + 1
    else:
        a[sa], b[j], b[sb - 1] = b[j], b[sb - 1], -1
        sa, sb = sa + 1, sb - 1
    return gamma(stages, tables, rows, a, sa) + gamma(stages, tables, rows, b, sb)


@entry(
    "int64(float64[:,::1], int64[:,:,::1], int64[::1], int64[:,::1], int64[::1], int64, boolean, "
    "int64)"
)
def local_search(
    stages: Any,
    tables: Any,
    rows: Any,
    groups: Any,
    sizes: Any,
    largest: int,
    uniform: bool,
    passes: int,
) -> int:
    """Improve groups in place until no swap or move helps; return the passes that it took.

    Parameters
    ----------
    stages
        Jobs x k.
    tables, rows
        For each size the arrangements of such a group as rows, and how many these are.
    groups, sizes
        Groups x largest: jobs, and how many there are.
    uniform
        Sizes stay as they are; else a job may also move to a group that is not full, if it was not
        alone.
    """
    count = len(sizes)
    worth = np.empty(count)
    a, b = np.empty(largest, np.int64), np.empty(largest, np.int64)
    for g in range(count):
        for s in range(largest):
            a[s] = groups[g, s]
        worth[g] = gamma(stages, tables, rows, a, sizes[g])
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
                # Swaps first; moves, one of the places beyond the group, where no swap helps.
                for moving in range(2):
                    if moving and (uniform or bi >= 0):
                        break
                    for i in range(sizes[g] + moving):
                        for j in range(sizes[h] + moving):
                            if moving:
                                there, back = j == sizes[h], i == sizes[g]
                                if there == back:
                                    continue
                                if there and (sizes[g] < 2 or sizes[h] == largest):
                                    continue
                                if back and (sizes[h] < 2 or sizes[g] == largest):
                                    continue
                            worthy = after(stages, tables, rows, groups, sizes, g, h, i, j, a, b)
                            if worthy - before > best:
                                best, bi, bj = worthy - before, i, j
                if bi >= 0:
                    improved = True
                    changed[g] = changed[h] = number
                    after(stages, tables, rows, groups, sizes, g, h, bi, bj, a, b)
                    there, back = bj == sizes[h], bi == sizes[g]
                    sizes[g] += back - there
                    sizes[h] += there - back
                    for s in range(largest):
                        groups[g, s], groups[h, s] = a[s], b[s]
                    worth[g] = gamma(stages, tables, rows, a, sizes[g])
                    worth[h] = gamma(stages, tables, rows, b, sizes[h])
        if not improved:
            return number
    return passes
