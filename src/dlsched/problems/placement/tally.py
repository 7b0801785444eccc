"""The cost of a placement, updated from move to move; compiled.

Every table has a home here. What a state breaks is one number, ``BROKEN``: bytes above capacity,
CPU hours above quota, and GPU hours that are missing at home, each as a share of the total, so that
0 means feasible. Those who move tables look after the move quota.
"""

from __future__ import annotations

import math
from typing import Any

from dlsched.compilation import entry, loop
from dlsched.problems.placement.arrays import Data
from dlsched.problems.placement.layout import (
    APP,
    APPS,
    AT_HOME,
    BROKEN,
    BUSY,
    BYTES_READ,
    BYTES_TOTAL,
    CAPACITY,
    CAPACITY_SHARE,
    COST,
    COUNT,
    CPU,
    CPU_HOURS,
    CPU_QUOTA,
    CPU_TOTAL,
    DEMAND,
    FULL,
    GPU,
    HERE,
    HOME,
    HOURS,
    HOURS_KIND,
    HOURS_START,
    JOB_BYTES,
    JOB_START,
    JOB_TABLES,
    JOBS,
    KINDS,
    LOAD_UNIT,
    ML,
    MOVED,
    NEW,
    POSITIONS,
    PRIORITIES,
    PRIORITY,
    PRIORITY_WEIGHT,
    REGION,
    REGIONS,
    SCALARS,
    SIZE,
    SLOPE,
    STORAGE,
    STORED,
    SUMS,
    SUPPLY_LOAD,
    SUPPLY_SHARE,
    TABLE_JOBS,
    TABLE_START,
    TABLES,
    THRESHOLD,
    TODAY,
    TOUCHED,
    TRAFFIC,
    URGENT,
    WANTED,
    State,
    pack,
)  # fmt: skip

_ROUNDING = 1e-14
"""A change of the cost below this share of the terms that it is the sum of is rounding."""


@loop
def region_of(at: Any, ints: Any, j: int, out: int, into: int) -> int:
    """Return the region of a job if a table of it went from `out` to `into`; both alike: now."""
    count = at[COUNT] + j * at[REGIONS]
    if ints[at[ML] + j]:
        first = ints[at[JOB_START] + j]
        n = ints[at[JOB_START] + j + 1] - first
        if out == into:
            r = ints[at[HOME] + ints[at[JOB_TABLES] + first]]
            return r if ints[count + r] == n else -1
        return into if ints[count + into] + 1 == n else -1
    best, most = -1, -1
    for r in range(at[REGIONS]):
        c = ints[count + r]
        if out != into:
            if r == into:
                c += 1
            if r == out:
                c -= 1
        if c > most:
            best, most = r, c
    return best


@loop
def region_cost(at: Any, nums: Any, r: int) -> float:
    """Return what a region adds to the cost by its demand: its part of (2), weighted."""
    total = 0.0
    for k in range(at[KINDS]):
        load, squares = 0.0, 0.0
        share = nums[at[SUPPLY_SHARE] + r * at[KINDS] + k]
        for p in range(at[PRIORITIES]):
            kp = k * at[PRIORITIES] + p
            wanted = nums[at[WANTED] + kp]
            if wanted > 0:
                hours = nums[at[DEMAND] + r * at[KINDS] * at[PRIORITIES] + kp]
                load += hours * nums[at[LOAD_UNIT] + kp]
                off = hours / wanted - share
                squares += nums[at[PRIORITY_WEIGHT] + p] * off * off
        over = max(0.0, load - nums[at[SUPPLY_LOAD] + r * at[KINDS] + k])
        total += squares / (1.0 + math.exp(-nums[at[SCALARS] + SLOPE] * over))
    return nums[at[SCALARS] + GPU] * total


@loop
def busy(at: Any, nums: Any, r: int) -> float:
    """Return the CPU hours above the quotas in a region."""
    total = 0.0
    for a in range(at[APPS]):
        i = r * at[APPS] + a
        total += max(0.0, nums[at[CPU] + i] - nums[at[CPU_QUOTA] + i])
    return total


@loop
def uneven(at: Any, nums: Any, r: int, stored: float) -> float:
    """Return the part of (3) of one region, weighted."""
    weight = nums[at[SCALARS] + STORAGE]
    if weight == 0.0:
        return 0.0
    off = stored / nums[at[SCALARS] + BYTES_TOTAL] - nums[at[CAPACITY_SHARE] + r]
    return weight * off * off


