"""Bounds from a pooled machine, which is one processor as fast as all GPUs together.

Any schedule of the cluster is a schedule of the pooled machine in which job j is done at a rate of
at most area / length of j, so that what is least on the machine is no more than in the cluster.
While servers are on loan the machine is faster. Its clock is the GPU time that it has had, in
weighted GPUs times microseconds, and all arithmetic is in whole numbers.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from fractions import Fraction

from dlsched.simulation.bounds.capacity import Capacity, weighted_sum
from dlsched.simulation.bounds.demands import Pool


def total_of_submission_and_length(d: Pool) -> Fraction:
    """Return the sum of the jobs' submissions and lengths, in microseconds."""
    return Fraction(sum(d.release) + sum(d.length))


def total_by_remaining_time(d: Pool) -> Fraction:
    """Return the least sum of completion times on the pooled machine, in microseconds.

    Shortest remaining processing time first minimises it (Schrage, 1968), however the machine's
    speed changes: at every moment as few jobs are left as possible.
    """
    capacity = d.capacity
    remaining = list(d.area)
    steps = len(capacity.done)
    count = [0] * steps
    moments = [0] * steps
    for j, _, end in stretches(d, capacity, remaining, by_remaining=True):
        if not remaining[j]:
            k = capacity.step(end)
            count[k] += 1
            moments[k] += end - capacity.done[k]
    # A job of no area is never processed: it is complete when it is submitted.
    total = Fraction(sum(r for r, a in zip(d.release, d.area, strict=True) if not a))
    total += weighted_sum(count, capacity.starts)
    for moment, rate in zip(moments, capacity.rate, strict=True):
        if rate:
            total += Fraction(moment, rate)
    return total


def total_by_busy_time(d: Pool) -> Fraction:
    """Return a lower bound on the sum of completion times by mean busy times, in microseconds.

    A job's mean busy time is the mean time at which it is done. It completes at least half of its
    length later, since it is done at a rate of at most area / length. The sum of mean busy times is
    least if the job of smallest area comes first (Goemans et al., SIAM J. Discrete Math. 15, 2002:
    the greatest ratio of weight to processing time), whatever the speed. Each is rounded down to a
    whole number.
    """
    capacity = d.capacity
    remaining = list(d.area)
    moments = [0] * len(remaining)
    for j, begin, end in stretches(d, capacity, remaining, by_remaining=False):
        for k, first, last in capacity.pieces(begin, end):
            moments[j] += capacity.starts[k] * (last - first)
            if capacity.rate[k]:
                moments[j] += (last - first) * (last + first) // (2 * capacity.rate[k])
    total = sum(
        moment // area if area else release
        for moment, area, release in zip(moments, d.area, d.release, strict=True)
    )
    return total + Fraction(sum(d.length), 2)


def stretches(
    d: Pool, capacity: Capacity[int], left: list[int], *, by_remaining: bool
) -> Iterator[tuple[int, int, int]]:
    """Yield stretches (job, start, end) of a machine that does the job of least key; update `left`.

    The key is what is left of a job, or its whole area; ties go by the order of submission. Start
    and end are the machine's GPU time.
    """
    queue: list[tuple[int, int]] = []
    release = [capacity.until(time) for time in d.release]
    n = len(left)
    now = 0
    arrived = 0
    while queue or arrived < n:
        if not queue:
            now = max(now, release[arrived])
        while arrived < n and release[arrived] <= now:
            if left[arrived]:
                heapq.heappush(queue, (left[arrived], arrived))
            arrived += 1
        if not queue:
            continue
        key, j = heapq.heappop(queue)
        end = now + left[j]
        if arrived < n:
            end = min(end, release[arrived])
        left[j] -= end - now
        yield j, now, end
        now = end
        if left[j]:
            heapq.heappush(queue, (left[j] if by_remaining else key, j))
