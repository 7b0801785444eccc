"""The cost of a placement, updated from move to move; compiled.

Tables are never without a home here. What a state breaks is one number, ``broken``: bytes above
capacity, CPU hours above quota, and GPU hours that are missing at home, each as a share of the
total, so that 0 means feasible. The move quota is minded by those who move.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from dlsched.problems.placement.arrays import Data

COST, BROKEN, MOVED, AT_HOME = range(4)
"""Positions in `State.sums`."""


class State(NamedTuple):
    """What a placement makes of the data."""

    home: Any
    count: Any
    """Jobs x regions: tables of the job that are there."""
    here: Any
    """Jobs x regions: their bytes."""
    region: Any
    """Of each job, -1 for none."""
    demand: Any
    """R x K x P: GPU hours."""
    stored: Any
    cpu: Any
    sums: Any


@njit(cache=True)
def region_of(data: Any, state: Any, j: int, out: int, into: int) -> int:
    """Return the region of a job if one of its tables went from `out` to `into`."""
    count = state.count
    if data.ml[j]:
        n = data.job_start[j + 1] - data.job_start[j]
        if out == into:
            r = state.home[data.job_tables[data.job_start[j]]]
            return r if count[j, r] == n else -1
        return into if count[j, into] + 1 == n else -1
    best, most = -1, -1
    for r in range(count.shape[1]):
        c = count[j, r]
        if out != into:
            c += (r == into) - (r == out)
        if c > most:
            best, most = r, c
    return best


@njit(cache=True)
def traffic_of(data: Any, state: Any, j: int, region: int) -> float:
    """Return the bytes that a job reads from elsewhere if it runs in a region."""
    if region < 0:
        return data.job_bytes[j]
    return data.job_bytes[j] - state.here[j, region]


@njit(cache=True)
def imbalance(data: Any, demand: Any, r: int, k: int) -> float:
    """Return the part of (2) of one region and type, before weights."""
    load, squares = 0.0, 0.0
    for p in range(demand.shape[2]):
        hours = demand[r, k, p]
        load += hours
        if data.wanted[k, p] > 0:
            off = hours / data.wanted[k, p] - data.supply_share[r, k]
            squares += data.priority_weight[p] * off * off
    over = max(0.0, load - data.supply[r, k]) / data.supply_mean[k]
    return squares / (1.0 + math.exp(-data.slope * over))


@njit(cache=True)
def uneven(data: Any, r: int, stored: float) -> float:
    """Return the part of (3) of one region, before weights."""
    off = stored / data.bytes_total - data.capacity_share[r]
    return off * off


@njit(cache=True)
def excess(have: float, limit: float) -> float:
    """Return what is above a limit."""
    return max(0.0, have - limit)


@njit(cache=True)
def home_hours(data: Any, j: int, region: int) -> float:
    """Return the GPU hours of a time-sensitive job whose types its region has."""
    total = 0.0
    if region >= 0 and data.sensitive[j]:
        for i in range(data.hours_start[j], data.hours_start[j + 1]):
            if data.supply[region, data.hours_kind[i]] > 0:
                total += data.hours[i]
    return total


@njit(cache=True)
def shift(data: Any, state: Any, j: int, old: int, new: int, sign: float) -> None:
    """Take a job's GPU and CPU hours out of one region and put them into another."""
    p, a = data.priority[j], data.app[j]
    for i in range(data.hours_start[j], data.hours_start[j + 1]):
        k = data.hours_kind[i]
        if old >= 0:
            state.demand[old, k, p] -= sign * data.hours[i]
        if new >= 0:
            state.demand[new, k, p] += sign * data.hours[i]
    if a >= 0 and data.cpu_hours[j] > 0:
        if old >= 0:
            state.cpu[old, a] -= sign * data.cpu_hours[j]
        if new >= 0:
            state.cpu[new, a] += sign * data.cpu_hours[j]


@njit(cache=True)
def region_cost(data: Any, state: Any, r: int) -> float:
    """Return what a region adds to the cost by its demand."""
    total = 0.0
    for k in range(data.supply.shape[1]):
        total += imbalance(data, state.demand, r, k)
    return data.gpu_weight * total


@njit(cache=True)
def region_broken(data: Any, state: Any, r: int) -> float:
    """Return by how much a region's CPU quotas are exceeded, as a share of all CPU hours."""
    total = 0.0
    for a in range(state.cpu.shape[1]):
        total += excess(state.cpu[r, a], data.cpu_quota[r, a])
    return total / data.cpu_total if total > 0 else 0.0