@loop
def shift(at: Any, ints: Any, nums: Any, j: int, r: int, sign: float) -> float:
    """Put a job's GPU and CPU hours into a region, or take them out; return those at home there."""
    if r < 0:
        return 0.0
    at_home = 0.0
    kinds = at[KINDS]
    for i in range(ints[at[HOURS_START] + j], ints[at[HOURS_START] + j + 1]):
        k = ints[at[HOURS_KIND] + i]
        kp = k * at[PRIORITIES] + ints[at[PRIORITY] + j]
        nums[at[DEMAND] + r * kinds * at[PRIORITIES] + kp] += sign * nums[at[HOURS] + i]
        if nums[at[SUPPLY_SHARE] + r * kinds + k] > 0:
            at_home += sign * nums[at[URGENT] + i]
    a = ints[at[APP] + j]
    if a >= 0:
        nums[at[CPU] + r * at[APPS] + a] += sign * nums[at[CPU_HOURS] + j]
    return at_home


@loop
def short(at: Any, nums: Any, at_home: float) -> float:
    """Return the share of the threshold (6) that is missing."""
    threshold = nums[at[SCALARS] + THRESHOLD]
    return max(0.0, threshold - at_home) / threshold if threshold > 0 else 0.0


@loop
def broken(at: Any, nums: Any, full: float, over: float, missing: float) -> float:
    """Return bytes and CPU hours above limits and what is missing at home, as one number."""
    total = missing
    if full != 0.0:
        total += full / max(1.0, nums[at[SCALARS] + BYTES_TOTAL])
    if over != 0.0:
        total += over / max(1.0, nums[at[SCALARS] + CPU_TOTAL])
    return total


@loop
def moving(at: Any, ints: Any, nums: Any, t: int, out: int, into: int) -> float:
    """Return by how much the moved bytes grow if a table goes from `out` to `into`."""
    today = ints[at[TODAY] + t]
    if today < 0 or out == into:
        return 0.0
    if out == today:
        return nums[at[SIZE] + t]
    return -nums[at[SIZE] + t] if into == today else 0.0


@entry(f"void({POSITIONS}, int64[::1], float64[::1])")
def fill(at: Any, ints: Any, nums: Any) -> None:
    """Compute everything from the homes."""
    for i in range(at[COUNT], at[TOUCHED]):
        ints[i] = 0
    for i in range(at[HERE], at[SCALARS]):
        nums[i] = 0.0
    regions, sums = at[REGIONS], at[SUMS]
    for t in range(at[TABLES]):
        r, size = ints[at[HOME] + t], nums[at[SIZE] + t]
        nums[at[STORED] + r] += size
        if ints[at[TODAY] + t] >= 0 and ints[at[TODAY] + t] != r:
            nums[sums + MOVED] += size
        for i in range(ints[at[TABLE_START] + t], ints[at[TABLE_START] + t + 1]):
            j = ints[at[TABLE_JOBS] + i]
            ints[at[COUNT] + j * regions + r] += 1
            nums[at[HERE] + j * regions + r] += size
    crossing = 0.0
    for j in range(at[JOBS]):
        r = region_of(at, ints, j, regions, regions)
        ints[at[REGION] + j] = r
        nums[sums + AT_HOME] += shift(at, ints, nums, j, r, 1.0)
        crossing += nums[at[JOB_BYTES] + j]
        if r >= 0:
            crossing -= nums[at[HERE] + j * regions + r]
    cost = 0.0
    if nums[at[SCALARS] + BYTES_READ] > 0:
        cost = nums[at[SCALARS] + TRAFFIC] * (crossing / nums[at[SCALARS] + BYTES_READ])
    for r in range(regions):
        stored = nums[at[STORED] + r]
        cost += region_cost(at, nums, r) + uneven(at, nums, r, stored)
        nums[sums + FULL] += max(0.0, stored - nums[at[CAPACITY] + r])
        nums[sums + BUSY] += busy(at, nums, r)
    nums[sums + COST] = cost
    missing = short(at, nums, nums[sums + AT_HOME])
    nums[sums + BROKEN] = broken(at, nums, nums[sums + FULL], nums[sums + BUSY], missing)


