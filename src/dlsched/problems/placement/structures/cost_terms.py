"""Parts of the cost and of the infeasibility, from sums that are kept by region; compiled.

``INFEASIBILITY`` is one number: bytes above capacity, CPU hours above quota, and GPU hours that are
missing at home, each as a share of the total; 0 means feasible. The move quota is not part of it:
the searches compare ``MOVED`` with it.
"""

from __future__ import annotations

import math
from typing import Any

from dlsched.problems.placement.structures.flat_state import AT_HOME, CPU_EXCESS, STORAGE_EXCESS
from dlsched.solvers.compilation import loop


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
