"""The cost of a placement, updated from move to move; compiled.

Every table has a home here. ``INFEASIBILITY`` is one number: bytes above capacity, CPU hours above
quota, and GPU hours that are missing at home, each as a share of the total; 0 means feasible. The
move quota is not part of it: the searches compare ``MOVED`` with it.
"""

from __future__ import annotations

import math
from typing import Any

from dlsched.compilation import entry, loop
from dlsched.problems.placement.arrays import Data
from dlsched.problems.placement.layout import (
    AT_HOME,
    COST,
    CPU_EXCESS,
    INFEASIBILITY,
    MOVED,
    STORAGE_EXCESS,
    Layout,
    State,
    pack,
)

PACKED = "Layout, int64[::1], float64[::1]"
"""Types of `State.packed`."""
_ROUNDING = 1e-14
"""A change of the cost below this share of the terms that it is the sum of is rounding."""


@loop
def region_of(at: Any, ints: Any, j: int, out: int, into: int) -> int:
    """Return a job's region if one of its tables moved from `out` to `into`; if equal: as it is."""
    count = at.tables_here + j * at.regions
    if ints[at.ml + j]:
        first = ints[at.job_start + j]
        n = ints[at.job_start + j + 1] - first
        if out == into:
            r = ints[at.home + ints[at.job_tables + first]]
            return r if ints[count + r] == n else -1
        return into if ints[count + into] + 1 == n else -1
    best, most = -1, -1
    for r in range(at.regions):
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
def gpu_cost(at: Any, nums: Any, r: int) -> Any:
    """Return a region's part of (2), weighted."""
    total = 0.0
    for k in range(at.kinds):
        load, squares = 0.0, 0.0
        share = nums[at.supply_share + r * at.kinds + k]
        for p in range(at.priorities):
            kp = k * at.priorities + p
            wanted = nums[at.wanted + kp]
            if wanted > 0:
                hours = nums[at.demand + r * at.kinds * at.priorities + kp]
                load += hours * nums[at.load_unit + kp]
                difference = hours / wanted - share
                squares += nums[at.priority_weight + p] * difference * difference
        over = max(0.0, load - nums[at.supply_load + r * at.kinds + k])
        total += squares / (1.0 + math.exp(-at.slope * over))
    return at.gpu_weight * total


@loop
def cpu_excess(at: Any, nums: Any, r: int) -> float:
    """Return the CPU hours above the quotas in a region."""
    total = 0.0
    for a in range(at.apps):
        i = r * at.apps + a
        total += max(0.0, nums[at.cpu + i] - nums[at.cpu_quota + i])
    return total


@loop
def storage_cost(at: Any, nums: Any, r: int, stored: float) -> Any:
    """Return a region's part of (3), weighted, if it stores a number of bytes."""
    if at.storage_weight == 0.0:
        return 0.0
    difference = stored / at.bytes_total - nums[at.capacity_share + r]
    return at.storage_weight * difference * difference


@loop
def add_hours(at: Any, ints: Any, nums: Any, j: int, r: int, sign: float) -> float:
    """Add a job's hours to a region (`sign` 1) or subtract them (-1); return its hours at home."""
    if r < 0:
        return 0.0
    at_home = 0.0
    kinds = at.kinds
    for i in range(ints[at.hours_start + j], ints[at.hours_start + j + 1]):
        k = ints[at.hours_kind + i]
        kp = k * at.priorities + ints[at.priority + j]
        nums[at.demand + r * kinds * at.priorities + kp] += sign * nums[at.hours + i]
        if nums[at.supply_share + r * kinds + k] > 0:
            at_home += sign * nums[at.urgent + i]
    a = ints[at.app + j]
    if a >= 0:
        nums[at.cpu + r * at.apps + a] += sign * nums[at.cpu_hours + j]
    return at_home


@loop
def infeasibility(at: Any, at_home: float, storage_excess: float, cpu_excess: float) -> Any:
    """Return the sum of what violates (4), (5) and (6), each as a share of its total."""
    total = 0.0
    if at.threshold > 0:
        total = max(0.0, at.threshold - at_home) / at.threshold
    if storage_excess != 0.0:
        total += storage_excess / max(1.0, at.bytes_total)
    if cpu_excess != 0.0:
        total += cpu_excess / max(1.0, at.cpu_total)
    return total


