"""The dynamic program of Hadar's Algorithm 2 over GPUs in use."""

import cython
import numpy as np

_INF = cython.declare(cython.double, float("inf"))


@cython.final
@cython.cclass
class States:
    """All numbers of GPUs that may be in use."""

    caps: cython.const[cython.longlong][::1]  # GPUs of each pool, of which there are at most 62
    stride: cython.longlong[::1]  # by pool: how far apart states are that differ by one of its GPUs
    use: cython.longlong[:, ::1]  # states x pools: GPUs in use
    order: cython.longlong[:, ::1]  # states x pools: the pools by price, written by `fill`

    def __init__(self, caps) -> None:
        ends = np.append(1, np.cumprod(caps + 1))
        pools = len(caps)
        stride, states = ends[:pools], ends[pools]
        self.caps, self.stride = caps, stride
        self.use = np.arange(states)[:, None] // stride % (caps + 1)
        self.order = np.empty((states, pools), np.int64)


def fill(
    of: States,
    price: cython.const[cython.double][:, ::1],
    worth: cython.const[cython.double][:, ::1],
    masks: cython.const[cython.longlong][:, ::1],
    workers: cython.const[cython.longlong][::1],
):
    """Choose the jobs of a queue that run, and their GPUs, for the largest sum of payoffs.

    Parameters
    ----------
    of
        The states.
    price
        Pools x GPUs in use: the price of the next GPUs.
    worth, masks
        Jobs x speeds: the utility at a speed (0 for none), and the pools it may use as bits.
    workers
        By job.

    Returns
    -------
    array
        Jobs x pools: GPUs given.
    """
    states, jobs = of.use.shape[0], workers.shape[0]
    value: cython.double[::1] = np.full(states, -np.inf)
    fresh: cython.double[::1] = np.empty(states)
    # By job and state: the state before, counted from 1; 0 for none.
    back: cython.int[:, ::1] = np.zeros((jobs, states), np.int32)
    given = np.zeros((jobs, of.caps.shape[0]), np.int64)
    written: cython.longlong[:, ::1] = given
    with cython.nogil:
        value[0] = 0.0
        for s in range(states):
            _sort_pools(of, price, s)
        for j in range(jobs):
            fresh[:] = value
            _offer(of, price, worth[j], masks[j], workers[j], value, fresh, back[j])
            value[:] = fresh
    state: cython.longlong = np.argmax(value)
    for j in range(jobs - 1, -1, -1):
        before = back[j, state] - 1
        if before >= 0:
            for r in range(of.caps.shape[0]):
                written[j, r] = of.use[state, r] - of.use[before, r]
            state = before
    return given


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sort_pools(
    of: States, price: cython.const[cython.double][:, ::1], s: cython.longlong
) -> cython.void:
    """Sort the pools in a state by the next GPU's price, cheapest first, then by free GPUs."""
    for r in range(of.caps.shape[0]):
        i = r
        while i > 0:
            q = of.order[s, i - 1]
            more = price[q, of.use[s, q]] - price[r, of.use[s, r]]
            free = of.caps[r] - of.use[s, r]
            if more < 0.0 or (more == 0.0 and of.caps[q] - of.use[s, q] >= free):
                break
            of.order[s, i] = q
            i -= 1
        of.order[s, i] = r


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _offer(
    of: States,
    price: cython.const[cython.double][:, ::1],
    worth: cython.const[cython.double][::1],
    masks: cython.const[cython.longlong][::1],
    workers: cython.longlong,
    value: cython.double[::1],
    fresh: cython.double[::1],
    back: cython.int[::1],
) -> cython.void:
    """Let a job run in every state, at each speed that is worth more than the GPUs cost.

    `value` has what the states were worth, `fresh` what they are with the job, and `back` the
    states before it, counted from 1; the last two are written.
    """
    for s in range(value.shape[0]):
        if value[s] == -_INF:
            continue
        for v in range(worth.shape[0]):
            if worth[v] <= 0.0:
                continue
            cost, then = _take(of, price, s, masks[v], workers)
            total = value[s] + worth[v] - cost
            if then >= 0 and worth[v] > cost and total > fresh[then]:
                fresh[then] = total
                back[then] = s + 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _take(
    of: States,
    price: cython.const[cython.double][:, ::1],
    s: cython.longlong,
    mask: cython.longlong,
    workers: cython.longlong,
) -> tuple[cython.double, cython.longlong]:
    """Return the cost of the cheapest GPUs in a state, and the state then; -1 if too few."""
    cost: cython.double = 0.0
    then: cython.longlong = s
    for i in range(of.caps.shape[0]):
        r = of.order[s, i]
        if mask >> r & 1:
            count: cython.longlong = min(workers, of.caps[r] - of.use[s, r])
            if count > 0:
                workers -= count
                cost += count * price[r, of.use[s, r]]
                then += count * of.stride[r]
    return cost, then if workers == 0 else -1
