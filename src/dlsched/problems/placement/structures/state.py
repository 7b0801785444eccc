"""All sums of a placement, computed from the homes of its tables; compiled."""

from __future__ import annotations

from typing import Any

from dlsched.problems.placement.structures.arrays import Data
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
    STORAGE_EXCESS,
    Layout,
    State,
    pack,
)
from dlsched.problems.placement.structures.job_regions import add_hours, bytes_near, region_of
from dlsched.solvers.compilation import Floats, Ints, entry

PACKED = "Layout, int64[::1], float64[::1]"
"""Types of `State.packed`."""


@entry(f"void({PACKED})", records=(Layout,))
def recompute(at: Layout, ints: Ints, nums: Floats) -> None:
    """Compute regions of jobs, demand and sums from the homes."""
    ints[at.job_region : at.best] = 0
    nums[at.near :] = 0.0
    sums = at.sums
    for t in range(at.tables):
        nums[at.stored + ints[at.home + t]] += nums[at.size + t]
        today = ints[at.today + t]
        nums[sums + MOVED] += moved_bytes_change(at, ints, nums, t, today, ints[at.home + t])
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
        for cell in cells_of(at, r):
            ints[at.marked + cell] = 1
        stored = nums[at.stored + r]
        cost += sum_cells(at, ints, nums, r) + storage_cost(at, nums, r, stored)
        nums[sums + STORAGE_EXCESS] += max(0.0, stored - nums[at.capacity + r])
    nums[sums + COST] = cost
    nums[sums + INFEASIBILITY] = infeasibility(at, nums)


def state_of(data: Data, home: Any) -> State:
    """Return the state of a placement."""
    state = pack(data, home)
    recompute(*state.packed)
    return state
