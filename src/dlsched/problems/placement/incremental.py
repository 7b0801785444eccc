"""The cost of a placement, updated from change to change; compiled.

Every table has a home here. ``INFEASIBILITY`` is one number: bytes above capacity, CPU hours above
quota, and GPU hours that are missing at home, each as a share of the total; 0 means feasible. The
move quota is not part of it: the searches compare ``MOVED`` with it.

A change is a list of tables with their new homes. It reaches the jobs that read these tables, and
of the GPUs only the regions and types of the jobs that run elsewhere afterwards. `undo` restores
what the last change overwrote: costs from copies, whole numbers (bytes and hours) by subtraction,
which is exact.
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
    READERS,
    STORAGE_EXCESS,
    TABLES,
    Layout,
    State,
    pack,
)

PACKED = "Layout, int64[::1], float64[::1]"
"""Types of `State.packed`."""
_ROUNDING = 1e-14
"""A change of the cost below this share of the terms that it is the sum of is rounding."""
_SUMS = 6


@loop
def region_of(at: Any, ints: Any, j: int) -> int:
    """Return the region where a job runs with the tables at their homes; -1 for none."""
    first, last = ints[at.job_start + j], ints[at.job_start + j + 1]
    best = ints[at.home + ints[at.job_tables + first]]
    together = True
    for i in range(first + 1, last):
        if ints[at.home + ints[at.job_tables + i]] != best:
            together = False
            break
    if together:
        return int(best)
    if ints[at.ml + j]:
        return -1
    for i in range(first, last):
        ints[at.votes + ints[at.home + ints[at.job_tables + i]]] += 1
    for i in range(first, last):
        r = ints[at.home + ints[at.job_tables + i]]
        more = ints[at.votes + r] - ints[at.votes + best]
        if more > 0 or (more == 0 and r < best):
            best = r
    for i in range(first, last):
        ints[at.votes + ints[at.home + ints[at.job_tables + i]]] = 0
    return int(best)


@loop
def bytes_near(at: Any, ints: Any, nums: Any, j: int, r: int) -> Any:
    """Return the bytes that a job reads in its region if that is `r`."""
    total = 0.0
    if r >= 0:
        for i in range(ints[at.job_start + j], ints[at.job_start + j + 1]):
            t = ints[at.job_tables + i]
            if ints[at.home + t] == r:
                total += nums[at.size + t]
    return total


@loop
def cell_cost(at: Any, nums: Any, cell: int) -> Any:
    """Return a region's and a GPU type's part of (2)."""
    load, squares = 0.0, 0.0
    share, k = nums[at.supply_share + cell], cell % at.kinds
    for p in range(at.priorities):
        wanted = nums[at.wanted + k * at.priorities + p]
        if wanted > 0:
            hours = nums[at.demand + cell * at.priorities + p]
            load += hours * nums[at.load_unit + k * at.priorities + p]
            difference = hours / wanted - share
            squares += nums[at.priority_weight + p] * difference * difference
    over = load - nums[at.supply_load + cell]
    if over > 0.0 and at.slope != 0.0:
        return squares / (1.0 + math.exp(-at.slope * over))
    return 0.5 * squares


@loop
def storage_cost(at: Any, nums: Any, r: int, stored: float) -> Any:
    """Return a region's part of (3), weighted, if it stores a number of bytes."""
    if at.storage_weight == 0.0:
        return 0.0
    difference = stored / at.bytes_total - nums[at.capacity_share + r]
    return at.storage_weight * difference * difference


@loop
def add_hours(at: Any, ints: Any, nums: Any, j: int, r: int, sign: float) -> Any:
    """Add a job's hours to a region (`sign` 1) or subtract them (-1).

    Returns
    -------
    tuple
        What this adds to the GPU hours at home, and to the CPU hours above the quota.
    """
    if r < 0:
        return 0.0, 0.0
    at_home = excess = 0.0
    for i in range(ints[at.hours_start + j], ints[at.hours_start + j + 1]):
        cell = r * at.kinds + ints[at.hours_kind + i]
        nums[at.demand + cell * at.priorities + ints[at.priority + j]] += sign * nums[at.hours + i]
        ints[at.marked + cell] = 1
        if nums[at.supply_share + cell] > 0:
            at_home += sign * nums[at.urgent + i]
    a = ints[at.app + j]
    if a >= 0:
        i = r * at.apps + a
        over = max(0.0, nums[at.cpu + i] - nums[at.cpu_quota + i])
        nums[at.cpu + i] += sign * nums[at.cpu_hours + j]
        excess = max(0.0, nums[at.cpu + i] - nums[at.cpu_quota + i]) - over
    return at_home, excess


