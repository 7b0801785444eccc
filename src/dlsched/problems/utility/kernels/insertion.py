"""A schedule under construction: jobs are inserted and removed; two searches over schedules.

A job is inserted at the earliest finish that the free GPUs allow: in every slot it takes its
fastest possible speed until its work is done. What it then has too much is given back, in a random
order of slots: a slot is dropped, or run at the slowest speed that is still enough. Both loops take
a few steps per slot, where the dynamic program of pricing takes some for every unit of work.

`anneal_order` searches over the order in which jobs are inserted, which stands for the schedule of
`insert_in_turn`; `anneal` removes a few jobs from a schedule and inserts them again. All is in one
file, as built functions call each other within one only.
"""

import cython
import numpy as np
from cython.cimports.libc.math import exp

_EQUAL = cython.declare(cython.double, 1e-12)
"""Relative difference up to which sums of utilities are taken as equal."""
_MOST_REMOVED = cython.declare(cython.int, 4)
"""The most jobs that are removed in a round beside the first one."""
_LONGEST_WAIT = cython.declare(cython.int, 2)
"""The most slots after the earliest finish up to which a job may be inserted."""
_WAITING = cython.declare(cython.double, 0.1)
"""The share of insertions that may end after the earliest finish."""
_FARTHEST = cython.declare(cython.double, 0.4)
"""The most places by which a job is moved in an order, as a share of the jobs."""


@cython.final
@cython.cclass
class Demands:
    """What jobs need; it does not change."""

    mask_of_speed: cython.const[cython.longlong][:, ::1]  # jobs x speeds: the mask's position
    gains: cython.const[cython.longlong][:, ::1]  # units of work in a slot, fastest first
    speeds: cython.const[cython.longlong][::1]  # their number, 0 if the job cannot finish
    needs: cython.const[cython.longlong][::1]  # units of work
    first: cython.const[cython.longlong][::1]  # the index of the first slot
    workers: cython.const[cython.longlong][::1]  # GPUs
    value: cython.const[cython.double][:, ::1]  # jobs x slots: what finishing in a slot is worth
    above: cython.const[cython.longlong][:, ::1]  # masks x sets that contain them; -1 fills up
    barred: cython.const[cython.uchar][:, :, ::1]  # as in `structures.gangs.Gangs`

    def __init__(
        self, mask_of_speed, gains, speeds, needs, first, workers, value, above, barred
    ) -> None:
        self.mask_of_speed, self.gains, self.speeds = mask_of_speed, gains, speeds
        self.needs, self.first, self.workers = needs, first, workers
        self.value, self.above = value, above
        self.barred = barred.view(np.uint8)


@cython.final
@cython.cclass
class Plan:
    """A schedule."""

    # Jobs x slots: the speed, -1 where the job does not run.
    levels = cython.declare(cython.schar[:, ::1], visibility="readonly")
    # By job the index of its last slot, -1 if it is not scheduled.
    finish = cython.declare(cython.longlong[::1], visibility="readonly")
    # Slots x sets: GPUs that are left.
    free = cython.declare(cython.longlong[:, ::1], visibility="readonly")
    # The state of the random numbers, from 1 to 2^31 - 2.
    seed = cython.declare(cython.longlong, visibility="readonly")
    slots: cython.longlong[::1]  # work space: the slots in which the job runs that is inserted

    def __init__(self, levels, finish, free, seed) -> None:
        self.levels, self.finish, self.free, self.seed = levels, finish, free, seed
        self.slots = np.empty(levels.shape[1], np.int64)


def insert_in_turn(
    demands: Demands, plan: Plan, order: cython.const[cython.longlong][::1]
) -> cython.void:
    """Insert jobs in this order, each at its earliest finish, where they fit.

    Parameters
    ----------
    plan
        Written.
    order
        Positions of jobs.
    """
    with cython.nogil:
        for i in range(order.shape[0]):
            _insert(demands, plan, order[i], 0)


