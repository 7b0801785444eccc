"""Where a job runs, what it reads there, and the hours that it adds to a region; compiled.

Every table has a home here.
"""

from __future__ import annotations

from dlsched.problems.placement.structures.flat_state import Layout
from dlsched.solvers.compilation import Floats, Ints, loop


@loop
def reads_of(at: Layout, ints: Ints, j: int) -> range:
    """Return where the tables of a job are in ``job_tables``."""
    return range(ints[at.job_start + j], ints[at.job_start + j + 1])


@loop
def readers_of(at: Layout, ints: Ints, t: int) -> range:
    """Return where the jobs that read a table are in ``table_jobs``."""
    return range(ints[at.table_start + t], ints[at.table_start + t + 1])


@loop
def home_of_read(at: Layout, ints: Ints, i: int) -> int:
    """Return the home of the table at a position in ``job_tables``."""
    return int(ints[at.home + ints[at.job_tables + i]])


@loop
def region_of(at: Layout, ints: Ints, j: int) -> int:
    """Return the region where a job runs with the tables at their homes; -1 for none."""
    best = home_of_read(at, ints, ints[at.job_start + j])
    together = True
    for i in reads_of(at, ints, j):
        if home_of_read(at, ints, i) != best:
            together = False
            break
    if together:
        return best
    if ints[at.ml + j]:
        return -1
    for i in reads_of(at, ints, j):
        ints[at.votes + home_of_read(at, ints, i)] += 1
    for i in reads_of(at, ints, j):
        r = home_of_read(at, ints, i)
        more = ints[at.votes + r] - ints[at.votes + best]
        if more > 0 or (more == 0 and r < best):
            best = r
    for i in reads_of(at, ints, j):
        ints[at.votes + home_of_read(at, ints, i)] = 0
    return best


@loop
def bytes_near(at: Layout, ints: Ints, nums: Floats, j: int, r: int) -> float:
    """Return the bytes that a job reads in its region if that is `r`."""
    total = 0.0
    if r >= 0:
        for i in reads_of(at, ints, j):
            if home_of_read(at, ints, i) == r:
                total += nums[at.size + ints[at.job_tables + i]]
    return total


@loop
def add_hours(
    at: Layout, ints: Ints, nums: Floats, j: int, r: int, sign: float
) -> tuple[float, float]:
    """Add a job's hours to a region (`sign` 1) or subtract them (-1).

    Returns
    -------
    tuple
        What this adds to the GPU hours at home, and to the CPU hours above the quota.
    """
    if r < 0:
        return 0.0, 0.0
    at_home = 0.0
    excess = 0.0
    for i in range(ints[at.hours_start + j], ints[at.hours_start + j + 1]):
        cell = r * at.kinds + ints[at.hours_kind + i]
        nums[at.demand + cell * at.priorities + ints[at.priority + j]] += sign * nums[at.hours + i]
        ints[at.marked + cell] = 1
        if nums[at.supply_share + cell] > 0:
            at_home += sign * nums[at.urgent + i]
    if ints[at.app + j] >= 0:
        limited = r * at.apps + ints[at.app + j]
        before = max(0.0, nums[at.cpu + limited] - nums[at.cpu_quota + limited])
        nums[at.cpu + limited] += sign * nums[at.cpu_hours + j]
        excess = max(0.0, nums[at.cpu + limited] - nums[at.cpu_quota + limited]) - before
    return at_home, excess
