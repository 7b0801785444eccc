"""The relaxation's inner problem, in whole numbers: what each job does at given prices.

A job completes at the time that minimises completion time plus cost, where it uses the cheapest
time between its submission and completion. While the time of completion moves on, a heap holds the
intervals in use, the dearest on top, so that each enters and leaves it once.
"""

import cython
import numpy as np

_FAR = cython.declare(cython.longlong, 2**60)
"""A time after all others."""


@cython.final
@cython.cclass
class Use:
    """The time that a job uses, by interval, as a heap.

    Attributes
    ----------
    starts, one
        As of `relax`.
    heap
        Price, time, and interval of each entry; the dearest first.
    count
        Entries of the heap.
    cost
        Of all time used.
    here
        Time used in the interval that is looked at, which is not in the heap yet.
    looked
        Intervals looked at.
    """

    starts: cython.const[cython.longlong][::1]
    one: cython.longlong
    heap: cython.longlong[:, ::1]
    count: cython.longlong
    cost: cython.longlong
    here: cython.longlong
    looked: cython.longlong

    def __init__(self, starts, one) -> None:
        self.starts, self.one = starts, one
        self.heap = np.empty((len(starts) + 1, 3), np.int64)
        self.count = self.cost = self.here = self.looked = 0


def relax(
    starts,
    prices: cython.const[cython.longlong][:, ::1],
    release: cython.const[cython.longlong][::1],
    length: cython.const[cython.longlong][::1],
    first: cython.const[cython.longlong][::1],
    kind: cython.const[cython.longlong][::1],
    one,
    worth: cython.longlong[::1],
    used: cython.longlong[:, ::1],
) -> cython.longlong:
    """Fill in each job's least of time since submission plus cost, and the time that kinds use.

    Parameters
    ----------
    starts, prices
        Of the intervals; prices by kind of jobs, not below 0 and 0 in the last.
    release, length, first, kind
        Of the jobs; `first` is the interval of the submission.
    one
        The price of a unit of time.
    worth, used
        To be filled, of each job, in 1 / `one`; and to be added to, by kind and interval.

    Returns
    -------
    int
        Intervals looked at.
    """
    use = Use(starts, one)
    with cython.nogil:
        for j in range(release.shape[0]):
            row: cython.const[cython.longlong][::1] = prices[kind[j]]
            worth[j], last = _cheapest(use, row, release[j], length[j], first[j], -1)
            _cheapest(use, row, release[j], length[j], first[j], last)
            for i in range(use.count):
                used[kind[j], use.heap[i, 2]] += use.heap[i, 1]
    return use.looked


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _cheapest(
    use: Use,
    prices: cython.const[cython.longlong][::1],
    release: cython.longlong,
    length: cython.longlong,
    first: cython.longlong,
    stop: cython.longlong,
) -> tuple[cython.longlong, cython.longlong]:
    """Return the least of time since submission plus cost, and its interval.

    With an interval `stop` the job completes there, and `use` has what it uses; -1 is for the best.
    """
    best: cython.longlong = _FAR
    best_at: cython.longlong = -1
    missing = length
    use.count = use.cost = 0
    k = first
    while k < prices.shape[0]:
        begin = max(use.starts[k], release)
        if stop < 0 and (begin - release) * use.one >= best:
            break
        use.looked += 1
        room = (use.starts[k + 1] if k + 1 < use.starts.shape[0] else _FAR) - begin
        price = prices[k]
        use.here = min(missing, room)
        missing -= use.here
        use.cost += price * use.here
        if missing == 0:
            # Waiting one more second costs 1 and the price here; it saves a second at the dearest.
            _replace(use, price, price + use.one, room)
            worth = (begin + use.here - release) * use.one + use.cost
            if stop == k:
                _push(use, price, k)
                return worth, k
            if worth < best:
                best, best_at = worth, k
            _replace(use, price, price, room)
        if use.here > 0:
            _push(use, price, k)
        k += 1
    return best, best_at


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _replace(
    use: Use, price: cython.longlong, above: cython.longlong, room: cython.longlong
) -> cython.void:
    """Use time at `price` in place of time dearer than `above`, up to `room` in all."""
    while use.count > 0 and use.heap[0, 0] > above and use.here < room:
        seconds = min(use.heap[0, 1], room - use.here)
        use.cost -= (use.heap[0, 0] - price) * seconds
        use.here += seconds
        if seconds == use.heap[0, 1]:
            _pop(use)
        else:
            use.heap[0, 1] -= seconds


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _push(use: Use, price: cython.longlong, interval: cython.longlong) -> cython.void:
    """Add the time used in an interval to the heap."""
    place: cython.longlong = use.count
    while place > 0 and use.heap[(place - 1) >> 1, 0] < price:
        for c in range(3):
            use.heap[place, c] = use.heap[(place - 1) >> 1, c]
        place = (place - 1) >> 1
    use.heap[place, 0] = price
    use.heap[place, 1] = use.here
    use.heap[place, 2] = interval
    use.count += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _pop(use: Use) -> cython.void:
    """Remove the dearest entry of the heap."""
    use.count -= 1
    price = use.heap[use.count, 0]
    place: cython.longlong = 0
    while 2 * place + 1 < use.count:
        below: cython.longlong = 2 * place + 1
        if below + 1 < use.count and use.heap[below + 1, 0] > use.heap[below, 0]:
            below += 1
        if use.heap[below, 0] <= price:
            break
        for c in range(3):
            use.heap[place, c] = use.heap[below, c]
        place = below
    for c in range(3):
        use.heap[place, c] = use.heap[use.count, c]