def anneal_order(
    demands: Demands,
    plan: Plan,
    order: cython.longlong[::1],
    rounds: cython.longlong,
    temperature: cython.double,
    totals: cython.double[::1],
    kept: cython.schar[:, ::1],
) -> cython.void:
    """Move a job in the order and insert those from there on again, for a number of rounds.

    Parameters
    ----------
    plan
        The schedule of `order`. Written.
    order
        The jobs in the order of insertion. Written.
    rounds, temperature, totals, kept
        As of `anneal`.
    """
    levels: cython.schar[:, ::1] = np.empty_like(plan.levels)
    finish: cython.longlong[::1] = np.empty_like(plan.finish)
    free: cython.longlong[:, ::1] = np.empty_like(plan.free)
    moved: cython.longlong[::1] = np.empty_like(order)
    with cython.nogil:
        for _ in range(rounds):
            start = _move(plan, order, moved)
            levels[:, :] = plan.levels
            finish[:] = plan.finish
            free[:, :] = plan.free
            loss: cython.double = 0.0
            for i in range(start, order.shape[0]):
                j = order[i]
                if plan.finish[j] >= 0:
                    loss += demands.value[j, plan.finish[j]]
                    _remove(demands, plan, j)
            for i in range(start, order.shape[0]):
                loss -= _insert(demands, plan, moved[i], 0)
            if loss <= 0.0 or _draw(plan) < exp(-loss / temperature):
                order[:] = moved
                _accept(plan, loss, totals, kept)
            else:
                plan.levels[:, :] = levels
                plan.finish[:] = finish
                plan.free[:, :] = free


