"""Hill climbing and simulated annealing over placements; compiled."""

from __future__ import annotations

import math

from dlsched.problems.placement.heuristics.incremental_cost import (
    change,
    list_move,
    move_table,
    undo,
)
from dlsched.problems.placement.structures.cost_terms import moved_bytes_change
from dlsched.problems.placement.structures.flat_state import COST, INFEASIBILITY, MOVED, Layout
from dlsched.problems.placement.structures.job_regions import (
    home_of_read,
    readers_of,
    reads_of,
)
from dlsched.problems.placement.structures.state import PACKED, recompute
from dlsched.solvers.compilation import FloatRows, Floats, Ints, entry, loop

DRAWS = 7
"""Random numbers of one trial of annealing."""
_TABLE = 0.35
_JOB = 0.6
_SWAP = 0.7
_CLUSTER = 0.85
"""Below which number a trial is a table's move, a job's, a swap, or a cluster's move; above the
last, a swap of clusters."""
_GUIDED = 0.75
"""Chance that a move goes where some of the readers' tables are."""
_MODULUS = 2**31 - 1
_FACTOR = 16807
"""Of Lehmer's generator, for numbers that a trial needs beyond its draws."""
RELATIVE = 1e-12
"""A relative decrease of the cost below this is rounding: the sums are updated move by move."""


