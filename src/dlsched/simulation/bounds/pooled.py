"""Bounds from a pooled machine, which is one processor as fast as all GPUs together.

Any schedule of the cluster is a schedule of the pooled machine in which job j is done at a rate of
at most area / length of j, so that what is least on the machine is no more than in the cluster.
While servers are on loan the machine is faster. Its clock is the GPU time that it has had, in
weighted GPUs times microseconds, and all arithmetic is in whole numbers.

Its prices are those to begin with in the search for better ones. A job completes at least half of
its length after its mean busy time, the mean time at which it is done. On that machine the sum of
these is least if the job of smallest area comes first (Goemans et al., SIAM J. Discrete Math. 15,
2002), whatever the speed. The dual of this transportation problem is known: while a job is done,
the price falls by 1 / area per unit of time; it is continuous where a job completes; and where a
job is interrupted, it is such that the job continues on its own line afterwards. With these prices
the Lagrangian is already the bound by mean busy times, but for the width of the intervals.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from dlsched.simulation.bounds.demands import Capacity, Floats, Pool, weighted_sum


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
    total = weighted_sum(count, capacity.starts)
    # Jobs that the machine does not process.
    jobs = zip(d.release, d.length, d.area, strict=True)
    total += sum(release + length for release, length, area in jobs if not area)
    for moment, rate in zip(moments, capacity.rate, strict=True):
        if rate:
            total += Fraction(moment, rate)
    return total


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
    lines = _busy_lines(d)
    release = np.array(d.release, float)
    last_end = lines.end.max(initial=0.0)
    horizon = max(last_end, release.max(), float(max(d.length))) * AFTER + 1
    unit = max(1, int(2 * horizon) // longest)
    times = np.unique(np.concatenate(([0.0], release, lines.end)))
    if len(times) < most // 4:
        even = np.linspace(0, times[-1], most // 4)
        times = np.union1d(times, even)
    elif len(times) > most:
        times = np.quantile(times, np.linspace(0, 1, most))
    later = np.linspace(times[-1], horizon, EVEN)
    times = np.concatenate((times, later))
    starts = np.unique((times // unit).astype(np.int64))
    return unit, starts.tolist(), _means(lines, starts.astype(float) * unit)


def prices_between(d: Pool, edges: Floats) -> Floats:
    """Return the prices of a machine in intervals that begin at given times, in microseconds."""
    return _means(_busy_lines(d), edges)


def _means(lines: _Lines, edges: Floats) -> Floats:
    prices = np.zeros(len(edges))
    if len(lines.begin) and len(edges) > 1:
        prices[:-1] = np.maximum(np.diff(lines.integral(edges)) / np.diff(edges), 0.0)
    return prices


class _Lines(NamedTuple):
    """The prices while jobs are done: lines, from `first` at `begin` to `last` at `end`."""

    begin: Floats
    end: Floats
    first: Floats
    last: Floats

    def integral(self, times: Floats) -> Floats:
        """Return the integral of the lines from 0 to each time."""
        length = self.end - self.begin
        areas = (self.first + self.last) / 2 * length
        before = np.concatenate(([0.0], np.cumsum(areas)))
        position = np.searchsorted(self.begin, times, side="right") - 1
        line = np.maximum(position, 0)
        inside = np.clip(times - self.begin[line], 0.0, length[line])
        slope = (self.last[line] - self.first[line]) / length[line]
        until: Floats = before[line] + self.first[line] * inside + slope * inside * inside / 2
        until[position < 0] = 0.0
        return until


def _busy_lines(d: Pool) -> _Lines:
    """Return the prices while jobs are done, in the order of time."""
    capacity = d.capacity
    work = stretches(d, capacity, list(d.area), by_remaining=False)
    stretched = [(j, capacity.reached(s), capacity.reached(e)) for j, s, e in work if e > s]
    rows, area = np.array(stretched, float).reshape(-1, 3), np.array(d.area, float)
    jobs, begin, end = rows.T
    first = np.zeros(len(rows))
    last = np.zeros(len(rows))
    height: dict[int, float] = {}
    price = 0.0
    after = np.inf
    for i in range(len(rows) - 1, -1, -1):
        j = int(jobs[i])
        if end[i] < after * (1 - 1e-12) - 1e-6:
            price = 0.0  # the machine is idle in between
        known = height.setdefault(j, price + end[i] / area[j])
        price = max(0.0, known - begin[i] / area[j])
        first[i] = price
        last[i] = max(0.0, known - end[i] / area[j])
        after = begin[i]
    return _Lines(begin, end, first, last)
