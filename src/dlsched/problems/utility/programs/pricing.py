"""The cheapest schedules of a job at given prices: one pass over slots, for every finish at once.

Compiled. ``cost[t, v]`` is the cost of running in slot t at speed v, infinite if not allowed.
``least[p]`` is the least cost of doing the work of stage p (see `work_stages`) in the slots so far;
each slot updates it in place, in descending p, as it is used at most once.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dlsched.solvers.compilation import FlagCube, FloatRows, Floats, IntRows, Ints, entry, loop

INF = np.inf
After: TypeAlias = Annotated[NDArray[np.int32], "int32[:, ::1]"]
"""For the field of `Jobs`; see `stages`."""
Levels: TypeAlias = NDArray[np.int8]
"""By slot: the index of the speed, -1 where the job does not run."""


class Jobs(NamedTuple):
    """Jobs to be priced.

    Attributes
    ----------
    mask_of_speed
        Jobs x speeds: the position of the mask.
    after
        Stages x speeds: the stage after a slot, for all jobs.
    begin, end
        By job: its range of `after`.
    speeds, first, workers
        By job: the number of speeds, the index of the first slot, GPUs.
    worth
        Jobs x slots: the utility of finishing in a slot.
    barred
        Jobs x slots x speeds: what a rule does not allow; without rows all is allowed.
    """

    mask_of_speed: IntRows
    after: After
    begin: Ints
    end: Ints
    speeds: Ints
    first: Ints
    workers: Ints
    worth: FloatRows
    barred: FlagCube = np.zeros((0, 0, 0), dtype=np.bool_)


@loop
def _by_stages(  # noqa: PLR0912
    cost: FloatRows, after: After, first: int, worth: Floats, must: bool, row: Levels
) -> float:
    """As `best_schedule`, with work in stages."""
    slots, speeds = cost.shape
    row[:] = -1
    need = len(after) - 1
    least = np.empty(need + 1)
    least[:] = INF
    least[0] = 0.0
    choice = np.empty((slots, need + 1), dtype=np.int8)
    best = -INF if must else 0.0
    finish = -1
    reach = 0
    for t in range(first, slots):
        if worth[t] <= best:
            break
        before = reach  # stages above it cannot be done in the slots so far
        for v in range(speeds):
            if cost[t, v] < INF:
                while reach < need and after[reach + 1, v] <= before:
                    reach += 1
        for p in range(reach, 0, -1):
            low = least[p]
            speed = -1
            for v in range(speeds):
                value = least[after[p, v]] + cost[t, v]
                if value < low:
                    low = value
                    speed = v
            least[p] = low
            choice[t, p] = speed
        if least[need] < INF:
            value = worth[t] - least[need]
            if value > best:
                best = value
                finish = t
    p = need
    for t in range(finish, first - 1, -1):
        if p == 0:
            break
        v = choice[t, p]
        if v >= 0:
            row[t] = v
            p = after[p, v]
    return best


@entry("float64(float64[:, ::1], int64[::1], int64, int64, float64[::1], boolean, int8[::1])")
def best_schedule(
    cost: FloatRows, gain: Ints, need: int, first: int, worth: Floats, must: bool, row: Levels
) -> float:
    """Find the schedule of the largest utility minus cost.

    Parameters
    ----------
    cost
        Slots x speeds.
    gain
        Work of each speed, in units, in a slot; fastest first.
    need
        Units to be done.
    first
        Index of the first slot.
    worth
        The utility by finish slot.
    must
        Whether the job has to finish; if not, not running has value 0.
    row
        By slot. Written: the speeds of the schedule, -1 where it does not run.

    Returns
    -------
    float
        The value, minus infinity if the job must finish and cannot.
    """
    speeds = cost.shape[1]
    after = np.empty((need + 1, speeds), dtype=np.int32)
    for p in range(need + 1):
        for v in range(speeds):
            after[p, v] = max(0, p - gain[v])
    return _by_stages(cost, after, first, worth, must, row)


@entry("void(float64[:, ::1], Jobs, boolean, float64[::1], int8[:, ::1])", records=(Jobs,))
def price_all(
    price: FloatRows, jobs: Jobs, must: bool, values: Floats, rows: NDArray[np.int8]
) -> None:
    """Price every job's schedules; write each job's value and best row of speeds.

    Parameters
    ----------
    price
        Slots x masks: the price of the cheapest type of the mask.
    values, rows
        By job, and jobs x slots. Written.
    """
    slots = price.shape[0]
    for j in range(len(jobs.begin)):
        k = jobs.speeds[j]
        cost = np.empty((slots, k))
        for t in range(slots):
            for v in range(k):
                cost[t, v] = jobs.workers[j] * price[t, jobs.mask_of_speed[j, v]]
                if len(jobs.barred) > 0 and jobs.barred[j, t, v]:
                    cost[t, v] = INF
        stages = jobs.end[j] - jobs.begin[j]
        after = np.empty((stages, k), dtype=np.int32)
        for p in range(stages):
            for v in range(k):
                after[p, v] = jobs.after[jobs.begin[j] + p, v]
        values[j] = _by_stages(cost, after, jobs.first[j], jobs.worth[j], must, rows[j])