@entry(
    f"int64({PACKED}, int64[::1], int64[::1], float64[::1], float64[::1], boolean)",
    records=(Layout,),
)
def climb(
    at: Layout,
    ints: Ints,
    nums: Floats,
    queue: Ints,
    region: Ints,
    worse: Floats,
    cost: Floats,
    apply: bool,
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
        region[i] = home
        worse[i] = 0.0
        cost[i] = 0.0
        for r in range(at.regions):
            more = moved_bytes_change(at, ints, nums, t, home, r)
            allowed = more <= 0 or nums[at.sums + MOVED] + more <= at.quota
            if r != home and allowed:
                added, broken = move_table(at, ints, nums, t, r, False)
                if broken < worse[i] or (broken == worse[i] and added < cost[i]):
                    region[i] = r
                    worse[i] = broken
                    cost[i] = added
        if region[i] != home:
            better += 1
            if apply:
                move_table(at, ints, nums, t, region[i], True)
    return better


@loop
def drawn_home(at: Layout, ints: Ints, j: int, draw: float) -> int:
    """Return the home of the table of a job that a number from 0 to below 1 selects."""
    first = ints[at.job_start + j]
    return home_of_read(at, ints, first + int(draw * (ints[at.job_start + j + 1] - first)))


@loop
def list_cluster(
    at: Layout, ints: Ints, nums: Floats, t: int, into: int, draw: Floats, count: int
) -> int:
    """List a table and some of the smaller ones beside it that its readers read; count them.

    Each of these follows with a chance that is the same for all; smaller ones of equal size do too.
    """
    size = nums[at.size + t]
    home = ints[at.home + t]
    number = 1 + int(draw[4] * (_MODULUS - 2))
    list_move(at, ints, count, t, into)
    ints[at.listed + t] = 1
    count += 1
    for i in readers_of(at, ints, t):
        j = ints[at.table_jobs + i]
        for m in reads_of(at, ints, j):
            u = ints[at.job_tables + m]
            if ints[at.home + u] == home and not ints[at.listed + u] and nums[at.size + u] <= size:
                number = number * _FACTOR % _MODULUS
                if number < draw[5] * _MODULUS:
                    list_move(at, ints, count, u, into)
                    ints[at.listed + u] = 1
                    count += 1
    return count


@loop
def draw_clusters(at: Layout, ints: Ints, nums: Floats, draw: Floats) -> int:
    """List a cluster that moves, or two that swap, and return the number of tables.

    A cluster is a table, mostly a large one, with tables that are read together with it.
    """
    t = ints[at.by_size + int(draw[1] * draw[1] * draw[1] * at.tables)]
    u = ints[at.by_size + int(draw[2] * draw[2] * draw[2] * at.tables)]
    out = ints[at.home + t]
    into = int(draw[2] * at.regions)
    swap = draw[0] >= _CLUSTER
    if swap:
        into = ints[at.home + u]
    if into == out:
        return 0
    moves = list_cluster(at, ints, nums, t, into, draw, 0)
    if swap:
        moves = list_cluster(at, ints, nums, u, out, draw, moves)
    for m in range(moves):
        ints[at.listed + ints[at.log_table + m]] = 0
    return moves


@loop
def draw_change(at: Layout, ints: Ints, nums: Floats, draw: Floats) -> int:
    """List a random change, and return its number of tables."""
    if draw[0] >= _SWAP:
        return draw_clusters(at, ints, nums, draw)
    if draw[0] >= _JOB:
        return draw_swap(at, ints, draw)
    if draw[0] >= _TABLE:
        return draw_job(at, ints, draw) if at.jobs > 0 else 0
    t = int(draw[1] * at.tables)
    into = int(draw[2] * at.regions)
    first = ints[at.table_start + t]
    readers = ints[at.table_start + t + 1] - first
    if readers > 0 and draw[3] < _GUIDED:
        j = ints[at.table_jobs + first + int(draw[4] * readers)]
        into = drawn_home(at, ints, j, draw[5])
    list_move(at, ints, 0, t, into)
    return int(into != ints[at.home + t])


@loop
def draw_job(at: Layout, ints: Ints, draw: Floats) -> int:
    """List the tables of a job that are not in a region, and return their number."""
    j = int(draw[1] * at.jobs)
    into = int(draw[2] * at.regions)
    if draw[3] < _GUIDED:
        into = drawn_home(at, ints, j, draw[4])
    moves = 0
    for i in reads_of(at, ints, j):
        if home_of_read(at, ints, i) != into:
            list_move(at, ints, moves, ints[at.job_tables + i], into)
            moves += 1
    return moves


@loop
def draw_swap(at: Layout, ints: Ints, draw: Floats) -> int:
    """List two tables that swap their homes; return 0 if they have the same one."""
    t = int(draw[1] * at.tables)
    u = int(draw[2] * at.tables)
    list_move(at, ints, 0, t, ints[at.home + u])
    list_move(at, ints, 1, u, ints[at.home + t])
    return 2 if ints[at.home + t] != ints[at.home + u] else 0


@loop
def copy_homes(at: Layout, ints: Ints) -> None:
    """Keep the homes as the best ones."""
    for t in range(at.tables):
        ints[at.best + t] = ints[at.home + t]


@entry(
    f"UniTuple(float64, 2)({PACKED}, float64[::1], float64[::1], float64[:, ::1])",
    records=(Layout,),
)
def anneal(
    at: Layout, ints: Ints, nums: Floats, temperatures: Floats, penalties: Floats, draws: FloatRows
) -> tuple[float, float]:
    """Anneal a state in place, one trial per temperature; return the best's cost, infeasibility.

    A trial moves a table to a region, mostly one where a job that reads it has another table; all
    tables of a job to one region; a cluster; or swaps two tables or clusters. It is undone unless
    it is accepted: by Metropolis' rule on the cost plus a penalty on the infeasibility, among
    placements within the quota. The best homes found, those at entry included, are left in the
    state's ``best``: the least infeasible ones, and of these the cheapest.

    Parameters
    ----------
    temperatures
        By trial: the rise of the cost that is accepted with probability 1/e.
    penalties
        By trial: cost of an infeasibility of 1.
    draws
        For each trial `DRAWS` numbers from 0 to below 1.
    """
    sums = at.sums
    log = at.log_sums
    recompute(at, ints, nums)
    best = nums[sums + COST]
    least = nums[sums + INFEASIBILITY]
    copy_homes(at, ints)
    for m in range(len(temperatures)):
        moves = draw_change(at, ints, nums, draws[m])
        if moves == 0:
            continue
        rise = change(at, ints, nums, moves)
        cost = nums[sums + COST]
        worse = nums[sums + INFEASIBILITY]
        rise += penalties[m] * (worse - nums[log + INFEASIBILITY])
        within = nums[sums + MOVED] <= max(nums[log + MOVED], at.quota)
        if not within or (rise > 0.0 and draws[m, 6] >= math.exp(-rise / temperatures[m])):
            undo(at, ints, nums)
        elif worse < least or (worse == least and cost < best * (1 - RELATIVE)):
            best = cost
            least = worse
            copy_homes(at, ints)
    return best, least
