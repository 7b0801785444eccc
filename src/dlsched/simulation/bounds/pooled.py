"""Bounds from a pooled machine, which is one processor as fast as all GPUs together.

Any schedule of the cluster is a schedule of the pooled machine in which job j is done at a rate of
at most area / length of j, so that what is least on the machine is no more than in the cluster.
While servers are on loan the machine is faster. Its clock is the GPU time that it has had, in
weighted GPUs times microseconds, and all arithmetic is in whole numbers.

Its prices are those to begin with in the search for better ones. With a moment more of the machine,
each job that completes before its next pause would complete earlier. So a price falls by 1 / area
per unit of time that the machine spends on a job, here between its completion and the one before.
"""

import heapq
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from dlsched.simulation.bounds.demands import Capacity, Floats, Pool


def total_of_submission_and_length(d: Pool) -> Fraction:
    """Return the sum of the jobs' submissions and lengths, in microseconds."""
    return Fraction(sum(d.release) + sum(d.length))


def total_by_remaining_time(d: Pool) -> Fraction:
    """Return the least sum of completion times on the pooled machine, in microseconds.

    Shortest remaining processing time first minimises it (Schrage, 1968), however the machine's
    speed changes: at every moment as few jobs are left as possible.
    """
    capacity, left = d.capacity, list(d.area)
    work = stretches(d, capacity, left)
    total = sum((capacity.reached(end) for j, _, end in work if not left[j]), Fraction(0))
    # Jobs that the machine does not process.
    jobs = zip(d.release, d.length, d.area, strict=True)
    return total + sum(release + length for release, length, area in jobs if not area)


def stretches(d: Pool, capacity: Capacity[int], left: list[int]) -> Iterator[tuple[int, int, int]]:
    """Yield stretches (job, start, end) of a machine that does what is least; update `left`.

    Ties go by the order of submission. Start and end are the machine's GPU time.
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
        _, j = heapq.heappop(queue)
        end = now + left[j]
        if arrived < n:
            end = min(end, release[arrived])
        left[j] -= end - now
        yield j, now, end
        now = end
        if left[j]:
            heapq.heappush(queue, (left[j], j))


EVEN = 24
"""Intervals after the last completion on the pooled machine."""
AFTER = 1.02
"""The last interval begins at this multiple of the last completion."""


def intervals_and_prices(d: Pool, most: int, longest: int) -> tuple[int, list[int], Floats]:
    """Return a unit of time, the starts of intervals in it, and a price in each.

    Intervals start where a job is submitted or completes on the pooled machine; at quantiles of
    these times if they are many, and in between, evenly, if they are few.

    Parameters
    ----------
    most
        Number of intervals at most, about.
    longest
        Units that the longest time may have.

    Returns
    -------
    unit, starts, prices
        Microseconds per unit; prices in time of completion per area, 0 in the last interval.
    """
    busy, _ = _prices(d)
    times = np.unique(np.array([0, *d.release, *busy], float))
    horizon = max(times[-1], float(max(d.length))) * AFTER + 1
    unit = max(1, int(2 * horizon) // longest)
    if len(times) < most // 4:
        even = np.linspace(0, times[-1], most // 4)
        times = np.union1d(times, even)
    elif len(times) > most:
        times = np.quantile(times, np.linspace(0, 1, most))
    later = np.linspace(times[-1], horizon, EVEN)
    times = np.concatenate((times, later))
    starts = np.unique((times // unit).astype(np.int64))
    return unit, starts.tolist(), prices_between(d, starts.astype(float) * unit)


def prices_between(d: Pool, edges: Floats) -> Floats:
    """Return a machine's prices amid intervals that begin at given times, in microseconds."""
    prices = np.zeros(len(edges))
    times, values = _prices(d)
    if times:
        prices[:-1] = np.interp((edges[:-1] + edges[1:]) / 2, times, values, right=0)
    return prices


def _prices(d: Pool) -> tuple[list[float], list[float]]:
    """Return when the machine begins after a pause or a job completes, and the prices then."""
    capacity, left, now = d.capacity, list(d.area), -1
    spent = [0.0] * len(left)
    # Times, and the job that completes; None where the machine begins.
    moments: list[tuple[float, int | None]] = []
    for j, start, end in stretches(d, capacity, left):
        begin, until = float(capacity.reached(start)), float(capacity.reached(end))
        if start > now:
            moments.append((begin, None))
        spent[j] += until - begin
        if not left[j]:
            moments.append((until, j))
        now = end
    times, values, price = [], [], 0.0
    for time, job in reversed(moments):
        times.append(time)
        values.append(price)
        if job is None:
            price = 0.0
            times.append(time)
            values.append(price)
        else:
            price += spent[job] / d.area[job]
    return times[::-1], values[::-1]
