"""The dynamic program of Hadar's Algorithm 2 over GPUs in use, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from dlsched.solvers.compilation import entry, loop


@loop
def states_in_use(stride: Any, states: int) -> Any:
    """Return the GPUs in use in each state: states x pools."""
    pools = len(stride)
    use = np.zeros((states, pools), dtype=np.int64)
    for s in range(states):
        rest = s
        for r in range(pools - 1, -1, -1):
            use[s, r] = rest // stride[r]
            rest -= use[s, r] * stride[r]
    return use


@loop
def pools_by_price(caps: Any, price: Any, use: Any) -> Any:
    """Return the pools in each state by the next GPU's price, cheapest first, then by free GPUs."""
    states, pools = use.shape
    order = np.zeros((states, pools), dtype=np.int64)
    for s in range(states):
        for r in range(pools):
            i = r
            while i > 0:
                q = order[s, i - 1]
                more = price[q, use[s, q]] - price[r, use[s, r]]
                if more < 0.0 or (more == 0.0 and caps[q] - use[s, q] >= caps[r] - use[s, r]):
                    break
                order[s, i] = q
                i -= 1
            order[s, i] = r
    return order


@loop
def gpus_given(value: Any, back: Any, use: Any) -> Any:
    """Return the jobs' GPUs in the state of most value, by going back from it."""
    jobs = len(back)
    states, pools = use.shape
    given = np.zeros((jobs, pools), dtype=np.int64)
    s = 0  # a loop, as numba takes half a second to compile `argmax`
    for other in range(1, states):
        if value[other] > value[s]:
            s = other
    for j in range(jobs - 1, -1, -1):
        before = back[j, s] - 1
        if before >= 0:
            for r in range(pools):
                given[j, r] = use[s, r] - use[before, r]
            s = before
    return given


@entry("int64[:, ::1](int64[::1], float64[:, ::1], float64[:, ::1], int64[:, ::1], int64[::1])")
def fill(caps: Any, price: Any, worth: Any, masks: Any, workers: Any) -> Any:
    """Choose the jobs of a queue that run, and their GPUs, for the largest sum of payoffs.

    Parameters
    ----------
    caps
        GPUs of each pool, of which there are at most 62.
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
    pools, jobs = len(caps), len(workers)
    stride = np.ones(pools, dtype=np.int64)
    for r in range(1, pools):
        stride[r] = stride[r - 1] * (caps[r - 1] + 1)
    states = stride[pools - 1] * (caps[pools - 1] + 1)
    use = states_in_use(stride, states)
    order = pools_by_price(caps, price, use)
    value = np.empty(states)
    value[:] = -np.inf
    value[0] = 0.0
    back = np.zeros((jobs, states), dtype=np.int32)  # the state before, counted from 1; 0 for none
    for j in range(jobs):
        fresh = value.copy()
        for s in range(states):
            if value[s] == -np.inf:
                continue
            for v in range(worth.shape[1]):
                if worth[j, v] <= 0.0:
                    continue
                left = workers[j]
                cost = 0.0
                further = 0
                for i in range(pools):
                    r = order[s, i]
                    if masks[j, v] >> r & 1:
                        count = min(left, caps[r] - use[s, r])
                        if count > 0:
                            left -= count
                            cost += count * price[r, use[s, r]]
                            further += count * stride[r]
                if left == 0 and worth[j, v] > cost:
                    total = value[s] + worth[j, v] - cost
                    if total > fresh[s + further]:
                        fresh[s + further] = total
                        back[j, s + further] = s + 1
        value = fresh
    return gpus_given(value, back, use)
