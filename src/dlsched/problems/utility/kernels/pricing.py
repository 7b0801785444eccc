"""The cheapest schedules of a job at given prices: one pass over slots, for every finish at once.

``cost[t, v]`` is the cost of running in slot t at speed v, infinite if not allowed. ``least[p]`` is
the least cost of doing the work of stage p (see `structures.work_stages`) in the slots so far; each
slot updates it in place, in descending p, as it is used at most once.
"""

import cython
import numpy as np

_INF = cython.declare(cython.double, float("inf"))


@cython.final
@cython.cclass
class Jobs:
    """Jobs to be priced."""

    mask_of_speed: cython.const[cython.longlong][:, ::1]  # jobs x speeds: the mask's position
    after: cython.const[cython.int][:, ::1]  # stages x speeds of all jobs: the stage after a slot
    begin: cython.const[cython.longlong][::1]  # by job, its range of `after`
    end: cython.const[cython.longlong][::1]
    speeds: cython.const[cython.longlong][::1]  # their number
    first: cython.const[cython.longlong][::1]  # the index of the first slot
    workers: cython.const[cython.longlong][::1]  # GPUs
    worth: cython.const[cython.double][:, ::1]  # jobs x slots: the utility of finishing in a slot
    barred: cython.const[cython.uchar][:, :, ::1]  # as in `structures.gangs.Gangs`

    def __init__(
        self, mask_of_speed, after, begin, end, speeds, first, workers, worth, barred=None
    ) -> None:
        self.mask_of_speed, self.after, self.begin, self.end = mask_of_speed, after, begin, end
        self.speeds, self.first, self.workers, self.worth = speeds, first, workers, worth
        self.barred = np.zeros((0, 0, 0), np.uint8) if barred is None else barred.view(np.uint8)


def price_all(
    price: cython.const[cython.double][:, ::1],
    jobs: Jobs,
    must: cython.bint,
    values: cython.double[::1],
    rows: cython.schar[:, ::1],
) -> cython.void:
    """Price every job's schedules; write each job's value and best row of speeds.

    Parameters
    ----------
    price
        Slots x masks: the price of the cheapest type of the mask.
    must
        Whether jobs have to finish; if not, not running has value 0.
    values, rows
        By job, and jobs x slots. Written.
    """
    most = np.subtract(jobs.end, jobs.begin).max(initial=0)
    cost: cython.double[:, ::1] = np.empty((price.shape[0], jobs.mask_of_speed.shape[1]))
    least: cython.double[::1] = np.empty(most)
    choice: cython.schar[:, ::1] = np.empty((price.shape[0], most), np.int8)
    needed: cython.longlong[::1] = np.empty(price.shape[0], np.int64)
    with cython.nogil:
        for j in range(jobs.begin.shape[0]):
            for t in range(price.shape[0]):
                for v in range(jobs.speeds[j]):
                    cost[t, v] = jobs.workers[j] * price[t, jobs.mask_of_speed[j, v]]
                    if jobs.barred.shape[0] > 0 and jobs.barred[j, t, v]:
                        cost[t, v] = _INF
            after: cython.const[cython.int][:, ::1] = jobs.after[jobs.begin[j] : jobs.end[j]]
            worth: cython.const[cython.double][::1] = jobs.worth[j]
            speeds, first = jobs.speeds[j], jobs.first[j]
            values[j] = _by_stages(
                cost, least, choice, needed, after, speeds, first, worth, must, rows[j]
            )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _by_stages(
    cost: cython.double[:, ::1],
    least: cython.double[::1],
    choice: cython.schar[:, ::1],
    needed: cython.longlong[::1],
    after: cython.const[cython.int][:, ::1],
    speeds: cython.longlong,
    first: cython.longlong,
    worth: cython.const[cython.double][::1],
    must: cython.bint,
    row: cython.schar[::1],
) -> cython.double:
    """Return the value of a job's best schedule, which is written.

    ``choice[t, p]`` is the speed in slot t with which stage p's work is done, -1 for none. Stages
    are left out that cannot lead to more than the best value so far: the highest ones, whose cost
    is too high already, and those with which the job is not complete by the last slot in which its
    utility is above that value (see `_stages_needed`).
    """
    need: cython.longlong = after.shape[0] - 1
    least[: need + 1] = _INF
    least[0] = 0.0
    best = -_INF if must else 0.0
    finish: cython.longlong = -1
    reach: cython.longlong = 0
    last: cython.longlong = worth.shape[0] - 1
    _stages_needed(after, needed)
    for t in range(first, worth.shape[0]):
        while last >= t and worth[last] <= best:
            last -= 1
        while reach > 0 and worth[t] - least[reach] <= best:
            reach -= 1
        before = reach  # stages above it cannot be done in the slots so far, or cost too much
        for v in range(speeds):
            if cost[t, v] < _INF:
                while reach < need and after[reach + 1, v] <= before:
                    reach += 1
        if last < t or reach < needed[last - t]:
            break
        _use_slot(cost[t], least, choice[t], after, speeds, max(needed[last - t], 1), reach)
        value = worth[t] - least[need]
        if value > best:
            best = value
            finish = t
    _write_row(choice, after, first, finish, row)
    return best


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _use_slot(
    cost: cython.double[::1],
    least: cython.double[::1],
    choice: cython.schar[::1],
    after: cython.const[cython.int][:, ::1],
    speeds: cython.longlong,
    lowest: cython.longlong,
    highest: cython.longlong,
) -> cython.void:
    """Lower the least costs of a range of stages by what a slot may do for them."""
    for p in range(highest, lowest - 1, -1):
        choice[p] = -1
        for v in range(speeds):
            value = least[after[p, v]] + cost[v]
            if value < least[p]:
                least[p] = value
                choice[p] = v


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _stages_needed(
    after: cython.const[cython.int][:, ::1], needed: cython.longlong[::1]
) -> cython.void:
    """Write for each number of slots left which stage must be done, if all are at the fastest."""
    stage: cython.longlong = after.shape[0] - 1
    for left in range(needed.shape[0]):
        needed[left] = stage
        stage = after[stage, 0]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _write_row(
    choice: cython.schar[:, ::1],
    after: cython.const[cython.int][:, ::1],
    first: cython.longlong,
    finish: cython.longlong,
    row: cython.schar[::1],
) -> cython.void:
    """Write the speeds that lead to the last stage in the slot of the finish, -1 elsewhere."""
    row[:] = -1
    rest: cython.longlong = after.shape[0] - 1
    while rest > 0 and finish >= first:
        taken: cython.longlong = choice[finish, rest]
        if taken >= 0:
            row[finish] = taken
            rest = after[rest, taken]
        finish -= 1
