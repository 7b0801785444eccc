"""Where a job runs, what it reads there, and the hours that it adds to a region; compiled.

Every table has a home here.
"""

from __future__ import annotations

from typing import Any

from dlsched.solvers.compilation import loop


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
