"""The cheapest schedules of a job at given prices: one pass over slots, for every finish at once.

Compiled. ``cost[t, v]`` is the cost of running in slot t at speed v, infinite if not allowed. There
are two programs: if every slot does one unit of work or none, the cheapest slots so far are kept in
a heap; otherwise ``least[p]`` is the least cost of doing the work of stage p (see `stages`) in the
slots so far, and each slot updates it in place, in descending p, as it is used at most once.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dlsched.solvers.compilation import FloatRows, Floats, IntRows, Ints, entry, loop

INF = np.inf
After: TypeAlias = Annotated[NDArray[np.int32], "int32[:, ::1]"]
"""For the field of `Jobs`; see `stages`."""
Levels: TypeAlias = NDArray[np.int8]
"""By slot: the index of the speed, -1 where the job does not run."""
_ROUNDING = 1e-10
"""The error of a running sum of costs, as a share of the largest that it has been."""


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
    """

    mask_of_speed: IntRows
    after: After
    begin: Ints
    end: Ints
    speeds: Ints
    first: Ints
    workers: Ints
    worth: FloatRows


@loop
def _push(heap: Floats, size: int, cost: float) -> None:
    """Add a cost to a heap of some size with the largest on top."""
    i = size
    heap[i] = cost
    while i > 0:
        parent = (i - 1) // 2
        if heap[parent] >= heap[i]:
            return
        heap[i], heap[parent] = heap[parent], heap[i]
        i = parent


@loop
def _replace_largest(heap: Floats, size: int, cost: float) -> None:
    """Replace the largest cost of a heap by a smaller one."""
    heap[0] = cost
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size:
            return
        if child + 1 < size and heap[child + 1] > heap[child]:
            child += 1
        if heap[i] >= heap[child]:
            return
        heap[i], heap[child] = heap[child], heap[i]
        i = child


@loop
def _cheapest_slots(
    cost: FloatRows, after: After, first: int, worth: Floats, must: bool, row: Levels
) -> float:
    """As `best_schedule`, where every slot does one stage or none: the cheapest slots so far."""
    slots, speeds = cost.shape
    need = len(after) - 1
    gain = need - after[need]
    low = np.full(slots, INF)
    heap = np.full(need, -INF)
    count = 0
    running = 0.0
    peak = 0.0
    best = -INF if must else 0.0
    finish = -1
    highest = 0.0
    for t in range(first, slots):
        if worth[t] <= best:
            break  # utilities never increase, and costs are not negative
        for v in range(speeds):
            if gain[v] > 0:
                low[t] = min(low[t], cost[t, v])
        if low[t] == INF:
            continue
        if count < need:
            _push(heap, count, low[t])
            count += 1
            running += low[t]
        elif low[t] < heap[0]:
            running += low[t] - heap[0]
            _replace_largest(heap, need, low[t])
        else:
            continue
        peak = max(peak, running)
        if count == need and worth[t] - running + _ROUNDING * peak > best:
            total = 0.0
            for i in range(need):
                total += heap[i]
            value = worth[t] - total
            if value > best:
                best = value
                finish = t
                highest = heap[0]
    _use_cheapest(cost, gain, low, highest, need, first, finish, row)
    return best


@loop
def _use_cheapest(
    cost: FloatRows,
    gain: Ints,
    low: Floats,
    highest: float,
    need: int,
    first: int,
    finish: int,
    row: Levels,
) -> None:
    """Write the speeds of the `need` cheapest slots up to the finish.

    Of the slots that cost as much as the most expensive of them, the earliest are used.
    """
    equal = need
    for t in range(first, finish + 1):
        if low[t] < highest:
            equal -= 1
    for t in range(first, finish + 1):
        if low[t] > highest or (low[t] == highest and equal <= 0):
            continue
        if low[t] == highest:
            equal -= 1
        for v in range(cost.shape[1]):
            if gain[v] > 0 and cost[t, v] == low[t]:
                row[t] = v
                break


@loop
def _by_stages(  # noqa: PLR0912
    cost: FloatRows, after: After, first: int, worth: Floats, must: bool, row: Levels
) -> float:
    """As `best_schedule`, with work in stages."""
    slots, speeds = cost.shape
    row[:] = -1
    need = len(after) - 1
    least = np.full(need + 1, INF)
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
            low, how = least[p], -1
            for v in range(speeds):
                value = least[after[p, v]] + cost[t, v]
                if value < low:
                    low, how = value, v
            least[p] = low
            choice[t, p] = how
        if least[need] < INF:
            value = worth[t] - least[need]
            if value > best:
                best, finish = value, t
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
    return _priced(cost, after, first, worth, must, row)


@loop
def _priced(
    cost: FloatRows, after: After, first: int, worth: Floats, must: bool, row: Levels
) -> float:
    """As `best_schedule`, with work in stages, by the program that fits."""
    row[:] = -1
    if _one_by_one(after):
        return _cheapest_slots(cost, after, first, worth, must, row)
    return _by_stages(cost, after, first, worth, must, row)


@loop
def _one_by_one(after: After) -> bool:
    """Return whether every slot does one stage, or none at any stage."""
    need = len(after) - 1
    for p in range(1, need + 1):
        for v in range(after.shape[1]):
            gain = p - after[p, v]
            if gain > 1 or gain != need - after[need, v]:
                return False
    return True


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
        after = np.ascontiguousarray(jobs.after[jobs.begin[j] : jobs.end[j], :k])
        values[j] = _priced(cost, after, jobs.first[j], jobs.worth[j], must, rows[j])