@loop
def infeasibility(at: Any, nums: Any) -> Any:
    """Return the sum of what violates (4), (5) and (6), each as a share of its total."""
    total, sums = 0.0, at.sums
    if at.threshold > 0:
        total = max(0.0, at.threshold - nums[sums + AT_HOME]) / at.threshold
    if nums[sums + STORAGE_EXCESS] != 0.0:
        total += nums[sums + STORAGE_EXCESS] / max(1.0, at.bytes_total)
    if nums[sums + CPU_EXCESS] != 0.0:
        total += nums[sums + CPU_EXCESS] / max(1.0, at.cpu_total)
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


@loop
def sum_cells(at: Any, ints: Any, nums: Any, r: int) -> Any:
    """Compute the marked parts of a region again, unmark them, and return the weighted sum."""
    total = 0.0
    for cell in range(r * at.kinds, (r + 1) * at.kinds):
        if ints[at.marked + cell]:
            ints[at.marked + cell] = 0
            nums[at.part + cell] = cell_cost(at, nums, cell)
        total += nums[at.part + cell]
    nums[at.gpu + r] = at.gpu_weight * total
    return nums[at.gpu + r]


@entry(f"void({PACKED})", records=(Layout,))
def recompute(at: Any, ints: Any, nums: Any) -> None:
    """Compute regions of jobs, demand and sums from the homes."""
    for i in range(at.job_region, at.best):
        ints[i] = 0
    for i in range(at.near, len(nums)):
        nums[i] = 0.0
    sums = at.sums
    for t in range(at.tables):
        r, size = ints[at.home + t], nums[at.size + t]
        nums[at.stored + r] += size
        if ints[at.today + t] >= 0 and ints[at.today + t] != r:
            nums[sums + MOVED] += size
    crossing = 0.0
    for j in range(at.jobs):
        r = region_of(at, ints, j)
        ints[at.job_region + j] = r
        at_home, excess = add_hours(at, ints, nums, j, r, 1.0)
        nums[sums + AT_HOME] += at_home
        nums[sums + CPU_EXCESS] += excess
        nums[at.near + j] = bytes_near(at, ints, nums, j, r)
        crossing += nums[at.job_bytes + j] - nums[at.near + j]
    cost = 0.0
    if at.bytes_read > 0:
        cost = at.traffic_weight * (crossing / at.bytes_read)
    for r in range(at.regions):
        for cell in range(r * at.kinds, (r + 1) * at.kinds):
            ints[at.marked + cell] = 1
        stored = nums[at.stored + r]
        cost += sum_cells(at, ints, nums, r) + storage_cost(at, nums, r, stored)
        nums[sums + STORAGE_EXCESS] += max(0.0, stored - nums[at.capacity + r])
    nums[sums + COST] = cost
    nums[sums + INFEASIBILITY] = infeasibility(at, nums)


@loop
def move_readers(at: Any, ints: Any, nums: Any) -> float:
    """Run the readers of the listed tables where these are now, and mark what that changes.

    Returns
    -------
    float
        Bytes that this adds to those read from other regions.
    """
    crossing, sums, listed = 0.0, at.sums, 0
    tables = ints[at.counts + TABLES]
    for m in range(tables):
        t = ints[at.log_table + m]
        for i in range(ints[at.table_start + t], ints[at.table_start + t + 1]):
            j = ints[at.table_jobs + i]
            if tables > 1:
                if ints[at.seen + j]:
                    continue
                ints[at.seen + j] = 1
            was, now = ints[at.job_region + j], region_of(at, ints, j)
            if was == now == -1:
                continue
            before, near = nums[at.near + j], bytes_near(at, ints, nums, j, now)
            if was == now and before == near:
                continue
            ints[at.log_job + listed] = j
            ints[at.log_region + listed], nums[at.log_near + listed] = was, before
            listed += 1
            nums[at.near + j] = near
            crossing += before - near
            if was != now:
                ints[at.job_region + j] = now
                for r, sign in ((was, -1.0), (now, 1.0)):
                    if r >= 0:
                        ints[at.changed + r] = 1
                        at_home, excess = add_hours(at, ints, nums, j, r, sign)
                        nums[sums + AT_HOME] += at_home
                        nums[sums + CPU_EXCESS] += excess
    ints[at.counts + READERS] = listed
    if tables > 1:
        for m in range(tables):
            t = ints[at.log_table + m]
            for i in range(ints[at.table_start + t], ints[at.table_start + t + 1]):
                ints[at.seen + ints[at.table_jobs + i]] = 0
    return crossing