@loop
def moved_bytes_change(at: Any, ints: Any, nums: Any, t: int, out: int, into: int) -> float:
    """Return by how much the bytes moved grow if a table goes from `out` to `into`."""
    today = ints[at.today + t]
    size: float = nums[at.size + t]
    if today < 0 or out == into:
        return 0.0
    if out == today:
        return size
    return -size if into == today else 0.0


@entry(f"void({PACKED})", records=(Layout,))
def recompute(at: Any, ints: Any, nums: Any) -> None:
    """Compute regions of jobs, demand and sums from the homes."""
    for i in range(at.tables_here, at.changed):
        ints[i] = 0
    for i in range(at.bytes_here, len(nums)):
        nums[i] = 0.0
    regions, sums = at.regions, at.sums
    for t in range(at.tables):
        r, size = ints[at.home + t], nums[at.size + t]
        nums[at.stored + r] += size
        if ints[at.today + t] >= 0 and ints[at.today + t] != r:
            nums[sums + MOVED] += size
        for i in range(ints[at.table_start + t], ints[at.table_start + t + 1]):
            j = ints[at.table_jobs + i]
            ints[at.tables_here + j * regions + r] += 1
            nums[at.bytes_here + j * regions + r] += size
    crossing = 0.0
    for j in range(at.jobs):
        r = region_of(at, ints, j, regions, regions)
        ints[at.job_region + j] = r
        nums[sums + AT_HOME] += add_hours(at, ints, nums, j, r, 1.0)
        crossing += nums[at.job_bytes + j]
        if r >= 0:
            crossing -= nums[at.bytes_here + j * regions + r]
    cost = 0.0
    if at.bytes_read > 0:
        cost = at.traffic_weight * (crossing / at.bytes_read)
    for r in range(regions):
        stored = nums[at.stored + r]
        cost += gpu_cost(at, nums, r) + storage_cost(at, nums, r, stored)
        nums[sums + STORAGE_EXCESS] += max(0.0, stored - nums[at.capacity + r])
        nums[sums + CPU_EXCESS] += cpu_excess(at, nums, r)
    nums[sums + COST] = cost
    nums[sums + INFEASIBILITY] = infeasibility(
        at, nums[sums + AT_HOME], nums[sums + STORAGE_EXCESS], nums[sums + CPU_EXCESS]
    )


@loop
def reassign_readers(at: Any, ints: Any, nums: Any, t: int, into: int) -> float:
    """Write the regions of a table's readers if it moved to ``new_region``, and mark ``changed``.

    Returns
    -------
    float
        Bytes that the move adds to those read from other regions.
    """
    out, crossing = ints[at.home + t], 0.0
    first = ints[at.table_start + t]
    for i in range(ints[at.table_start + t + 1] - first):
        j = ints[at.table_jobs + first + i]
        here = at.bytes_here + j * at.regions
        was, now = ints[at.job_region + j], region_of(at, ints, j, out, into)
        ints[at.new_region + i] = now
        if was >= 0:
            crossing += nums[here + was]
        if now >= 0:
            crossing -= nums[here + now]
            if now == into:
                crossing -= nums[at.size + t]
            if now == out:
                crossing += nums[at.size + t]
        if was != now:
            if was >= 0:
                ints[at.changed + was] = 1
            if now >= 0:
                ints[at.changed + now] = 1
    return crossing


