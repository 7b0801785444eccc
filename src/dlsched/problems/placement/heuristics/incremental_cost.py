"""The cost of a placement, updated from change to change; compiled.

A change is a list of tables with their new homes. It reaches the jobs that read these tables, and
of the GPUs only the regions and types of the jobs that run elsewhere afterwards. `undo` restores
what the last change overwrote: costs from copies, whole numbers (bytes and hours) by subtraction,
which is exact.
"""

from __future__ import annotations

from dlsched.problems.placement.structures.cost_terms import (
    cells_of,
    infeasibility,
    moved_bytes_change,
    storage_cost,
    sum_cells,
)
from dlsched.problems.placement.structures.flat_state import (
    AT_HOME,
    COST,
    CPU_EXCESS,
    INFEASIBILITY,
    MOVED,
    READERS,
    STORAGE_EXCESS,
    TABLES,
    Layout,
)
from dlsched.problems.placement.structures.job_regions import (
    add_hours,
    bytes_near,
    readers_of,
    region_of,
)
from dlsched.problems.placement.structures.state import PACKED
from dlsched.solvers.compilation import Floats, Ints, entry, loop

_ROUNDING = 1e-14
"""A change of the cost below this share of the terms that it is the sum of is rounding."""
_SUMS = 6


@loop
def move_readers(at: Layout, ints: Ints, nums: Floats) -> float:
    """Run the readers of the listed tables where these are now, and mark what that changes.

    Returns
    -------
    float
        Bytes that this adds to those read from other regions.
    """
    crossing = 0.0
    listed = 0
    tables = ints[at.counts + TABLES]
    for m in range(tables):
        t = ints[at.log_table + m]
        for i in readers_of(at, ints, t):
            j = ints[at.table_jobs + i]
            if tables > 1:
                if ints[at.seen + j]:
                    continue
                ints[at.seen + j] = 1
            was = ints[at.job_region + j]
            now = region_of(at, ints, j)
            if was == now == -1:
                continue
            before = nums[at.near + j]
            near = bytes_near(at, ints, nums, j, now)
            if was == now and before == near:
                continue
            ints[at.log_job + listed] = j
            ints[at.log_region + listed] = was
            nums[at.log_near + listed] = before
            listed += 1
            nums[at.near + j] = near
            crossing += before - near
            if was != now:
                ints[at.job_region + j] = now
                for r, sign in ((was, -1.0), (now, 1.0)):
                    if r >= 0:
                        ints[at.changed + r] = 1
                        at_home, excess = add_hours(at, ints, nums, j, r, sign)
                        nums[at.sums + AT_HOME] += at_home
                        nums[at.sums + CPU_EXCESS] += excess
    ints[at.counts + READERS] = listed
    if tables > 1:
        for m in range(tables):
            t = ints[at.log_table + m]
            for i in readers_of(at, ints, t):
                ints[at.seen + ints[at.table_jobs + i]] = 0
    return crossing


@loop
def change(at: Layout, ints: Ints, nums: Floats, tables: int) -> float:
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
    cost = 0.0
    terms = 0.0
    storage = 0.0
    storage_terms = 0.0
    for m in range(tables):
        t = ints[at.log_table + m]
        into = ints[at.log_home + m]
        out = ints[at.home + t]
        size = nums[at.size + t]
        nums[sums + MOVED] += moved_bytes_change(at, ints, nums, t, out, into)
        for r, added in ((out, -size), (into, size)):
            stored = nums[at.stored + r]
            capacity = nums[at.capacity + r]
            before = storage_cost(at, nums, r, stored)
            after = storage_cost(at, nums, r, stored + added)
            storage += after - before
            storage_terms += after + before
            over = max(0.0, stored + added - capacity) - max(0.0, stored - capacity)
            nums[sums + STORAGE_EXCESS] += over
            nums[at.stored + r] = stored + added
        ints[at.home + t] = into
        ints[at.log_home + m] = out
    crossing = move_readers(at, ints, nums)
    for r in range(at.regions):
        if ints[at.changed + r]:
            nums[at.log_gpu + r] = nums[at.gpu + r]
            for cell in cells_of(at, r):
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
def undo(at: Layout, ints: Ints, nums: Floats) -> None:
    """Take the last change back."""
    for i in range(_SUMS):
        nums[at.sums + i] = nums[at.log_sums + i]
    for m in range(ints[at.counts + TABLES]):
        t = ints[at.log_table + m]
        out = ints[at.log_home + m]
        nums[at.stored + ints[at.home + t]] -= nums[at.size + t]
        nums[at.stored + out] += nums[at.size + t]
        ints[at.home + t] = out
    for i in range(ints[at.counts + READERS]):
        j = ints[at.log_job + i]
        was = ints[at.log_region + i]
        now = ints[at.job_region + j]
        nums[at.near + j] = nums[at.log_near + i]
        if was != now:
            ints[at.job_region + j] = was
            add_hours(at, ints, nums, j, now, -1.0)
            add_hours(at, ints, nums, j, was, 1.0)
    for r in range(at.regions):
        if ints[at.changed + r]:
            nums[at.gpu + r] = nums[at.log_gpu + r]
            for cell in cells_of(at, r):
                nums[at.part + cell] = nums[at.log_part + cell]
                ints[at.marked + cell] = 0


@loop
def list_move(at: Layout, ints: Ints, m: int, t: int, into: int) -> None:
    """List a table with its new home as number `m` of the next change."""
    ints[at.log_table + m] = t
    ints[at.log_home + m] = into


@loop
def move_table(
    at: Layout, ints: Ints, nums: Floats, t: int, into: int, keep: bool
) -> tuple[float, float]:
    """Return what moving a table adds to the cost and to the infeasibility; move it if `keep`."""
    if ints[at.home + t] == into:
        return 0.0, 0.0
    list_move(at, ints, 0, t, into)
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
    at: Layout,
    ints: Ints,
    nums: Floats,
    tables: Ints,
    into: Ints,
    keep: bool,
    cost: Floats,
    worse: Floats,
) -> None:
    """Write what moving each table adds to the cost and to the infeasibility; move it if `keep`."""
    for i in range(len(tables)):
        cost[i], worse[i] = move_table(at, ints, nums, tables[i], into[i], keep)
