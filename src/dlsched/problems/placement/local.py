"""Hill climbing and annealing over placements, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from dlsched.problems.placement.tally import BROKEN, COST, MOVED, fill, moving, step

NOISE = 1e-13
"""Gains below this are rounding, not gains."""
_TABLE, _JOB = range(2)
_GUIDED = 0.75
"""Chance that a move goes where some of the readers' tables are."""
_REFRESH = 50_000
"""Trials after which the sums are computed afresh, so that roundings do not add up."""


@njit(cache=True)
def affordable(data: Any, state: Any, t: int, into: int) -> bool:
    """Whether the move quota allows a table to go to a region."""
    more = moving(data, t, state.home[t], into)
    return more <= 0 or state.sums[MOVED] + more <= data.quota


@njit(cache=True)
def best_move(data: Any, state: Any, t: int, touched: Any) -> Any:
    """Return a table's best region, and what going there adds to what is broken and to the cost.

    The region is the present one if no other is an improvement: less broken, or as much and
    cheaper.
    """
    region, broken, cost = state.home[t], 0.0, 0.0
    for r in range(len(data.capacity)):
        if r == state.home[t] or not affordable(data, state, t, r):
            continue
        c, b = step(data, state, t, r, False, touched)
        if b < broken - NOISE or (b < broken + NOISE and c < cost - NOISE):
            region, broken, cost = r, b, c
    return region, broken, cost


@njit(cache=True)
def best_moves(data: Any, state: Any, first: int, last: int) -> Any:
    """Return `best_move` of a range of tables, as three arrays."""
    touched = np.zeros(len(data.capacity), dtype=np.bool_)
    n = last - first
    region = np.zeros(n, dtype=np.int64)
    broken, cost = np.zeros(n), np.zeros(n)
    for i in range(n):
        region[i], broken[i], cost[i] = best_move(data, state, first + i, touched)
    return region, broken, cost


@njit(cache=True)
def climb(data: Any, state: Any, queue: Any) -> int:
    """Take tables in turn: each to the region that is best by now, or it stays; return the moves.

    A table whose best region the quota does not allow any more goes to the best that is allowed.
    """
    touched = np.zeros(len(data.capacity), dtype=np.bool_)
    moves = 0
    for i in range(len(queue)):
        t = queue[i]
        region, _, _ = best_move(data, state, t, touched)
        if region != state.home[t]:
            step(data, state, t, region, True, touched)
            moves += 1
    return moves


@njit(cache=True)
def anneal(data: Any, state: Any, best: Any, heats: Any, rng: Any) -> Any:
    """Anneal a state in place, one trial at each heat.

    A third of the trials is of each kind: a table to a region, mostly one where a job that reads
    it has another table; all tables of a job to one region; two tables that change places.

    Parameters
    ----------
    best
        Becomes the best homes met, those at entry included.
    heats
        Rise of the cost that is accepted with probability 1/e, by trial.

    Returns
    -------
    tuple
        Cost and brokenness of the best.
    """
    tables = len(data.size)
    touched = np.zeros(len(data.capacity), dtype=np.bool_)
    log, back = np.zeros(tables, dtype=np.int64), np.zeros(tables, dtype=np.int64)
    record, record_broken = state.sums[COST], state.sums[BROKEN]
    best[:] = state.home
    for m in range(len(heats)):
        kind = int(rng.random() * 3)
        if kind == _TABLE:
            moved = _try_table(data, state, heats[m], rng, touched)
        elif kind == _JOB:
            moved = _try_job(data, state, heats[m], rng, touched, log, back)
        else:
            moved = _try_swap(data, state, heats[m], rng, touched, log, back)
        if not moved:
            continue
        now, wrong = state.sums[COST], state.sums[BROKEN]
        if wrong < record_broken - NOISE or (
            wrong < record_broken + NOISE and now < record - NOISE
        ):
            record, record_broken = now, wrong
            best[:] = state.home
        if m % _REFRESH == 0:
            fill(data, state)
    return record, record_broken


@njit(cache=True)
def _try_table(data: Any, state: Any, heat: float, rng: Any, touched: Any) -> bool:
    t = int(rng.random() * len(data.size))
    into = int(rng.random() * len(data.capacity))
    span = data.table_start[t + 1] - data.table_start[t]
    if span and rng.random() < _GUIDED:
        j = data.table_jobs[data.table_start[t] + int(rng.random() * span)]
        into = state.home[_one_of(data, j, rng)]
    if into == state.home[t] or not affordable(data, state, t, into):
        return False
    cost, broken = step(data, state, t, into, False, touched)
    if not _accepted(broken, cost, heat, rng.random()):
        return False
    step(data, state, t, into, True, touched)
    return True


@njit(cache=True)
def _try_job(data: Any, state: Any, heat: float, rng: Any, touched: Any, log: Any,
             back: Any) -> bool:  # fmt: skip
    if not len(data.ml):
        return False
    j = int(rng.random() * len(data.ml))
    into = int(rng.random() * len(data.capacity))
    if rng.random() < _GUIDED:
        into = state.home[_one_of(data, j, rng)]
    steps = 0
    for i in range(data.job_start[j], data.job_start[j + 1]):
        t = data.job_tables[i]
        if state.home[t] != into:
            log[steps], back[steps] = t, state.home[t]
            steps += 1
    cost = broken = 0.0
    for i in range(steps):
        c, b = step(data, state, log[i], into, True, touched)
        cost, broken = cost + c, broken + b
    return steps > 0 and _kept(data, state, cost, broken, heat, rng, touched, log, back, steps)


@njit(cache=True)
def _try_swap(data: Any, state: Any, heat: float, rng: Any, touched: Any, log: Any,
              back: Any) -> bool:  # fmt: skip
    log[0], log[1] = int(rng.random() * len(data.size)), int(rng.random() * len(data.size))
    back[0], back[1] = state.home[log[0]], state.home[log[1]]
    if back[0] == back[1]:
        return False
    c, b = step(data, state, log[0], back[1], True, touched)
    d, e = step(data, state, log[1], back[0], True, touched)
    return _kept(data, state, c + d, b + e, heat, rng, touched, log, back, 2)


@njit(cache=True)
def _kept(data: Any, state: Any, cost: float, broken: float, heat: float, rng: Any, touched: Any,
          log: Any, back: Any, steps: int) -> bool:  # fmt: skip
    """Keep a series of moves, or undo it."""
    within = state.sums[MOVED] <= data.quota
    if within and _accepted(broken, cost, heat, rng.random()):
        return True
    for i in range(steps - 1, -1, -1):
        step(data, state, log[i], back[i], True, touched)
    return False


@njit(cache=True)
def _accepted(broken: float, cost: float, heat: float, luck: float) -> bool:
    """Metropolis' rule, on the cost among placements that are no more broken."""
    if broken > NOISE:
        return False
    return broken < -NOISE or cost <= 0 or luck < np.exp(-cost / heat)


@njit(cache=True)
def _one_of(data: Any, j: int, rng: Any) -> int:
    """Return one of a job's tables."""
    span = data.job_start[j + 1] - data.job_start[j]
    return data.job_tables[data.job_start[j] + int(rng.random() * span)]
