"""A bound from prices: what a GPU costs at each time, and what each job then does at best.

For any prices >= 0, the sum over jobs of (completion time + cost of the GPU time used) less the
value of all GPU time that there is is at most the sum of completion times of any schedule
(Lagrangian relaxation of the capacity). GPU time on loan is there while it is lent. A job of area a
and length p uses at most a / p GPUs at a time, so it completes at C at the least cost by using the
cheapest p seconds between its submission and C. Prices are constant within intervals of time, and 0
after the last one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlsched.compilation import entry, loop
from dlsched.simulation.bounds.demands import Demands

SCALE = 2**30
"""The final prices are whole multiples of 1 / SCALE."""
INTERVALS = 96
ROUNDS = 400


class Prices(NamedTuple):
    """Starts of the intervals, in microseconds; the price in each, in units of 1 / `SCALE`."""

    starts: tuple[int, ...]
    values: tuple[int, ...]


def total_by_prices(d: Demands, upper: float, rounds: int = ROUNDS) -> tuple[Fraction, Prices]:
    """Return a lower bound on the sum of completion times in microseconds, and its prices.

    The prices are improved in floating point by subgradients; the value of the last ones is
    computed in whole numbers.

    Parameters
    ----------
    upper
        Sum of completion times that some schedule has, or an estimate; it sets the steps only.
    """
    prices = _search(d, upper, rounds)
    return evaluate(d, prices), prices


def evaluate(d: Demands, prices: Prices) -> Fraction:
    """Return the bound of given prices, exactly, in microseconds.

    A first pass in floating point finds which intervals may hold a job's best completion; only
    those are computed exactly. It leaves out an interval only if it is worse by more than a
    thousand times the rounding error.
    """
    starts, values = np.array(prices.starts, float), np.array(prices.values, float) / SCALE
    order = np.argsort(values, kind="stable")
    total = Fraction(0)
    ordered = [int(i) for i in order]
    for release, area, length in zip(d.release, d.area, d.length, strict=True):
        if not length or not area:
            total += release + length
            continue
        near = _options(starts, values, order, float(release), float(area), float(length))
        least = float(near.min())
        margin = 1e-9 * (least + float(starts[-1]))
        # Rounded down, so that the sum has a small denominator.
        total += math.floor(
            min(
                _exact(prices, ordered, release, area, length, int(k))
                for k in np.flatnonzero(near <= least + margin)
            )
        )
    value = sum(
        price * time for price, time in zip(prices.values, _supply(d, prices.starts), strict=True)
    )
    return total - Fraction(value, SCALE)


def _supply(d: Demands, starts: Sequence[int]) -> list[int]:
    """Return the cluster's GPU time in each interval; none in the last, where the price is 0."""
    until = [d.capacity.until(start) for start in starts]
    return [later - now for now, later in zip(until, (*until[1:], until[-1]), strict=True)]


def _exact(
    prices: Prices, order: list[int], release: int, area: int, length: int, last: int
) -> Fraction:
    """Return the least of completion time and cost of a job that completes in an interval."""
    starts = prices.starts
    begin = max(starts[last], release)
    room = (starts[last + 1] if last + 1 < len(starts) else begin + length) - begin
    # Waiting another second costs 1, and GPUs in this interval; cheaper ones before come first.
    limit = Fraction(length * SCALE, area) + prices.values[last]
    missing, cost = length, 0
    for i in order:
        if i >= last:
            continue
        start = max(starts[i], release)
        seconds = min(starts[i + 1] - start, missing)
        if prices.values[i] >= limit:
            seconds = min(seconds, missing - room)
        if seconds > 0:
            cost += prices.values[i] * seconds
            missing -= seconds
    if missing > room:
        return Fraction(10**30)
    cost += prices.values[last] * missing
    return begin + missing + Fraction(area * cost, length * SCALE)


@loop
def _at(
    starts: NDArray[np.float64],
    values: NDArray[np.float64],
    order: NDArray[np.int64],
    job: tuple[float, float, float],
    last: int,
    used: NDArray[np.float64],
) -> float:
    """Return the least of completion time and cost of a job that completes in an interval.

    Its GPU time by interval is added to `used`, unless that is empty. ``order`` are the intervals
    by price, ``job`` is submission, area and length.
    """
    release, area, length = job
    begin = max(starts[last], release)
    room = (starts[last + 1] if last + 1 < len(starts) else begin + length) - begin
    if room <= 0:
        return np.inf
    limit = length / area + values[last]
    missing, cost = length, 0.0
    for i in order:
        if i >= last:
            continue
        seconds = min(starts[i + 1] - max(starts[i], release), missing)
        if values[i] >= limit:
            seconds = min(seconds, missing - room)
        if seconds > 0:
            cost += values[i] * seconds
            missing -= seconds
            if len(used):
                used[i] += area * seconds / length
    if missing > room:
        return np.inf
    if len(used):
        used[last] += area * missing / length
    return float(begin + missing + area * (cost + values[last] * missing) / length)


