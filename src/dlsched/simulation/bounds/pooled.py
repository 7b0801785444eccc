"""Bounds from a pooled machine, which is one processor as fast as all GPUs together.

Any schedule of the cluster is a schedule of the pooled machine in which job j is done at a rate of
at most area / length of j, so that what is least on the machine is no more than in the cluster. All
arithmetic is in whole numbers: times in microseconds times the capacity of the machine.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from fractions import Fraction

from dlsched.simulation.bounds.demands import Pool


def total_of_submission_and_length(d: Pool) -> Fraction:
    """Return the sum of the jobs' submissions and lengths, in microseconds."""
    return Fraction(sum(d.release) + sum(d.length))


def total_by_remaining_time(d: Pool) -> Fraction:
    """Return the least sum of completion times on the pooled machine, in microseconds.

    Shortest remaining processing time first minimises it (Schrage, 1968).
    """
    left = list(d.area)
    total = 0
    for j, _, end in stretches(d, left, by_remaining=True):
        if not left[j]:
            total += end
    # A job of no area is never processed: it is complete when it is submitted.
    total += sum(d.capacity * r for r, a in zip(d.release, d.area, strict=True) if not a)
    return Fraction(total, d.capacity)


def total_by_busy_time(d: Pool) -> Fraction:
    """Return a lower bound on the sum of completion times by mean busy times, in microseconds.

    A job's mean busy time is the mean time at which it is done. It completes at least half of its
    length later, since it is done at a rate of at most area / length. The sum of mean busy times is
    least if the job of smallest area comes first (Goemans et al., SIAM J. Discrete Math. 15, 2002:
    the greatest ratio of weight to processing time). Each is rounded down to a whole number.
    """
    left = list(d.area)
    moments = [0] * len(left)
    for j, start, end in stretches(d, left, by_remaining=False):
        moments[j] += (end - start) * (end + start)
    total = sum(
        moment // (2 * area) if area else d.capacity * release
        for moment, area, release in zip(moments, d.area, d.release, strict=True)
    )
    return Fraction(total, d.capacity) + Fraction(sum(d.length), 2)


def stretches(d: Pool, left: list[int], *, by_remaining: bool) -> Iterator[tuple[int, int, int]]:
    """Yield stretches (job, start, end) of a machine that does the job of least key; update `left`.

    The key is what is left of a job, or its whole area; ties go by the order of submission.
    """
    queue: list[tuple[int, int]] = []
    now, arrived, n = 0, 0, len(left)
    while queue or arrived < n:
        if not queue:
            now = max(now, d.release[arrived] * d.capacity)
        while arrived < n and d.release[arrived] * d.capacity <= now:
            if left[arrived]:
                heapq.heappush(queue, (left[arrived], arrived))
            arrived += 1
        if not queue:
            continue
        key, j = heapq.heappop(queue)
        end = now + left[j]
        if arrived < n:
            end = min(end, d.release[arrived] * d.capacity)
        left[j] -= end - now
        yield j, now, end
        now = end
        if left[j]:
            heapq.heappush(queue, (left[j] if by_remaining else key, j))
