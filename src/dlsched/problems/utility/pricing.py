"""The cheapest schedules of a job at given prices: one pass over slots, for every finish at once.

Compiled. ``cost[t, v]`` is what running in slot t at speed v costs, infinite where it may not.
``least[p]`` is the cheapest way, so far, to get at least p units of work done; a slot changes it in
place, from the top, as each slot is used once. After slot t the job can finish for least[need].
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

INF = np.inf


@njit(cache=True)
def cheapest(
    cost: Any, gain: Any, need: int, first: int, worth: Any, must: bool, least: Any, choice: Any
) -> Any:
    """Find the finish slot of the largest worth minus cost.

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
        By finish slot.
    must
        Whether the job has to finish; else not running at all is worth 0.
    least, choice
        Room for need + 1 costs, and for slots x (need + 1) speeds.

    Returns
    -------
    tuple
        The value, and the finish slot or -1.
    """
    slots, speeds = cost.shape
    least[: need + 1] = INF
    least[0] = 0.0
    best, finish = -INF, -1
    if not must:
        best = 0.0
    for t in range(first, slots):
        if worth[t] <= best:
            break  # worth never increases, and costs are not negative
        for p in range(need, 0, -1):
            low, how = least[p], -1
            for v in range(speeds):
                c = cost[t, v]
                if c < INF:
                    before = p - gain[v]
                    value = least[before if before > 0 else 0] + c
                    if value < low:
                        low, how = value, v
            least[p] = low
            choice[t, p] = how
        if least[need] < INF:
            value = worth[t] - least[need]
            if value > best:
                best, finish = value, t
    return best, finish


@njit(cache=True)
def trace(choice: Any, gain: Any, need: int, finish: int, first: int, row: Any) -> None:
    """Write the speeds of the schedule that finishes in this slot into a row of slots."""
    row[:] = -1
    p = need
    for t in range(finish, first - 1, -1):
        if p <= 0:
            break
        v = choice[t, p]
        if v >= 0:
            row[t] = v
            p -= gain[v]


@njit(cache=True)
def price_all(
    price: Any,
    of: Any,
    speeds: Any,
    gains: Any,
    needs: Any,
    firsts: Any,
    workers: Any,
    worth: Any,
    must: bool,
    values: Any,
    rows: Any,
) -> None:
    """Price every job's schedules; write each one's value and best row of speeds.

    Parameters
    ----------
    price
        Slots x masks: what a GPU costs that may be of any type of the mask.
    of, speeds, gains
        Jobs x speeds: position of the mask; how many speeds; work of each in units.
    values, rows
        Jobs; jobs x slots. Written.
    """
    slots = price.shape[0]
    most = needs.max() if len(needs) else 0
    least = np.empty(most + 1)
    choice = np.empty((slots, most + 1), dtype=np.int8)
    for j in range(len(needs)):
        k = speeds[j]
        cost = np.empty((slots, k))
        for t in range(slots):
            for v in range(k):
                cost[t, v] = workers[j] * price[t, of[j, v]]
        values[j], finish = cheapest(
            cost, gains[j], needs[j], firsts[j], worth[j], must, least, choice
        )
        rows[j, :] = -1
        if finish >= 0:
            trace(choice, gains[j], needs[j], finish, firsts[j], rows[j])
