"""Intervals of time for prices, and prices to begin with: those of the pooled machine.

On that machine the sum of mean busy times is least if the job of smallest area comes first. The
dual of this transportation problem is known: while a job is done, the price falls by 1 / area per
unit of time; it is continuous where a job completes; and where a job is interrupted, it is such
that the job continues on its own line afterwards. With these prices the Lagrangian is already the
bound by mean busy times, but for the width of the intervals.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dlsched.simulation.bounds.demands import Pool
from dlsched.simulation.bounds.pooled import stretches

Floats = NDArray[np.float64]
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
    left = list(d.area)
    capacity = d.capacity
    found = [(j, s, e) for j, s, e in stretches(d, capacity, left, by_remaining=False) if e > s]
    jobs = np.array([j for j, _, _ in found], np.int64)
    begin, end = (np.array([capacity.reached(x[i]) for x in found], float) for i in (1, 2))
    release = np.array(d.release, float)
    horizon = max(end.max(initial=0.0), release.max(), float(max(d.length))) * AFTER + 1
    unit = max(1, int(2 * horizon) // longest)
    times = np.unique(np.concatenate(([0.0], release, end)))
    if len(times) < most // 4:
        times = np.union1d(times, np.linspace(0, times[-1], most // 4))
    elif len(times) > most:
        times = np.quantile(times, np.linspace(0, 1, most))
    times = np.concatenate((times, np.linspace(times[-1], horizon, EVEN)))
    starts = np.unique((times // unit).astype(np.int64))
    first, last = _lines(jobs, begin, end, np.array(d.area, float))
    times = starts.astype(float) * unit
    prices = _averages(begin, end, first, last, times)
    return unit, starts.tolist(), prices


def _lines(
    jobs: NDArray[np.int64], begin: Floats, end: Floats, area: Floats
) -> tuple[Floats, Floats]:
    """Return the prices at the begin and at the end of the stretches in which jobs are done."""
    first, last = np.zeros(len(jobs)), np.zeros(len(jobs))
    line: dict[int, float] = {}
    price, after = 0.0, np.inf
    for i in range(len(jobs) - 1, -1, -1):
        j = int(jobs[i])
        if end[i] < after * (1 - 1e-12) - 1e-6:
            price = 0.0  # the machine is idle in between
        known = line.setdefault(j, price + end[i] / area[j])
        first[i] = price = max(0.0, known - begin[i] / area[j])
        last[i] = max(0.0, known - end[i] / area[j])
        after = begin[i]
    return first, last


def _averages(begin: Floats, end: Floats, first: Floats, last: Floats, starts: Floats) -> Floats:
    """Return the mean of the lines in each interval; 0 in the last one, which has no end."""
    result = np.zeros(len(starts))
    if not len(begin) or len(starts) < 2:
        return result
    whole = np.concatenate(([0.0], np.cumsum((first + last) / 2 * (end - begin))))
    at = np.searchsorted(begin, starts, side="right") - 1
    at, before = np.maximum(at, 0), at < 0
    inside = np.clip(starts - begin[at], 0.0, end[at] - begin[at])
    slope = (last[at] - first[at]) / (end[at] - begin[at])
    until = whole[at] + first[at] * inside + slope * inside * inside / 2
    until[before] = 0.0
    result[:-1] = np.maximum(np.diff(until) / np.diff(starts), 0.0)
    return result
