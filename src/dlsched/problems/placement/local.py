"""Hill climbing and annealing over placements, compiled."""

from __future__ import annotations

import math
from typing import Any

from dlsched.compilation import entry, loop
from dlsched.problems.placement.layout import (
    BACK,
    BEST,
    BROKEN,
    COST,
    HOME,
    JOB_START,
    JOB_TABLES,
    JOBS,
    LOG,
    MOVED,
    POSITIONS,
    QUOTA,
    REGIONS,
    SCALARS,
    SUMS,
    TABLE_JOBS,
    TABLE_START,
    TABLES,
)  # fmt: skip
from dlsched.problems.placement.tally import fill, moved, moving, weighed

DRAWS = 7
"""Random numbers of one trial of annealing."""
_KINDS_OF_TRIALS = 3
_GUIDED = 0.75
"""Chance that a move goes where some of the readers' tables are."""
_RELATIVE = 1e-12
"""A cost that is lower by a smaller share is not a better one: sums are updated, and round."""


@entry(
    f"int64({POSITIONS}, int64[::1], float64[::1], int64[::1], int64[::1], float64[::1],"
    " float64[::1], boolean)"
)
def climb(
    at: Any, ints: Any, nums: Any, queue: Any, region: Any, broken: Any, cost: Any, keep: bool
) -> int:
    """Find the best region of each table in turn, and move it there if moves are kept.

    The best region is the present one if no other that the quota allows is an improvement: less
    broken, or as much and cheaper.

    Parameters
    ----------
    queue
        Tables.
    region, broken, cost
        Become each table's best region, and what going there adds to what is broken and to the
        cost.

    Returns
    -------
    int
        Tables with a better region.
    """
    better = 0
    for i in range(len(queue)):
        t = queue[i]
        home = ints[at[HOME] + t]
        region[i], broken[i], cost[i] = home, 0.0, 0.0
        for r in range(at[REGIONS]):
            more = moving(at, ints, nums, t, home, r)
            allowed = more <= 0 or nums[at[SUMS] + MOVED] + more <= nums[at[SCALARS] + QUOTA]
            if r != home and allowed:
                c, b = weighed(at, ints, nums, t, r)
                if b < broken[i] or (b == broken[i] and c < cost[i]):
                    region[i], broken[i], cost[i] = r, b, c
        if region[i] != home:
            better += 1
            if keep:
                moved(at, ints, nums, t, region[i])
    return better


@loop
def one_of(at: Any, ints: Any, j: int, luck: float) -> int:
    """Return one of a job's tables."""
    first = ints[at[JOB_START] + j]
    return ints[at[JOB_TABLES] + first + int(luck * (ints[at[JOB_START] + j + 1] - first))]


@loop
def tried(at: Any, ints: Any, nums: Any, heat: float, draw: Any) -> bool:
    """Try one change; return whether it was kept.

    By Metropolis' rule on the cost, among placements that are no more broken and within the quota.
    """
    tables = at[TABLES]
    kind = int(draw[0] * _KINDS_OF_TRIALS)
    moves = 0
    if kind == 0:
        t = int(draw[1] * tables)
        into = int(draw[2] * at[REGIONS])
        first = ints[at[TABLE_START] + t]
        readers = ints[at[TABLE_START] + t + 1] - first
        if readers > 0 and draw[3] < _GUIDED:
            j = ints[at[TABLE_JOBS] + first + int(draw[4] * readers)]
            into = ints[at[HOME] + one_of(at, ints, j, draw[5])]
        if into == ints[at[HOME] + t]:
            return False
        ints[at[LOG]], ints[at[BACK]] = t, ints[at[HOME] + t]
        target, other, moves = into, into, 1
    elif kind == 1:
        if at[JOBS] == 0:
            return False
        j = int(draw[1] * at[JOBS])
        target = int(draw[2] * at[REGIONS])
        if draw[3] < _GUIDED:
            target = ints[at[HOME] + one_of(at, ints, j, draw[4])]
        for i in range(ints[at[JOB_START] + j], ints[at[JOB_START] + j + 1]):
            t = ints[at[JOB_TABLES] + i]
            if ints[at[HOME] + t] != target:
                ints[at[LOG] + moves], ints[at[BACK] + moves] = t, ints[at[HOME] + t]
                moves += 1
        other = target
    else:
        t, u = int(draw[1] * tables), int(draw[2] * tables)
        target, other = ints[at[HOME] + u], ints[at[HOME] + t]
        if target == other:
            return False
        ints[at[LOG]], ints[at[BACK]] = t, other
        ints[at[LOG] + 1], ints[at[BACK] + 1] = u, target
        moves = 2
    if moves == 0:
        return False
    sums = at[SUMS]
    cost, gone, wrong = nums[sums + COST], nums[sums + MOVED], nums[sums + BROKEN]
    rise = 0.0
    for i in range(2 * moves):  # there, and back unless the change is kept
        if i == moves:
            worse = nums[sums + BROKEN] - wrong
            within = nums[sums + MOVED] <= max(gone, nums[at[SCALARS] + QUOTA])
            lucky = worse < 0 or rise <= 0 or draw[6] < math.exp(-rise / heat)
            if within and worse <= 0 and lucky:
                return True
        first = i < moves
        m = i if first else 2 * moves - 1 - i
        into = ints[at[BACK] + m]
        if first:
            into = target if m == 0 else other
        rise += moved(at, ints, nums, ints[at[LOG] + m], into)
    nums[sums + COST] = cost
    return False


@entry(
    f"UniTuple(float64, 2)({POSITIONS}, int64[::1], float64[::1], float64[::1], float64[:, ::1])"
)
def anneal(at: Any, ints: Any, nums: Any, heats: Any, draws: Any) -> Any:
    """Anneal a state in place, one trial at each heat; return the best's cost and what it breaks.

    A third of the trials is of each kind: a table to a region, mostly one where a job that reads
    it has another table; all tables of a job to one region; two tables that change places. The best
    homes met, those at entry included, are left in the state's ``best``.

    Parameters
    ----------
    heats
        Rise of the cost that is accepted with probability 1/e, by trial.
    draws
        For each trial `DRAWS` numbers from 0 to below 1.
    """
    sums = at[SUMS]
    fill(at, ints, nums)
    record, least = nums[sums + COST], nums[sums + BROKEN]
    for t in range(at[TABLES]):
        ints[at[BEST] + t] = ints[at[HOME] + t]
    for m in range(len(heats)):
        if not tried(at, ints, nums, heats[m], draws[m]):
            continue
        now, wrong = nums[sums + COST], nums[sums + BROKEN]
        if wrong < least or (wrong == least and now < record * (1 - _RELATIVE)):
            record, least = now, wrong
            for t in range(at[TABLES]):
                ints[at[BEST] + t] = ints[at[HOME] + t]
    return record, least