@loop
def change(at: Any, ints: Any, nums: Any, tables: int) -> float:
    """Move the first of the tables in ``log_table``, each listed once, to their ``log_home``.

    Returns
    -------
    float
        What is added to the cost; `undo` takes the change back.
    """
    sums = at.sums
    for i in range(_SUMS):
        nums[at.log_sums + i] = nums[sums + i]
    for r in range(at.regions):
        ints[at.changed + r] = 0
    ints[at.counts + TABLES] = tables
    cost = terms = storage = storage_terms = 0.0
    for m in range(tables):
        t, into = ints[at.log_table + m], ints[at.log_home + m]
        out, size = ints[at.home + t], nums[at.size + t]
        nums[sums + MOVED] += moved_bytes_change(at, ints, nums, t, out, into)
        for r, added in ((out, -size), (into, size)):
            stored, capacity = nums[at.stored + r], nums[at.capacity + r]
            before = storage_cost(at, nums, r, stored)
            after = storage_cost(at, nums, r, stored + added)
            storage += after - before
            storage_terms += after + before
            over = max(0.0, stored + added - capacity) - max(0.0, stored - capacity)
            nums[sums + STORAGE_EXCESS] += over
            nums[at.stored + r] = stored + added
        ints[at.home + t], ints[at.log_home + m] = into, out
    crossing = move_readers(at, ints, nums)
    for r in range(at.regions):
        if ints[at.changed + r]:
            nums[at.log_gpu + r] = nums[at.gpu + r]
            for cell in range(r * at.kinds, (r + 1) * at.kinds):
                nums[at.log_part + cell] = nums[at.part + cell]
            cost -= nums[at.gpu + r]
            terms += nums[at.gpu + r]
    for r in range(at.regions):
        if ints[at.changed + r]:
            part = sum_cells(at, ints, nums, r)
            cost += part
            terms += part
    if crossing != 0.0:
        part = at.traffic_weight * (crossing / at.bytes_read)
        cost += part
        terms += abs(part)
    cost += storage
    if abs(cost) <= _ROUNDING * (terms + storage_terms):
        cost = 0.0
    nums[sums + COST] += cost
    nums[sums + INFEASIBILITY] = infeasibility(at, nums)
    return float(cost)


@loop
def undo(at: Any, ints: Any, nums: Any) -> None:
    """Take the last change back."""
    for i in range(_SUMS):
        nums[at.sums + i] = nums[at.log_sums + i]
    for m in range(ints[at.counts + TABLES]):
        t, out = ints[at.log_table + m], ints[at.log_home + m]
        into, size = ints[at.home + t], nums[at.size + t]
        nums[at.stored + into] -= size
        nums[at.stored + out] += size
        ints[at.home + t] = out
    for i in range(ints[at.counts + READERS]):
        j, was = ints[at.log_job + i], ints[at.log_region + i]
        now = ints[at.job_region + j]
        nums[at.near + j] = nums[at.log_near + i]
        if was != now:
            ints[at.job_region + j] = was
            add_hours(at, ints, nums, j, now, -1.0)
            add_hours(at, ints, nums, j, was, 1.0)
    for r in range(at.regions):
        if ints[at.changed + r]:
            nums[at.gpu + r] = nums[at.log_gpu + r]
            for cell in range(r * at.kinds, (r + 1) * at.kinds):
                nums[at.part + cell] = nums[at.log_part + cell]
                ints[at.marked + cell] = 0


@loop
def move_table(at: Any, ints: Any, nums: Any, t: int, into: int, keep: bool) -> Any:
    """Return what moving a table adds to the cost and to the infeasibility; move it if `keep`."""
    if ints[at.home + t] == into:
        return 0.0, 0.0
    ints[at.log_table], ints[at.log_home] = t, into
    cost = change(at, ints, nums, 1)
    worse = nums[at.sums + INFEASIBILITY] - nums[at.log_sums + INFEASIBILITY]
    if not keep:
        undo(at, ints, nums)
    return cost, worse


@entry(
    f"void({PACKED}, int64[::1], int64[::1], boolean, float64[::1], float64[::1])",
    records=(Layout,),
)
def move_each(
    at: Any, ints: Any, nums: Any, tables: Any, into: Any, keep: bool, cost: Any, worse: Any
) -> None:
    """Write what moving each table adds to the cost and to the infeasibility; move it if `keep`."""
    for i in range(len(tables)):
        cost[i], worse[i] = move_table(at, ints, nums, tables[i], into[i], keep)


def state_of(data: Data, home: Any) -> State:
    """Return the state of a placement."""
    state = pack(data, home)
    recompute(*state.packed)
    return state
