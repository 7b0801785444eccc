"""Intervals of time for prices, and prices to begin with: those of the pooled machine.

On that machine the sum of mean busy times is least if the job of smallest area comes first. The
dual of this transportation problem is known: while a job is done, the price falls by 1 / area per
unit of time; it is continuous where a job completes; and where a job is interrupted, it is such
that the job continues on its own line afterwards. With these prices the Lagrangian is already the
bound by mean busy times, but for the width of the intervals.
"""

from __future__ import annotations

from typing import NamedTuple

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
    capacity = d.capacity
    work = stretches(d, capacity, list(d.area), by_remaining=False)
    rows = [(j, capacity.reached(s), capacity.reached(e)) for j, s, e in work if e > s]
    lines = _lines(np.array(rows, float).reshape(-1, 3), np.array(d.area, float))
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
    prices = np.zeros(len(starts))
    if rows and len(starts) > 1:
        edges = starts.astype(float) * unit
        mean = np.diff(lines.integral(edges)) / np.diff(edges)
        prices[:-1] = np.maximum(mean, 0.0)
    return unit, starts.tolist(), prices


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


def _lines(rows: Floats, area: Floats) -> _Lines:
    """Return the prices while jobs are done.

    Parameters
    ----------
    rows
        Job, begin and end of the stretches in which jobs are done.
    """
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
