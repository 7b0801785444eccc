"""The relaxation's inner problem, in whole numbers: what each job does at given prices.

A job completes at the time that minimises completion time plus cost, where it uses the cheapest
time between its submission and completion. While the time of completion moves on, a heap holds the
intervals in use, the dearest on top, so that each enters and leaves it once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dlsched.solvers.compilation import entry, loop

Whole = NDArray[np.int64]
FAR = 2**60
"""A time after all others."""


@loop
def move(heap: Whole, source: int, place: int) -> None:
    """Copy an entry to another place."""
    heap[place, 0] = heap[source, 0]
    heap[place, 1] = heap[source, 1]
    heap[place, 2] = heap[source, 2]


@loop
def push(heap: Whole, count: int, price: int, seconds: int, interval: int) -> int:
    """Add an entry; return how many there are. Columns: price, time, interval; dearest first."""
    place = count
    while place > 0:
        above = (place - 1) >> 1
        if heap[above, 0] >= price:
            break
        move(heap, above, place)
        place = above
    heap[place, 0] = price
    heap[place, 1] = seconds
    heap[place, 2] = interval
    return count + 1


@loop
def pop(heap: Whole, count: int) -> int:
    """Remove the dearest entry; return how many there are."""
    count -= 1
    price = heap[count, 0]
    place = 0
    while True:
        below = 2 * place + 1
        if below >= count:
            break
        if below + 1 < count and heap[below + 1, 0] > heap[below, 0]:
            below += 1
        if heap[below, 0] <= price:
            break
        move(heap, below, place)
        place = below
    move(heap, count, place)
    return count


@loop
def replace(heap: Whole, state: Whole, price: int, above: int, room: int) -> None:
    """Use time at `price` in place of time dearer than `above`, up to `room` in all.

    Entries of `state`: their number, cost, and time used in this interval.
    """
    while state[0] > 0 and heap[0, 0] > above and state[2] < room:
        seconds = min(heap[0, 1], room - state[2])
        state[1] -= (heap[0, 0] - price) * seconds
        state[2] += seconds
        if seconds == heap[0, 1]:
            state[0] = pop(heap, state[0])
        else:
            heap[0, 1] -= seconds


@loop
def cheapest(
    starts: Whole,
    prices: Whole,
    job: tuple[int, int, int],
    one: int,
    stop: int,
    heap: Whole,
    state: Whole,
) -> tuple[int, int, int]:
    """Return the least of time since submission plus cost, its interval, and intervals looked at.

    Parameters
    ----------
    starts, prices
        Of the intervals; prices per time used, in 1 / `one`.
    job
        Submission, length, and the interval of the submission.
    stop
        An interval to complete in; the heap then has what is used. -1 for the best.
    """
    release, length, first = job
    best, best_at, missing = FAR, -1, length
    state[0], state[1] = 0, 0
    k = first
    while k < len(prices):
        begin = max(starts[k], release)
        if stop < 0 and (begin - release) * one >= best:
            break
        room = (starts[k + 1] if k + 1 < len(starts) else FAR) - begin
        price = prices[k]
        used = min(missing, room)
        missing -= used
        state[1] += price * used
        state[2] = used
        if missing == 0:
            # Waiting one more second costs 1 and the price here; it saves a second at the dearest.
            replace(heap, state, price, price + one, room)
            worth = (begin + state[2] - release) * one + state[1]
            if stop == k:
                state[0] = push(heap, state[0], price, state[2], k)
                return worth, k, k + 1 - first
            if worth < best:
                best, best_at = worth, k
            replace(heap, state, price, price, room)
        if state[2] > 0:
            state[0] = push(heap, state[0], price, state[2], k)
        k += 1
    return best, best_at, k - first


@entry(
    "int64(int64[::1], int64[:,::1], int64[::1], int64[::1], int64[::1], int64[::1], int64,"
    " int64[::1], int64[:,::1])"
)
def relax(
    starts: Whole,
    prices: Whole,
    release: Whole,
    length: Whole,
    first: Whole,
    kind: Whole,
    one: int,
    worth: Whole,
    used: Whole,
) -> int:
    """Fill in each job's least of time since submission plus cost, and the time that kinds use.

    Parameters
    ----------
    starts, prices
        Of the intervals; prices by kind of jobs, in 1 / `one`, not below 0 and 0 in the last.
    release, length, first, kind
        Of the jobs; `first` is the interval of the submission.
    worth
        To be filled, of each job, in 1 / `one`.
    used
        To be added to, by kind and interval. Empty if it is not wanted.

    Returns
    -------
    int
        Intervals looked at.
    """
    heap = np.empty((len(starts) + 1, 3), np.int64)
    state = np.zeros(3, np.int64)
    looked = 0
    for j in range(len(release)):
        job = (release[j], length[j], first[j])
        k = kind[j]
        worth[j], last, count = cheapest(starts, prices[k], job, one, -1, heap, state)
        looked += count
        if len(used):
            _, _, count = cheapest(starts, prices[k], job, one, last, heap, state)
            looked += count
            for i in range(state[0]):
                used[k, heap[i, 2]] += heap[i, 1]
    return looked
