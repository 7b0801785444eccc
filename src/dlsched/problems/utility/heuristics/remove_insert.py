"""Neighbourhood search over schedules: a few jobs are removed and inserted again. Compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from dlsched.problems.utility.heuristics.partial_schedule import (
    EQUAL,
    Plan,
    below,
    book,
    copy,
    copy_rows,
    draw,
    insert,
    remove,
)
from dlsched.problems.utility.structures.insertion_arrays import Demands
from dlsched.solvers.compilation import entry, loop

MOST_REMOVED = 4
"""The most jobs that are removed in a round beside the first one."""
LONGEST_WAIT = 2
"""The most slots after the earliest finish up to which a job may be inserted."""
_WAITING = 0.1
"""The share of insertions that may end after the earliest finish."""


@loop
def _choose(demands: Any, plan: Any, chosen: Any, near: Any) -> int:
    """Write a random job, and some that run in a random slot of its own; return their number."""
    jobs, slots = plan.levels.shape
    first = below(plan.seed, jobs)
    chosen[0] = first
    begin, end = demands.first[first], plan.finish[first]
    if end < 0:
        end = slots - 1
    t = begin + below(plan.seed, end - begin + 1)
    count = 0
    for j in range(jobs):
        if j != first and plan.levels[j, t] >= 0:
            near[count] = j
            count += 1
    more = min(count, 1 + below(plan.seed, MOST_REMOVED))
    for i in range(more):
        k = i + below(plan.seed, count - i)
        near[i], near[k] = near[k], near[i]
        chosen[i + 1] = near[i]
    return more + 1


@loop
def _arrange(demands: Any, plan: Any, density: Any, chosen: Any, count: int, keys: Any) -> None:
    """Sort the chosen jobs: by density with noise; or the first one first, then at random."""
    by_density = draw(plan.seed) < 0.5
    for i in range(count):
        noise = draw(plan.seed)
        keys[i] = -density[chosen[i]] * (0.5 + 1.3 * noise) if by_density else noise
    if not by_density:
        keys[0] = -1.0
    for i in range(1, count):
        for k in range(i, 0, -1):
            if keys[k - 1] <= keys[k]:
                break
            keys[k - 1], keys[k] = keys[k], keys[k - 1]
            chosen[k - 1], chosen[k] = chosen[k], chosen[k - 1]


@entry(
    "void(Demands, Plan, float64[::1], int64, float64, float64[::1], int8[:, ::1])",
    records=(Demands, Plan),
)
def anneal(
    demands: Any, plan: Any, density: Any, rounds: int, temperature: float, totals: Any, kept: Any
) -> None:
    """Remove some jobs and insert them again, for a number of rounds; keep the best schedule.

    Parameters
    ----------
    density
        By job: jobs with more are inserted earlier.
    temperature
        A loss is accepted with probability exp(-loss / temperature).
    totals
        What the schedule is worth now, and the best one. Written.
    kept
        The rows of speeds of the best one. Written.
    """
    slots = np.empty(plan.levels.shape[1], dtype=np.int64)
    near = np.empty(plan.levels.shape[0], dtype=np.int64)
    chosen = np.empty(MOST_REMOVED + 1, dtype=np.int64)
    removed, ends = np.empty_like(chosen), np.empty_like(chosen)
    keys = np.empty(MOST_REMOVED + 1)
    rows = np.empty((MOST_REMOVED + 1, plan.levels.shape[1]), dtype=np.int8)
    for _ in range(rounds):
        count = _choose(demands, plan, chosen, near)
        before = after = 0.0
        for i in range(count):
            j = chosen[i]
            removed[i], ends[i] = j, plan.finish[j]
            if ends[i] >= 0:
                before += demands.value[j, ends[i]]
                copy(plan.levels[j], rows[i])
                remove(demands, plan, j)
        _arrange(demands, plan, density, chosen, count, keys)
        for i in range(count):
            wait = 0
            if draw(plan.seed) < _WAITING:
                wait = 1 + below(plan.seed, LONGEST_WAIT)
            after += insert(demands, plan, chosen[i], wait, slots)
        loss = before - after
        if loss <= 0.0 or draw(plan.seed) < np.exp(-loss / temperature):
            totals[0] -= loss
            if totals[0] > totals[1] + EQUAL * abs(totals[1]):
                totals[1] = totals[0]
                copy_rows(plan.levels, kept)
            continue
        for i in range(count):
            if plan.finish[chosen[i]] >= 0:
                remove(demands, plan, chosen[i])
        for i in range(count):
            if ends[i] >= 0:
                copy(rows[i], plan.levels[removed[i]])
                plan.finish[removed[i]] = ends[i]
                book(demands, plan, removed[i], demands.workers[removed[i]])
