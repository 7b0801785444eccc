"""Neighbourhood search over schedules: some jobs are removed and inserted again. Compiled.

A job is inserted at the earliest finish that the free GPUs allow: in every slot it takes its
fastest possible speed until its work is done. What it then has too much is given back, in a random
order of slots: a slot is dropped, or run at the slowest speed that is still enough. Both loops take
a few steps per slot, where the dynamic program of pricing takes some for every unit of work.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlsched.compilation import IntRows, Ints, entry, loop
from dlsched.problems.utility.demands import Demands

LevelRows = Annotated[NDArray[np.int8], "int8[:,::1]"]

MOST_REMOVED = 4
"""The most jobs that are removed in a round beside the first one."""
LONGEST_WAIT = 2
"""The most slots after the earliest finish up to which a job may be inserted."""
_WAITING = 0.1
"""The share of insertions that may end after the earliest finish."""
_EQUAL = 1e-12
"""Relative difference up to which sums of utilities are taken as equal."""


class Plan(NamedTuple):
    """A schedule; compiled functions change it.

    Attributes
    ----------
    levels
        Jobs x slots: the speed, -1 where the job does not run.
    finish
        By job the index of its last slot, -1 if it is not scheduled.
    free
        Slots x sets: GPUs that are left.
    seed
        The state of the random numbers, from 1 to 2^31 - 2.
    """

    levels: LevelRows
    finish: Ints
    free: IntRows
    seed: Ints


@loop
def _random(seed: Any) -> float:
    """Return a random number between 0 and 1 (Park and Miller 1988, multiplier 48,271)."""
    seed[0] = seed[0] * 48271 % 2147483647
    return float(seed[0]) / 2147483647.0


@loop
def _below(seed: Any, count: int) -> int:
    """Return a random index below `count`."""
    return int(_random(seed) * count)


@loop
def _book(demands: Any, plan: Any, job: int, gpus: int) -> None:
    """Subtract GPUs from what is free in the slots in which a job runs."""
    above = demands.above
    for t in range(demands.first[job], plan.finish[job] + 1):
        v = plan.levels[job, t]
        if v >= 0:
            mask = demands.of[job, v]
            for k in range(above.shape[1]):
                if above[mask, k] < 0:
                    break
                plan.free[t, above[mask, k]] -= gpus


@loop
def _remove(demands: Any, plan: Any, job: int) -> None:
    """Remove a job."""
    _book(demands, plan, job, -demands.workers[job])
    for t in range(demands.first[job], plan.finish[job] + 1):
        plan.levels[job, t] = -1
    plan.finish[job] = -1


@loop
def _fill(demands: Any, plan: Any, job: int, wait: int, slots: Any) -> tuple[int, int, int]:
    """Run a job at its fastest speeds until its work is done, and `wait` slots more.

    Write the slots in which it runs; return their number, the last one (-1 if there are not
    enough) and the units of work done.
    """
    above, free, row = demands.above, plan.free, plan.levels[job]
    last, done, count = -1, 0, 0
    for t in range(demands.first[job], len(row)):
        for v in range(demands.speeds[job]):
            mask = demands.of[job, v]
            fits = True
            for k in range(above.shape[1]):
                if above[mask, k] < 0:
                    break
                if free[t, above[mask, k]] < demands.workers[job]:
                    fits = False
                    break
            if fits:
                row[t] = v
                done += demands.gains[job, v]
                slots[count] = t
                count += 1
                break
        if done >= demands.needs[job]:
            if row[t] >= 0:
                last = t
            if wait == 0:
                break
            wait -= 1
    return count, last, done


@loop
def _give_back(demands: Any, plan: Any, job: int, slots: Any, count: int, spare: int) -> None:
    """Give back up to `spare` units of work, slot by slot in a random order."""
    gains, row = demands.gains[job], plan.levels[job]
    lowest = demands.speeds[job] - 1
    least = gains[lowest]
    for v in range(lowest):
        if gains[v] > gains[v + 1]:
            least = min(least, gains[v] - gains[v + 1])
    for i in range(count):
        if spare < least:
            return
        k = i + _below(plan.seed, count - i)
        t, slots[k] = slots[k], slots[i]
        v = row[t]
        if gains[v] <= spare:
            spare -= gains[v]
            row[t] = -1
            continue
        for slower in range(lowest, v, -1):
            if gains[v] - gains[slower] <= spare:
                spare -= gains[v] - gains[slower]
                row[t] = slower
                break


@loop
def _insert(demands: Any, plan: Any, job: int, wait: int, slots: Any) -> float:
    """Insert a job; return what it is worth, 0 if it does not fit."""
    count, last, done = _fill(demands, plan, job, wait, slots)
    row = plan.levels[job]
    if last < 0:
        for i in range(count):
            row[slots[i]] = -1
        return 0.0
    _give_back(demands, plan, job, slots, count, done - demands.needs[job])
    while row[last] < 0:
        last -= 1
    plan.finish[job] = last
    _book(demands, plan, job, demands.workers[job])
    return float(demands.value[job, last])


@entry("void(Demands, Plan, int64[::1])", records=(Demands, Plan))
def insert_in_turn(demands: Any, plan: Any, order: Any) -> None:
    """Insert jobs in this order, each at its earliest finish, where they fit."""
    slots = np.empty(plan.levels.shape[1], dtype=np.int64)
    for i in range(len(order)):
        _insert(demands, plan, order[i], 0, slots)


@loop
def _choose(demands: Any, plan: Any, chosen: Any, near: Any) -> int:
    """Write a random job, and some that run in a random slot of its own; return their number."""
    jobs, slots = plan.levels.shape
    first = _below(plan.seed, jobs)
    chosen[0] = first
    begin, end = demands.first[first], plan.finish[first]
    if end < 0:
        end = slots - 1
    t = begin + _below(plan.seed, end - begin + 1)
    count = 0
    for j in range(jobs):
        if j != first and plan.levels[j, t] >= 0:
            near[count] = j
            count += 1
    more = min(count, 1 + _below(plan.seed, MOST_REMOVED))
    for i in range(more):
        k = i + _below(plan.seed, count - i)
        near[i], near[k] = near[k], near[i]
        chosen[i + 1] = near[i]
    return more + 1


@loop
def _arrange(demands: Any, plan: Any, density: Any, chosen: Any, count: int, keys: Any) -> None:
    """Sort the chosen jobs: by density with noise; or the first one first, then at random."""
    by_density = _random(plan.seed) < 0.5
    for i in range(count):
        noise = _random(plan.seed)
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
                rows[i] = plan.levels[j]
                _remove(demands, plan, j)
        _arrange(demands, plan, density, chosen, count, keys)
        for i in range(count):
            wait = 0
            if _random(plan.seed) < _WAITING:
                wait = 1 + _below(plan.seed, LONGEST_WAIT)
            after += _insert(demands, plan, chosen[i], wait, slots)
        loss = before - after
        if loss <= 0.0 or _random(plan.seed) < np.exp(-loss / temperature):
            totals[0] -= loss
            if totals[0] > totals[1] + _EQUAL * abs(totals[1]):
                totals[1] = totals[0]
                kept[:] = plan.levels
            continue
        for i in range(count):
            if plan.finish[chosen[i]] >= 0:
                _remove(demands, plan, chosen[i])
        for i in range(count):
            if ends[i] >= 0:
                plan.levels[removed[i]] = rows[i]
                plan.finish[removed[i]] = ends[i]
                _book(demands, plan, removed[i], demands.workers[removed[i]])
