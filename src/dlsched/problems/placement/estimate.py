"""What the model puts in place of squares and sigmoids: tangents and steps from below."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from dlsched.problems.placement.arrays import Data

_SPREAD = (-1, -0.5, -0.2, 0, 0.1, 0.25, 0.5, 1)
"""Where the first tangents touch, as parts of the way to either end."""
_OVERLOADS = (0.05, 0.15, 0.3, 0.6)
"""Where the first steps are, in mean supplies above the supply."""
_DIGITS = 7
"""Of the points of tangents."""
_NARROWEST = 2e-6
"""Loads of a type that differ by a smaller share of its demand are one to a solver."""
_DOUBT = 1e-12
"""Relative error, at most, of a sigmoid and of a load in doubles."""


@dataclass
class Estimate:
    """Points at which the model's estimate of the cost is exact.

    Attributes
    ----------
    shares
        By region, type and priority: values of a share of demand minus that of supply, at which
        its square has a tangent.
    bytes
        By region: likewise for bytes and storage capacity; none in v1.
    steps
        By region and type: loads, as shares of all demand of the type, from which the sigmoid has
        at least its value there; ascending, none at or below the supply.
    """

    shares: dict[tuple[int, int, int], list[float]] = field(default_factory=dict)
    bytes: dict[int, list[float]] = field(default_factory=dict)
    steps: dict[tuple[int, int], list[float]] = field(default_factory=dict)

    @classmethod
    def coarse(cls, data: Data) -> Estimate:
        """Return the first estimate: a few points everywhere."""
        made = cls()
        kinds, priorities = data.wanted.shape
        for r in range(len(data.capacity)):
            if data.storage_weight:
                made.bytes[r] = _spread(-data.capacity_share[r], 1 - data.capacity_share[r])
            for k in range(kinds):
                share = data.supply_share[r, k]
                for p in range(priorities):
                    if data.wanted[k, p]:
                        made.shares[r, k, p] = _spread(-share, 1 - share)
                made.steps[r, k] = []
                if data.slope:
                    for over in _OVERLOADS:
                        load = float(data.supply_load[r, k]) + over
                        if load <= demand_of(data, k):
                            made.add_step(data, r, k, load)
        return made

    def refine(self, data: Data, state: Any) -> bool:
        """Make the estimate exact at a placement; return whether it was not before."""
        changed = False
        for (r, k, p), points in self.shares.items():
            off = state.demand[r, k, p] / data.wanted[k, p] - data.supply_share[r, k]
            changed |= _add(points, float(off))
        for r, points in self.bytes.items():
            off = state.stored[r] / data.bytes_total - data.capacity_share[r]
            changed |= _add(points, float(off))
        if data.slope:
            for r, k in self.steps:
                load = float((state.demand[r, k] * data.load_unit[k]).sum())
                changed |= self.add_step(data, r, k, load)
        return changed

    def refine_at(self, offs: dict[tuple[int, int, int], float], stored: dict[int, float]) -> bool:
        """Add tangents at a fractional point."""
        changed = False
        for key, off in offs.items():
            changed |= _add(self.shares[key], off)
        for r, off in stored.items():
            changed |= _add(self.bytes[r], off)
        return changed

    def add_step(self, data: Data, r: int, k: int, load: float) -> bool:
        """Add a step at a load in mean supplies, above the supply; return whether it is new."""
        steps, demand = self.steps[r, k], demand_of(data, k)
        if data.slope * demand <= _DOUBT or load <= data.supply_load[r, k] + _NARROWEST * demand:
            return False  # the sigmoid is 1/2 there
        share = load / demand
        if any(abs(share - step) <= _NARROWEST for step in steps):
            return False
        steps.append(share)
        steps.sort()
        return True


def demand_of(data: Data, k: int) -> float:
    """Return all demand of a type, in mean supplies."""
    return float((data.wanted[k] * data.load_unit[k]).sum())


def step_of(data: Data, r: int, k: int, load: float) -> tuple[float, float]:
    """Return a load below a step's with none between, and the sigmoid's least value from there on.

    Loads are shares of all demand of the type. The value is rounded down, so that a step never
    counts more than the sigmoid.
    """
    grid = float(data.load_grid[k])
    last = at = load - _NARROWEST
    if grid > 4 * _NARROWEST:
        count = math.ceil(load / grid - 1e-6)
        last, at = (count - 0.5) * grid, min(load, count * grid)
    over = max(0.0, at * demand_of(data, k) * (1 - _DOUBT) - data.supply_load[r, k])
    return last, (1 - _DOUBT) / (1 + math.exp(-data.slope * over))


def _spread(low: float, high: float) -> list[float]:
    return sorted({round(-low * s if s < 0 else high * s, _DIGITS) for s in _SPREAD})


def _add(points: list[float], at: float) -> bool:
    # A tangent nearby is as good: the square's error is that of the point, squared.
    at = round(at, _DIGITS)
    if at in points:
        return False
    points.append(at)
    return True