@entry("float64[::1](float64[::1], float64[::1], int64[::1], float64, float64, float64)")
def _options(
    starts: NDArray[np.float64],
    values: NDArray[np.float64],
    order: NDArray[np.int64],
    release: float,
    area: float,
    length: float,
) -> NDArray[np.float64]:
    """Return the least of completion time and cost by the interval in which a job completes."""
    result = np.empty(len(starts))
    for last in range(len(starts)):
        result[last] = _at(starts, values, order, (release, area, length), last, np.zeros(0))
    return result


@entry(
    "float64(float64[::1], float64[::1], int64[::1], float64[::1], float64[::1], float64[::1], "
    "float64[::1])"
)
def _relaxation(
    starts: NDArray[np.float64],
    values: NDArray[np.float64],
    order: NDArray[np.int64],
    releases: NDArray[np.float64],
    areas: NDArray[np.float64],
    lengths: NDArray[np.float64],
    used: NDArray[np.float64],
) -> float:
    """Return the sum over jobs of completion time and cost; add their GPU time to `used`."""
    nothing = np.zeros(0)
    total = 0.0
    for j in range(len(releases)):
        job = (releases[j], areas[j], lengths[j])
        best, best_last = np.inf, 0
        for last in range(len(starts)):
            if starts[last] >= best:
                break
            worth = _at(starts, values, order, job, last, nothing)
            if worth < best:
                best, best_last = worth, last
        total += _at(starts, values, order, job, best_last, used)
    return total


def _search(d: Demands, upper: float, rounds: int) -> Prices:
    """Return good prices: projected subgradients, steps by the distance to `upper`."""
    kept = [j for j in range(len(d.area)) if d.area[j] and d.length[j]]
    if not kept:
        return Prices((0,), (0,))
    fixed = float(sum(d.release[j] + d.length[j] for j in range(len(d.area)) if not d.area[j]))
    releases = np.array([d.release[j] for j in kept], float)
    areas = np.array([d.area[j] for j in kept], float)
    lengths = np.array([d.length[j] for j in kept], float)
    capacity = d.capacity
    # What the GPUs are in the mean, over the time in which they can do one and a half times all.
    latest = int(releases.max())
    horizon = capacity.reached(capacity.until(latest) + 3 * sum(d.area) // 2 + 1)
    gpus = float(d.gpus)
    if d.steps:
        gpus = capacity.until(int(horizon) + 1) / (float(horizon) + 1)
    starts = _grid(releases, areas, gpus)
    supply = np.array(_supply(d, [int(start) for start in starts]), float)
    sizes = np.append(np.diff(starts), 0.0)
    values = _first_prices(starts, releases, areas, gpus)
    values[-1] = 0.0
    best, best_values = -np.inf, values.copy()
    theta, since = 1.0, 0
    direction = np.zeros_like(values)
    for _ in range(rounds):
        used = np.zeros(len(starts))
        order = np.argsort(values, kind="stable")
        worth = _relaxation(starts, values, order, releases, areas, lengths, used)
        bound = worth + fixed - float(values @ supply)
        since += 1
        if bound > best:
            best, best_values, since = bound, values.copy(), 0
        elif since >= 10:
            theta, since, values = theta * 0.6, 0, best_values.copy()
            direction[:] = 0
            continue
        scale = np.where(sizes > 0, sizes, 1.0)
        slope = (used - supply) / scale
        slope[-1] = 0.0
        direction = slope + 0.5 * direction
        norm = float((direction * direction * scale).sum())
        if norm <= 0:
            break
        step = theta * max(upper - bound, 1e-6 * abs(bound)) / norm
        values = np.maximum(values + step * direction, 0.0)
        values[-1] = 0.0
    whole = np.floor(best_values * SCALE).astype(object)
    return Prices(tuple(int(s) for s in starts), tuple(int(v) for v in whole))


def _grid(
    releases: NDArray[np.float64], areas: NDArray[np.float64], gpus: float
) -> NDArray[np.float64]:
    """Return starts of intervals up to the time when a pooled machine has done twice all areas."""
    horizon = float(releases.max() + 1.5 * areas.sum() / gpus) + 1.0
    finish = np.sort(releases) + np.cumsum(np.sort(areas)) / gpus
    quantiles = np.quantile(np.concatenate((finish, releases)), np.linspace(0, 1, INTERVALS // 2))
    even = np.linspace(0, horizon, INTERVALS // 2)
    grid = np.unique(np.floor(np.concatenate(([0.0], quantiles, even, [horizon]))))
    result: NDArray[np.float64] = np.ascontiguousarray(grid[grid <= horizon])
    return result


def _first_prices(
    starts: NDArray[np.float64],
    releases: NDArray[np.float64],
    areas: NDArray[np.float64],
    gpus: float,
) -> NDArray[np.float64]:
    """Return the prices of the pooled machine if all jobs were there: those of smallest first."""
    ordered = np.sort(areas)
    ends = releases.min() + np.cumsum(ordered) / gpus
    # The price falls by 1 / area per second while a job of this area is done.
    lengths = ordered / gpus
    after = np.append(np.cumsum((lengths / ordered)[::-1])[::-1], 0.0)
    result: NDArray[np.float64] = after[np.searchsorted(ends, starts)]
    return result
