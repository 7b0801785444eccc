"""Hill climbing and simulated annealing over placements; compiled."""

from __future__ import annotations

import math
from typing import Any

from dlsched.compilation import entry, loop
from dlsched.problems.placement.incremental import (
    PACKED,
    apply_move,
    evaluate_move,
    moved_bytes_change,
    recompute,
)
from dlsched.problems.placement.layout import COST, INFEASIBILITY, MOVED, Layout

DRAWS = 7
"""Random numbers of one trial of annealing."""
_KINDS_OF_TRIALS = 3
_GUIDED = 0.75
"""Chance that a move goes where some of the readers' tables are."""
_RELATIVE = 1e-12
"""A relative decrease of the cost below this is rounding: the sums are updated move by move."""


@entry(
    f"int64({PACKED}, int64[::1], int64[::1], float64[::1], float64[::1], boolean)",
    records=(Layout,),
)
def climb(
    at: Any, ints: Any, nums: Any, queue: Any, region: Any, worse: Any, cost: Any, apply: bool
) -> int:
    """Find the best region of each table in turn, and move it there if `apply`.

    The best region is the present one if no other that the quota allows is an improvement: less
    infeasible, or equally so and cheaper.

    Parameters
    ----------
    queue
        Tables.
    region, worse, cost
        Output: each table's best region, and what moving there adds to the infeasibility and to
        the cost.

    Returns
    -------
    int
        Number of tables with a better region.
    """
    better = 0
    for i in range(len(queue)):
        t = queue[i]
        home = ints[at.home + t]
        region[i], worse[i], cost[i] = home, 0.0, 0.0
        for r in range(at.regions):
            more = moved_bytes_change(at, ints, nums, t, home, r)
            allowed = more <= 0 or nums[at.sums + MOVED] + more <= at.quota
            if r != home and allowed:
                c, b = evaluate_move(at, ints, nums, t, r)
                if b < worse[i] or (b == worse[i] and c < cost[i]):
                    region[i], worse[i], cost[i] = r, b, c
        if region[i] != home:
            better += 1
            if apply:
                apply_move(at, ints, nums, t, region[i])
    return better


@loop
def drawn_table(at: Any, ints: Any, j: int, draw: float) -> int:
    """Return the table of a job that a number from 0 to below 1 selects."""
    first = ints[at.job_start + j]
    return int(ints[at.job_tables + first + int(draw * (ints[at.job_start + j + 1] - first))])


@loop
def try_change(at: Any, ints: Any, nums: Any, temperature: float, draw: Any) -> bool:  # noqa: PLR0912
    """Make one random change, undo it unless it is accepted, and return whether it was.

    Accepted by Metropolis' rule on the cost, among placements that are no more infeasible and
    within the quota.
    """
    tables = at.tables
    kind = int(draw[0] * _KINDS_OF_TRIALS)
    moves = 0
    if kind == 0:
        t = int(draw[1] * tables)
        into = int(draw[2] * at.regions)
        first = ints[at.table_start + t]
        readers = ints[at.table_start + t + 1] - first
        if readers > 0 and draw[3] < _GUIDED:
            j = ints[at.table_jobs + first + int(draw[4] * readers)]
            into = ints[at.home + drawn_table(at, ints, j, draw[5])]
        if into == ints[at.home + t]:
            return False
        ints[at.log_table], ints[at.log_home] = t, ints[at.home + t]
        target, other, moves = into, into, 1
    elif kind == 1:
        if at.jobs == 0:
            return False
        j = int(draw[1] * at.jobs)
        target = int(draw[2] * at.regions)
        if draw[3] < _GUIDED:
            target = ints[at.home + drawn_table(at, ints, j, draw[4])]
        for i in range(ints[at.job_start + j], ints[at.job_start + j + 1]):
            t = ints[at.job_tables + i]
            if ints[at.home + t] != target:
                ints[at.log_table + moves], ints[at.log_home + moves] = t, ints[at.home + t]
                moves += 1
        other = target
    else:
        t, u = int(draw[1] * tables), int(draw[2] * tables)
        target, other = ints[at.home + u], ints[at.home + t]
        if target == other:
            return False
        ints[at.log_table], ints[at.log_home] = t, other
        ints[at.log_table + 1], ints[at.log_home + 1] = u, target
        moves = 2
    if moves == 0:
        return False
    sums = at.sums
    cost, moved, before = nums[sums + COST], nums[sums + MOVED], nums[sums + INFEASIBILITY]
    rise = 0.0
    for i in range(2 * moves):  # forward, then back unless the change is accepted
        if i == moves:
            worse = nums[sums + INFEASIBILITY] - before
            within = nums[sums + MOVED] <= max(moved, at.quota)
            accepted = worse < 0 or rise <= 0 or draw[6] < math.exp(-rise / temperature)
            if within and worse <= 0 and accepted:
                return True
        first = i < moves
        m = i if first else 2 * moves - 1 - i
        into = ints[at.log_home + m]
        if first:
            into = target if m == 0 else other
        rise += apply_move(at, ints, nums, ints[at.log_table + m], into)
    nums[sums + COST] = cost
    return False


@entry(f"UniTuple(float64, 2)({PACKED}, float64[::1], float64[:, ::1])", records=(Layout,))
def anneal(at: Any, ints: Any, nums: Any, temperatures: Any, draws: Any) -> Any:
    """Anneal a state in place, one trial per temperature; return the best's cost, infeasibility.

    A third of the trials is of each kind: a table to a region, mostly one where a job that reads
    it has another table; all tables of a job to one region; a swap of two tables. The best homes
    found, those at entry included, are left in the state's ``best``.

    Parameters
    ----------
    temperatures
        By trial: the rise of the cost that is accepted with probability 1/e.
    draws
        For each trial `DRAWS` numbers from 0 to below 1.
    """
    sums = at.sums
    recompute(at, ints, nums)
    best, least = nums[sums + COST], nums[sums + INFEASIBILITY]
    for t in range(at.tables):
        ints[at.best + t] = ints[at.home + t]
    for m in range(len(temperatures)):
        if not try_change(at, ints, nums, temperatures[m], draws[m]):
            continue
        cost, worse = nums[sums + COST], nums[sums + INFEASIBILITY]
        if worse < least or (worse == least and cost < best * (1 - _RELATIVE)):
            best, least = cost, worse
            for t in range(at.tables):
                ints[at.best + t] = ints[at.home + t]
    return best, least