@njit(cache=True)
def fill(data: Any, state: Any) -> None:
    """Compute everything from the homes."""
    state.count[:] = 0
    state.here[:] = 0
    state.demand[:] = 0
    state.stored[:] = 0
    state.cpu[:] = 0
    state.sums[:] = 0
    tables, regions = len(data.size), len(data.capacity)
    for t in range(tables):
        r = state.home[t]
        state.stored[r] += data.size[t]
        if data.home[t] >= 0 and data.home[t] != r:
            state.sums[MOVED] += data.size[t]
        for i in range(data.table_start[t], data.table_start[t + 1]):
            j = data.table_jobs[i]
            state.count[j, r] += 1
            state.here[j, r] += data.size[t]
    crossing = 0.0
    for j in range(len(data.ml)):
        r = region_of(data, state, j, 0, 0)
        state.region[j] = r
        shift(data, state, j, -1, r, 1.0)
        state.sums[AT_HOME] += home_hours(data, j, r)
        crossing += traffic_of(data, state, j, r)
    if data.bytes_read > 0:
        state.sums[COST] = data.traffic_weight * crossing / data.bytes_read
    for r in range(regions):
        state.sums[COST] += region_cost(data, state, r)
        if data.storage_weight > 0:
            state.sums[COST] += data.storage_weight * uneven(data, r, state.stored[r])
        state.sums[BROKEN] += excess(state.stored[r], data.capacity[r]) / max(1.0, data.bytes_total)
        state.sums[BROKEN] += region_broken(data, state, r)
    state.sums[BROKEN] += short(data, state.sums[AT_HOME])


@njit(cache=True)
def short(data: Any, at_home: float) -> float:
    """Return the share of the threshold (6) that is missing."""
    return max(0.0, data.threshold - at_home) / data.threshold if data.threshold > 0 else 0.0


@njit(cache=True)
def step(data: Any, state: Any, t: int, into: int, keep: bool, touched: Any) -> Any:
    """Move a table, and return what this adds to the cost and to what is broken.

    Parameters
    ----------
    keep
        Whether the move stays; else the state is as before when this returns.
    touched
        Scratch: one flag per region, all false.
    """
    out = state.home[t]
    if out == into:
        return 0.0, 0.0
    size = data.size[t]
    crossing = at_home = cost = broken = 0.0
    first, last = data.table_start[t], data.table_start[t + 1]
    for i in range(first, last):
        j = data.table_jobs[i]
        old, new = state.region[j], region_of(data, state, j, out, into)
        after = data.job_bytes[j]
        if new >= 0:
            after -= state.here[j, new]
            after += size * ((new == out) - 1.0 * (new == into))
        crossing += after - traffic_of(data, state, j, old)
        if old != new:
            at_home += home_hours(data, j, new) - home_hours(data, j, old)
            if old >= 0:
                touched[old] = True
            if new >= 0:
                touched[new] = True
    for r in range(len(touched)):
        if touched[r]:
            cost -= region_cost(data, state, r)
            broken -= region_broken(data, state, r)
    for i in range(first, last):
        j = data.table_jobs[i]
        old, new = state.region[j], region_of(data, state, j, out, into)
        if old != new:
            shift(data, state, j, old, new, 1.0)
    for r in range(len(touched)):
        if touched[r]:
            cost += region_cost(data, state, r)
            broken += region_broken(data, state, r)
            touched[r] = False
    if data.bytes_read > 0:
        cost += data.traffic_weight * crossing / data.bytes_read
    for r, sign in ((out, -1.0), (into, 1.0)):
        now = state.stored[r]
        then = now + sign * size
        if data.storage_weight > 0:
            cost += data.storage_weight * (uneven(data, r, then) - uneven(data, r, now))
        over = excess(then, data.capacity[r]) - excess(now, data.capacity[r])
        broken += over / max(1.0, data.bytes_total)
    broken += short(data, state.sums[AT_HOME] + at_home) - short(data, state.sums[AT_HOME])
    if not keep:
        for i in range(first, last):
            j = data.table_jobs[i]
            old, new = state.region[j], region_of(data, state, j, out, into)
            if old != new:
                shift(data, state, j, old, new, -1.0)
        return cost, broken
    for i in range(first, last):
        j = data.table_jobs[i]
        new = region_of(data, state, j, out, into)
        state.region[j] = new
        state.count[j, out] -= 1
        state.count[j, into] += 1
        state.here[j, out] -= size
        state.here[j, into] += size
    state.stored[out] -= size
    state.stored[into] += size
    state.sums[MOVED] += moving(data, t, out, into)
    state.sums[AT_HOME] += at_home
    state.sums[COST] += cost
    state.sums[BROKEN] += broken
    state.home[t] = into
    return cost, broken


@njit(cache=True)
def moving(data: Any, t: int, out: int, into: int) -> float:
    """Return by how much the moved bytes grow if a table goes from `out` to `into`."""
    if data.home[t] < 0:
        return 0.0
    return data.size[t] * ((into != data.home[t]) - 1.0 * (out != data.home[t]))


def state_of(data: Data, home: Any) -> State:
    """Return the state of a placement, all computed afresh."""
    tables, jobs, regions = len(data.size), len(data.ml), len(data.capacity)
    kinds, priorities = data.wanted.shape
    state = State(
        home=np.array(home, dtype=np.int64).reshape(tables),
        count=np.zeros((jobs, regions), dtype=np.int32),
        here=np.zeros((jobs, regions)),
        region=np.zeros(jobs, dtype=np.int32),
        demand=np.zeros((regions, kinds, priorities)),
        stored=np.zeros(regions),
        cpu=np.zeros((regions, data.cpu_quota.shape[1])),
        sums=np.zeros(4),
    )
    fill(data, state)
    return state
