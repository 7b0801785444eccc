"""Prices of the GPUs of one capacity or two, and the choices that are best at them.

With L pending jobs to start, the Lagrangian relaxation for prices p of the GPUs is

    p * capacity + sum over running jobs of max (value - p * gpus)
                 + the L largest of max (value - p * gpus) over the pending jobs,

a convex function of p, whose least value bounds the time saved. It is sought by cutting a polygon
through its centre of gravity, each time along the GPUs that are left there: at least 36.8 % of the
area is cut off (Gruenbaum, 1960). With one capacity this is bisection.
"""

from __future__ import annotations

import itertools
from typing import TypeAlias

import numpy as np

from dlsched.problems.elastic.programs.smallest_launches import smallest_launches
from dlsched.problems.elastic.structures.choice_arrays import Choices
from dlsched.solvers.compilation import Floats, Ints

Chosen: TypeAlias = Ints
"""The number of each job's choice."""
Point: TypeAlias = tuple[float, float]

_CUTS = 60
"""Most cuts of the polygon."""
_NEVER = 1e9
"""Price of a job that waits where all are to start; savings are of the order of 1."""


class Relaxation:
    """The relaxation with a number of jobs to start, solved.

    Attributes
    ----------
    prices
        Time saved per GPU of training and on loan at which the bound is least.
    bound
        That bound; infinite if no job can start.
    best
        The allocation that saves most of those seen that fit; ``None`` if none did.
    """

    def __init__(self, choices: Choices, started: int) -> None:
        self.choices = choices
        self.started = started
        self.gpus: Floats = choices.gpus.astype(float)
        self.capacity: Floats = choices.capacity.astype(float)
        self.waiting = np.flatnonzero(choices.pending)
        # A pending job's first choice, to wait, is taken by those that are not started.
        self.value = choices.value.copy()
        self.value[choices.starts[self.waiting]] = -np.inf
        self.best: Chosen | None = None
        self.most = -np.inf
        self.bound = np.inf
        self.prices: Floats = np.zeros(2)
        self._solve()

    def _choose(self, prices: Floats) -> Floats:
        """Keep each job's choice at some prices if it is better; return the GPUs that are left."""
        c = self.choices
        net, best = self._net(prices)
        attains = np.flatnonzero(net == best[c.row])
        chosen = attains[np.searchsorted(attains, c.starts)]
        if self.started < len(self.waiting):
            order = np.argpartition(-best[self.waiting], self.started)
            idle = self.waiting[order[self.started :]]
            chosen[idle] = c.starts[idle]
        free: Floats = self.capacity - self.gpus[chosen].sum(axis=0)
        value = float(c.value[chosen].sum())
        if value > self.most and (free >= 0).all():
            self.best = chosen
            self.most = value
        bound = value + float(free @ prices)
        if bound < self.bound:
            self.bound = bound
            self.prices = prices
        return free

    def _net(self, prices: Floats) -> tuple[Floats, Floats]:
        """Return what choices are worth at some prices, and each job's best but to wait."""
        net = self.value - self.gpus @ prices
        return net, np.maximum.reduceat(net, self.choices.starts)

    def _solve(self) -> None:
        if (self._choose(self.prices) >= 0).all():
            return
        finite = self.value[np.isfinite(self.value)]
        top = 2 * float(finite.max() - min(0.0, float(finite.min())))
        polygon: list[Point] = [(0.0, 0.0), (top, 0.0), (top, top), (0.0, top)]
        for _ in range(_CUTS):
            prices = np.array(centre(polygon))
            free = self._choose(prices)
            polygon = cut(polygon, prices, free)
            if len(polygon) < 3 or not free.any():
                break

    def losses(self) -> Floats:
        """Return by how much the bound falls for allocations with each choice."""
        c = self.choices
        _, best = self._net(self.prices)
        can_start = best[self.waiting][np.isfinite(best[self.waiting])]
        ranked = np.sort(can_start)[::-1]
        start = -_NEVER
        if self.started < len(ranked):
            # Any price from the first that waits to the last that starts is as good.
            start = float(ranked[max(0, self.started - 1) : self.started + 1].mean())
        net = c.value - self.gpus @ self.prices - c.launch * start
        loss: Floats = np.maximum.reduceat(net, c.starts)[c.row] - net
        return loss


def centre(polygon: list[Point]) -> Point:
    """Return a polygon's centre of gravity."""
    x0, y0 = polygon[0]
    area = x = y = 0.0
    for (ax, ay), (bx, by) in itertools.pairwise(polygon[1:]):
        twice = (ax - x0) * (by - y0) - (bx - x0) * (ay - y0)
        area += twice
        x += twice * (ax + bx - 2 * x0)
        y += twice * (ay + by - 2 * y0)
    if area <= 0:
        count = len(polygon)
        return sum(p[0] for p in polygon) / count, sum(p[1] for p in polygon) / count
    return x0 + x / (3 * area), y0 + y / (3 * area)


def cut(polygon: list[Point], at: Floats, slope: Floats) -> list[Point]:
    """Return the part of a polygon on which a linear function is no larger than at a point."""
    x, y = at.tolist()
    a, b = slope.tolist()
    height = [a * (px - x) + b * (py - y) for px, py in polygon]
    kept: list[Point] = []
    for i, (px, py) in enumerate(polygon):
        inside = height[i] <= 0
        if inside != (height[i - 1] <= 0):
            qx, qy = polygon[i - 1]
            part = height[i - 1] / (height[i - 1] - height[i])
            kept.append((qx + part * (px - qx), qy + part * (py - qy)))
        if inside:
            kept.append((px, py))
    return kept


def launch(choices: Choices) -> tuple[Chosen, int]:
    """Return an allocation that starts many jobs, smallest first, and a bound of their number."""
    waits = choices.starts.tolist()
    ends = [*waits[1:], len(choices.row)]
    gpus = choices.gpus.tolist()
    demands = {
        j: gpus[first + 1 : end]
        for j, (first, end) in enumerate(zip(waits, ends, strict=True))
        if choices.pending[j] and end > first + 1
    }
    launches = smallest_launches(demands, tuple(choices.capacity.tolist()))
    chosen = choices.starts.copy()
    for j, position in launches.chosen.items():
        chosen[j] += 1 + position
    return chosen, launches.most
