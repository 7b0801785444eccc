"""Parts of the cost and of the infeasibility, from sums that are kept by region; compiled.

``INFEASIBILITY`` is one number: bytes above capacity, CPU hours above quota, and GPU hours that are
missing at home, each as a share of the total; 0 means feasible. The move quota is not part of it:
the searches compare ``MOVED`` with it.
"""

from __future__ import annotations

import math

from dlsched.problems.placement.structures.flat_state import (
    AT_HOME,
    CPU_EXCESS,
    STORAGE_EXCESS,
    Layout,
)
from dlsched.solvers.compilation import Floats, Ints, loop


@loop
def cells_of(at: Layout, r: int) -> range:
    """Return the cells of a region, one for each GPU type."""
    return range(r * at.kinds, (r + 1) * at.kinds)


@loop
def cell_cost(at: Layout, nums: Floats, cell: int) -> float:
    """Return a region's and a GPU type's part of (2)."""
    load = 0.0
    squares = 0.0
    kind = cell % at.kinds
    for p in range(at.priorities):
        kind_and_priority = kind * at.priorities + p
        wanted = nums[at.wanted + kind_and_priority]
        if wanted > 0:
            hours = nums[at.demand + cell * at.priorities + p]
            load += hours * nums[at.load_unit + kind_and_priority]
            difference = hours / wanted - nums[at.supply_share + cell]
            squares += nums[at.priority_weight + p] * difference * difference
    over = load - nums[at.supply_load + cell]
    if over > 0.0 and at.slope != 0.0:
        return float(squares / (1.0 + math.exp(-at.slope * over)))
    return 0.5 * squares


@loop
def storage_cost(at: Layout, nums: Floats, r: int, stored: float) -> float:
    """Return a region's part of (3), weighted, if it stores a number of bytes."""
    if at.storage_weight == 0.0:
        return 0.0
    difference = stored / at.bytes_total - nums[at.capacity_share + r]
    return float(at.storage_weight * difference * difference)


@loop
def infeasibility(at: Layout, nums: Floats) -> float:
    """Return the sum of what violates (4), (5) and (6), each as a share of its total."""
    total = 0.0
    if at.threshold > 0:
        total = max(0.0, at.threshold - nums[at.sums + AT_HOME]) / at.threshold
    total += nums[at.sums + STORAGE_EXCESS] / max(1.0, at.bytes_total)
    total += nums[at.sums + CPU_EXCESS] / max(1.0, at.cpu_total)
    return float(total)


@loop
def sum_cells(at: Layout, ints: Ints, nums: Floats, r: int) -> float:
    """Compute the marked parts of a region again, unmark them, and return the weighted sum."""
    total = 0.0
    for cell in cells_of(at, r):
        if ints[at.marked + cell]:
            ints[at.marked + cell] = 0
            nums[at.part + cell] = cell_cost(at, nums, cell)
        total += nums[at.part + cell]
    nums[at.gpu + r] = at.gpu_weight * total
    return float(nums[at.gpu + r])


@loop
def moved_bytes_change(at: Layout, ints: Ints, nums: Floats, t: int, out: int, into: int) -> float:
    """Return by how much the bytes moved grow if a table goes from `out` to `into`."""
    today = ints[at.today + t]
    if today < 0 or out == into or today not in (out, into):
        return 0.0
    size = float(nums[at.size + t])
    return size if out == today else -size