def anneal(
    demands: Demands,
    plan: Plan,
    density: cython.const[cython.double][::1],
    rounds: cython.longlong,
    temperature: cython.double,
    totals: cython.double[::1],
    kept: cython.schar[:, ::1],
) -> cython.void:
    """Remove some jobs and insert them again, for a number of rounds; keep the best schedule.

    Parameters
    ----------
    plan
        Written.
    density
        By job: jobs with more are inserted earlier.
    rounds
        How many.
    temperature
        A loss is accepted with probability exp(-loss / temperature).
    totals
        What the schedule is worth now, and the best one. Written.
    kept
        The rows of speeds of the best one. Written.
    """
    near: cython.longlong[::1] = np.empty(plan.levels.shape[0], np.int64)
    chosen: cython.longlong[::1] = np.empty(_MOST_REMOVED + 1, np.int64)
    removed: cython.longlong[::1] = np.empty(_MOST_REMOVED + 1, np.int64)
    ends: cython.longlong[::1] = np.empty(_MOST_REMOVED + 1, np.int64)
    keys: cython.double[::1] = np.empty(_MOST_REMOVED + 1)
    rows: cython.schar[:, ::1] = np.empty((_MOST_REMOVED + 1, plan.levels.shape[1]), np.int8)
    with cython.nogil:
        for _ in range(rounds):
            count = _choose(demands, plan, chosen, near)
            before: cython.double = 0.0
            after: cython.double = 0.0
            for i in range(count):
                j = chosen[i]
                removed[i], ends[i] = j, plan.finish[j]
                if ends[i] >= 0:
                    before += demands.value[j, ends[i]]
                    rows[i, :] = plan.levels[j]
                    _remove(demands, plan, j)
            _arrange(plan, density, chosen, count, keys)
            for i in range(count):
                wait: cython.longlong = 0
                if _draw(plan) < _WAITING:
                    wait = 1 + _below(plan, _LONGEST_WAIT)
                after += _insert(demands, plan, chosen[i], wait)
            loss = before - after
            if loss <= 0.0 or _draw(plan) < exp(-loss / temperature):
                _accept(plan, loss, totals, kept)
            else:
                _restore(demands, plan, removed[:count], ends, rows)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _draw(plan: Plan) -> cython.double:
    """Return a random number between 0 and 1 (Park and Miller 1988, multiplier 48,271)."""
    plan.seed = plan.seed * 48271 % 2147483647
    return plan.seed / 2147483647.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _below(plan: Plan, count: cython.longlong) -> cython.longlong:
    """Return a random index below `count`."""
    return cython.cast(cython.longlong, _draw(plan) * count)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _accept(
    plan: Plan, loss: cython.double, totals: cython.double[::1], kept: cython.schar[:, ::1]
) -> cython.void:
    """Keep a changed schedule, and copy it if it is the best one."""
    totals[0] -= loss
    if totals[0] > totals[1] + _EQUAL * abs(totals[1]):
        totals[1] = totals[0]
        kept[:, :] = plan.levels


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _restore(
    demands: Demands,
    plan: Plan,
    removed: cython.longlong[::1],
    ends: cython.longlong[::1],
    rows: cython.schar[:, ::1],
) -> cython.void:
    """Give jobs the rows of speeds again that they had, and their last slots."""
    for i in range(removed.shape[0]):
        if plan.finish[removed[i]] >= 0:
            _remove(demands, plan, removed[i])
    for i in range(removed.shape[0]):
        j = removed[i]
        if ends[i] >= 0:
            plan.levels[j, :] = rows[i]
            plan.finish[j] = ends[i]
            _book(demands, plan, j, demands.workers[j])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _move(plan: Plan, order: cython.longlong[::1], moved: cython.longlong[::1]) -> cython.longlong:
    """Write an order in which one job is elsewhere; return the first place that differs."""
    count = order.shape[0]
    origin = _below(plan, count)
    shift = 1 + _below(plan, max(1, cython.cast(cython.longlong, _FARTHEST * count)))
    if _draw(plan) < 0.5:
        shift = -shift
    target = min(count - 1, max(0, origin + shift))
    moved[:] = order
    if target > origin:
        moved[origin:target] = order[origin + 1 : target + 1]
    else:
        moved[target + 1 : origin + 1] = order[target:origin]
    moved[target] = order[origin]
    return min(origin, target)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _choose(
    demands: Demands, plan: Plan, chosen: cython.longlong[::1], near: cython.longlong[::1]
) -> cython.longlong:
    """Write a random job, and some that run in a random slot of its own; return their number."""
    jobs = plan.levels.shape[0]
    job = _below(plan, jobs)
    chosen[0] = job
    begin, end = demands.first[job], plan.finish[job]
    if end < 0:
        end = plan.levels.shape[1] - 1
    t = begin + _below(plan, end - begin + 1)
    count: cython.longlong = 0
    for j in range(jobs):
        if j != job and plan.levels[j, t] >= 0:
            near[count] = j
            count += 1
    more = min(count, 1 + _below(plan, _MOST_REMOVED))
    for i in range(more):
        k = i + _below(plan, count - i)
        near[i], near[k] = near[k], near[i]
        chosen[i + 1] = near[i]
    return more + 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _arrange(
    plan: Plan,
    density: cython.const[cython.double][::1],
    chosen: cython.longlong[::1],
    count: cython.longlong,
    keys: cython.double[::1],
) -> cython.void:
    """Sort the chosen jobs: by density with noise; or the first one first, then at random."""
    by_density: cython.bint = _draw(plan) < 0.5
    for i in range(count):
        noise = _draw(plan)
        keys[i] = -density[chosen[i]] * (0.5 + 1.3 * noise) if by_density else noise
    if not by_density:
        keys[0] = -1.0
    for i in range(1, count):
        for k in range(i, 0, -1):
            if keys[k - 1] <= keys[k]:
                break
            keys[k - 1], keys[k] = keys[k], keys[k - 1]
            chosen[k - 1], chosen[k] = chosen[k], chosen[k - 1]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _book(demands: Demands, plan: Plan, job: cython.longlong, gpus: cython.longlong) -> cython.void:
    """Subtract GPUs from what is free in the slots in which a job runs."""
    for t in range(demands.first[job], plan.finish[job] + 1):
        v = plan.levels[job, t]
        if v >= 0:
            mask = demands.mask_of_speed[job, v]
            for k in range(demands.above.shape[1]):
                if demands.above[mask, k] < 0:
                    break
                plan.free[t, demands.above[mask, k]] -= gpus


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _remove(demands: Demands, plan: Plan, job: cython.longlong) -> cython.void:
    """Remove a job."""
    _book(demands, plan, job, -demands.workers[job])
    for t in range(demands.first[job], plan.finish[job] + 1):
        plan.levels[job, t] = -1
    plan.finish[job] = -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _fill(
    demands: Demands, plan: Plan, job: cython.longlong, wait: cython.longlong
) -> tuple[cython.longlong, cython.longlong, cython.longlong]:
    """Run a job at its fastest speeds until its work is done, and `wait` slots more.

    Write the slots in which it runs; return their number, the last one (-1 if there are not
    enough) and the units of work done.
    """
    last: cython.longlong = -1
    done: cython.longlong = 0
    count: cython.longlong = 0
    for t in range(demands.first[job], plan.levels.shape[1]):
        for v in range(demands.speeds[job]):
            if demands.barred.shape[0] > 0 and demands.barred[job, t, v]:
                continue
            if _fits(demands, plan, job, t, v):
                plan.levels[job, t] = v
                done += demands.gains[job, v]
                plan.slots[count] = t
                count += 1
                break
        if done >= demands.needs[job]:
            if plan.levels[job, t] >= 0:
                last = t
            if wait == 0:
                break
            wait -= 1
    return count, last, done


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _fits(
    demands: Demands, plan: Plan, job: cython.longlong, t: cython.longlong, v: cython.longlong
) -> cython.bint:
    """Return whether a slot has enough free GPUs for a job at a speed."""
    mask = demands.mask_of_speed[job, v]
    for k in range(demands.above.shape[1]):
        if demands.above[mask, k] < 0:
            break
        if plan.free[t, demands.above[mask, k]] < demands.workers[job]:
            return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _give_back(
    demands: Demands,
    plan: Plan,
    job: cython.longlong,
    count: cython.longlong,
    spare: cython.longlong,
) -> cython.void:
    """Give back up to `spare` units of work, slot by slot in a random order."""
    lowest = demands.speeds[job] - 1
    least: cython.longlong = demands.gains[job, lowest]
    for v in range(lowest):
        if demands.gains[job, v] > demands.gains[job, v + 1]:
            least = min(least, demands.gains[job, v] - demands.gains[job, v + 1])
    for i in range(count):
        if spare < least:
            return
        k = i + _below(plan, count - i)
        t = plan.slots[k]
        plan.slots[k] = plan.slots[i]
        gain = demands.gains[job, plan.levels[job, t]]
        if gain <= spare:
            spare -= gain
            plan.levels[job, t] = -1
            continue
        for slower in range(lowest, plan.levels[job, t], -1):
            if demands.barred.shape[0] > 0 and demands.barred[job, t, slower]:
                continue
            less = gain - demands.gains[job, slower]
            if less <= spare:
                spare -= less
                plan.levels[job, t] = slower
                break


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _insert(
    demands: Demands, plan: Plan, job: cython.longlong, wait: cython.longlong
) -> cython.double:
    """Insert a job; return what it is worth, 0 if it does not fit."""
    count, last, done = _fill(demands, plan, job, wait)
    if last < 0:
        for i in range(count):
            plan.levels[job, plan.slots[i]] = -1
        return 0.0
    _give_back(demands, plan, job, count, done - demands.needs[job])
    while plan.levels[job, last] < 0:
        last -= 1
    plan.finish[job] = last
    _book(demands, plan, job, demands.workers[job])
    return demands.value[job, last]
