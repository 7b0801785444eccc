"""A schedule under construction: jobs are inserted and removed, compiled.

A job is inserted at the earliest finish that the free GPUs allow: in every slot it takes its
fastest possible speed until its work is done. What it then has too much is given back, in a random
order of slots: a slot is dropped, or run at the slowest speed that is still enough. Both loops take
a few steps per slot, where the dynamic program of pricing takes some for every unit of work.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.utility.structures.insertion_arrays import Demands
from dlsched.solvers.compilation import IntRows, Ints, entry, loop

LevelRows = Annotated[NDArray[np.int8], "int8[:,::1]"]
EQUAL = 1e-12
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
def copy(source: Any, target: Any) -> None:
    """Copy an array of one axis into another one.

    A loop, as numba takes two seconds to compile ``target[:] = source`` with its error messages.
    """
    for i in range(len(source)):
        target[i] = source[i]


@loop
def copy_rows(source: Any, target: Any) -> None:
    """Copy an array of two axes into another one."""
    for i in range(source.shape[0]):
        for k in range(source.shape[1]):
            target[i, k] = source[i, k]


@loop
def draw(seed: Any) -> float:
    """Return a random number between 0 and 1 (Park and Miller 1988, multiplier 48,271)."""
    seed[0] = seed[0] * 48271 % 2147483647
    return float(seed[0]) / 2147483647.0


@loop
def below(seed: Any, count: int) -> int:
    """Return a random index below `count`."""
    return int(draw(seed) * count)


@loop
def book(demands: Any, plan: Any, job: int, gpus: int) -> None:
    """Subtract GPUs from what is free in the slots in which a job runs."""
    above = demands.above
    for t in range(demands.first[job], plan.finish[job] + 1):
        v = plan.levels[job, t]
        if v >= 0:
            mask = demands.mask_of_speed[job, v]
            for k in range(above.shape[1]):
                if above[mask, k] < 0:
                    break
                plan.free[t, above[mask, k]] -= gpus


@loop
def remove(demands: Any, plan: Any, job: int) -> None:
    """Remove a job."""
    book(demands, plan, job, -demands.workers[job])
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
            if len(demands.barred) > 0 and demands.barred[job, t, v]:
                continue
            mask = demands.mask_of_speed[job, v]
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
        k = i + below(plan.seed, count - i)
        t, slots[k] = slots[k], slots[i]
        v = row[t]
        if gains[v] <= spare:
            spare -= gains[v]
            row[t] = -1
            continue
        for slower in range(lowest, v, -1):
            allowed = len(demands.barred) == 0 or not demands.barred[job, t, slower]
            if allowed and gains[v] - gains[slower] <= spare:
                spare -= gains[v] - gains[slower]
                row[t] = slower
                break


@loop
def insert(demands: Any, plan: Any, job: int, wait: int, slots: Any) -> float:
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
    book(demands, plan, job, demands.workers[job])
    return float(demands.value[job, last])


@entry("void(Demands, Plan, int64[::1])", records=(Demands, Plan))
def insert_in_turn(demands: Any, plan: Any, order: Any) -> None:
    """Insert jobs in this order, each at its earliest finish, where they fit."""
    slots = np.empty(plan.levels.shape[1], dtype=np.int64)
    for i in range(len(order)):
        insert(demands, plan, order[i], 0, slots)