@loop
def move_hours(at: Any, ints: Any, nums: Any, t: int, into: int) -> Any:
    """Move the hours of a table's readers as if the table moved, and return what the move changes.

    Returns
    -------
    tuple
        What the move adds to the cost, to the GPU hours at home, to the bytes above capacities and
        to the CPU hours above quotas. The readers' new regions are in ``new_region``.
    """
    out, size, regions = ints[at.home + t], nums[at.size + t], at.regions
    changed, new = at.changed, at.new_region
    crossing = reassign_readers(at, ints, nums, t, into)
    at_home = cost = terms = storage_excess = cpu_hours = 0.0
    first = ints[at.table_start + t]
    readers = ints[at.table_start + t + 1] - first
    for r in range(regions):
        if ints[changed + r]:
            part = gpu_cost(at, nums, r)
            cost -= part
            terms += part
            cpu_hours -= cpu_excess(at, nums, r)
    for i in range(readers):
        j = ints[at.table_jobs + first + i]
        was, now = ints[at.job_region + j], ints[new + i]
        if was != now:
            at_home += add_hours(at, ints, nums, j, was, -1.0)
            at_home += add_hours(at, ints, nums, j, now, 1.0)
    for r in range(regions):
        if ints[changed + r]:
            part = gpu_cost(at, nums, r)
            cost += part
            terms += part
            cpu_hours += cpu_excess(at, nums, r)
            ints[changed + r] = 0
    if crossing != 0.0:
        part = at.traffic_weight * (crossing / at.bytes_read)
        cost += part
        terms += abs(part)
    for r, added in ((out, -size), (into, size)):
        stored, capacity = nums[at.stored + r], nums[at.capacity + r]
        before, after = storage_cost(at, nums, r, stored), storage_cost(at, nums, r, stored + added)
        cost += after - before
        terms += after + before
        storage_excess += max(0.0, stored + added - capacity) - max(0.0, stored - capacity)
    if abs(cost) <= _ROUNDING * terms:
        cost = 0.0
    return cost, at_home, storage_excess, cpu_hours


@entry(f"UniTuple(float64, 2)({PACKED}, int64, int64)", records=(Layout,))
def evaluate_move(at: Any, ints: Any, nums: Any, t: int, into: int) -> Any:
    """Return what moving a table would add to the cost and to the infeasibility; nothing moves."""
    if ints[at.home + t] == into:
        return 0.0, 0.0
    cost, at_home, storage_excess, cpu_hours = move_hours(at, ints, nums, t, into)
    first, sums = ints[at.table_start + t], at.sums
    for i in range(ints[at.table_start + t + 1] - first):
        j = ints[at.table_jobs + first + i]
        was, now = ints[at.job_region + j], ints[at.new_region + i]
        if was != now:
            add_hours(at, ints, nums, j, was, 1.0)
            add_hours(at, ints, nums, j, now, -1.0)
    after = infeasibility(
        at, nums[sums + AT_HOME] + at_home, nums[sums + STORAGE_EXCESS] + storage_excess,
        nums[sums + CPU_EXCESS] + cpu_hours,
    )  # fmt: skip
    return cost, after - nums[sums + INFEASIBILITY]


@entry(f"float64({PACKED}, int64, int64)", records=(Layout,))
def apply_move(at: Any, ints: Any, nums: Any, t: int, into: int) -> float:
    """Move a table, and return what this adds to the cost."""
    out = ints[at.home + t]
    if out == into:
        return 0.0
    cost, at_home, storage_excess, cpu_hours = move_hours(at, ints, nums, t, into)
    size, regions, sums = nums[at.size + t], at.regions, at.sums
    first = ints[at.table_start + t]
    for i in range(ints[at.table_start + t + 1] - first):
        j = ints[at.table_jobs + first + i]
        ints[at.job_region + j] = ints[at.new_region + i]
        ints[at.tables_here + j * regions + out] -= 1
        ints[at.tables_here + j * regions + into] += 1
        nums[at.bytes_here + j * regions + out] -= size
        nums[at.bytes_here + j * regions + into] += size
    nums[at.stored + out] -= size
    nums[at.stored + into] += size
    nums[sums + MOVED] += moved_bytes_change(at, ints, nums, t, out, into)
    nums[sums + COST] += cost
    nums[sums + AT_HOME] += at_home
    nums[sums + STORAGE_EXCESS] += storage_excess
    nums[sums + CPU_EXCESS] += cpu_hours
    nums[sums + INFEASIBILITY] = infeasibility(
        at, nums[sums + AT_HOME], nums[sums + STORAGE_EXCESS], nums[sums + CPU_EXCESS]
    )
    ints[at.home + t] = into
    return float(cost)


def state_of(data: Data, home: Any) -> State:
    """Return the state of a placement."""
    state = pack(data, home)
    recompute(*state.packed)
    return state