@loop
def change(at: Any, ints: Any, nums: Any, t: int, into: int) -> Any:
    """Move the hours of a table's readers as if it were in a region, and return what this changes.

    Returns
    -------
    tuple
        What the move adds to the cost, to the GPU hours at home, to the bytes above capacities and
        to the CPU hours above quotas. The readers' new regions are in `NEW`.
    """
    out, size, regions = ints[at[HOME] + t], nums[at[SIZE] + t], at[REGIONS]
    touched, new = at[TOUCHED], at[NEW]
    crossing = at_home = cost = terms = over = full = 0.0
    first = ints[at[TABLE_START] + t]
    readers = ints[at[TABLE_START] + t + 1] - first
    for i in range(readers):
        j = ints[at[TABLE_JOBS] + first + i]
        here = at[HERE] + j * regions
        was, now = ints[at[REGION] + j], region_of(at, ints, j, out, into)
        ints[new + i] = now
        if was >= 0:
            crossing += nums[here + was]
        if now >= 0:
            crossing -= nums[here + now]
            if now == into:
                crossing -= size
            if now == out:
                crossing += size
        if was != now:
            if was >= 0:
                ints[touched + was] = 1
            if now >= 0:
                ints[touched + now] = 1
    for r in range(regions):
        if ints[touched + r]:
            part = region_cost(at, nums, r)
            cost -= part
            terms += part
            over -= busy(at, nums, r)
    for i in range(readers):
        j = ints[at[TABLE_JOBS] + first + i]
        was, now = ints[at[REGION] + j], ints[new + i]
        if was != now:
            at_home += shift(at, ints, nums, j, was, -1.0) + shift(at, ints, nums, j, now, 1.0)
    for r in range(regions):
        if ints[touched + r]:
            part = region_cost(at, nums, r)
            cost += part
            terms += part
            over += busy(at, nums, r)
            ints[touched + r] = 0
    if crossing != 0.0:
        part = nums[at[SCALARS] + TRAFFIC] * (crossing / nums[at[SCALARS] + BYTES_READ])
        cost += part
        terms += abs(part)
    for r, added in ((out, -size), (into, size)):
        stored, capacity = nums[at[STORED] + r], nums[at[CAPACITY] + r]
        before, after = uneven(at, nums, r, stored), uneven(at, nums, r, stored + added)
        cost += after - before
        terms += after + before
        full += max(0.0, stored + added - capacity) - max(0.0, stored - capacity)
    if abs(cost) <= _ROUNDING * terms:
        cost = 0.0
    return cost, at_home, full, over


@entry(f"UniTuple(float64, 2)({POSITIONS}, int64[::1], float64[::1], int64, int64)")
def weighed(at: Any, ints: Any, nums: Any, t: int, into: int) -> Any:
    """Return what moving a table would add to the cost and to what is broken; it stays."""
    if ints[at[HOME] + t] == into:
        return 0.0, 0.0
    cost, at_home, full, over = change(at, ints, nums, t, into)
    first, sums = ints[at[TABLE_START] + t], at[SUMS]
    for i in range(ints[at[TABLE_START] + t + 1] - first):
        j = ints[at[TABLE_JOBS] + first + i]
        was, now = ints[at[REGION] + j], ints[at[NEW] + i]
        if was != now:
            shift(at, ints, nums, j, was, 1.0)
            shift(at, ints, nums, j, now, -1.0)
    missing = short(at, nums, nums[sums + AT_HOME] + at_home)
    worse = broken(at, nums, nums[sums + FULL] + full, nums[sums + BUSY] + over, missing)
    return cost, worse - nums[sums + BROKEN]


@entry(f"float64({POSITIONS}, int64[::1], float64[::1], int64, int64)")
def moved(at: Any, ints: Any, nums: Any, t: int, into: int) -> float:
    """Move a table, and return what this adds to the cost."""
    out = ints[at[HOME] + t]
    if out == into:
        return 0.0
    cost, at_home, full, over = change(at, ints, nums, t, into)
    size, regions, sums = nums[at[SIZE] + t], at[REGIONS], at[SUMS]
    first = ints[at[TABLE_START] + t]
    for i in range(ints[at[TABLE_START] + t + 1] - first):
        j = ints[at[TABLE_JOBS] + first + i]
        ints[at[REGION] + j] = ints[at[NEW] + i]
        ints[at[COUNT] + j * regions + out] -= 1
        ints[at[COUNT] + j * regions + into] += 1
        nums[at[HERE] + j * regions + out] -= size
        nums[at[HERE] + j * regions + into] += size
    nums[at[STORED] + out] -= size
    nums[at[STORED] + into] += size
    nums[sums + MOVED] += moving(at, ints, nums, t, out, into)
    nums[sums + COST] += cost
    nums[sums + AT_HOME] += at_home
    nums[sums + FULL] += full
    nums[sums + BUSY] += over
    missing = short(at, nums, nums[sums + AT_HOME])
    nums[sums + BROKEN] = broken(at, nums, nums[sums + FULL], nums[sums + BUSY], missing)
    ints[at[HOME] + t] = into
    return cost


def state_of(data: Data, home: Any) -> State:
    """Return the state of a placement, all computed afresh."""
    state = pack(data, home)
    fill(*state.packed)
    return state
