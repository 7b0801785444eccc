"""Lower estimates of squares (tangents, chords) and of the sigmoid (steps), for the model."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from dlsched.problems.placement.programs.attainable_demands import Gaps, attainable
from dlsched.problems.placement.programs.coefficients import Shares
from dlsched.problems.placement.programs.rounding import sigmoid_below
from dlsched.problems.placement.programs.tunables import PRECISION, TUNABLES
from dlsched.problems.placement.structures.arrays import Data
from dlsched.proofs.forms.limit import poll

_SAME_LOAD = Fraction(1, 10**6)
"""A load that exceeds a multiple of what divides all loads by less, relatively, is the multiple."""
_NARROWEST = Fraction(2, 10**6)
"""Loads of a type closer than this share of its demand are equal within a solver's tolerances."""


@dataclass
class Estimate:
    """Points at which the model's estimate of the cost is exact."""

    gaps: dict[tuple[int, int, int], Gaps] = field(default_factory=dict)
    """By region, type and priority, where few demands are attainable: the gaps between them."""
    shares: dict[tuple[int, int, int], list[float]] = field(default_factory=dict)
    """By region, type and priority: values of a share of demand minus that of supply, at which its
    square has a tangent; with `gaps`, the middles of those over which it has a chord."""
    bytes: dict[int, list[float]] = field(default_factory=dict)
    """By region: likewise for bytes and storage capacity; none in v1."""
    steps: dict[tuple[int, int], list[float]] = field(default_factory=dict)
    """By region and type: loads, as shares of all demand of the type, from which the sigmoid has at
    least its value there; ascending, none at or below the supply."""
    narrowest: Fraction = _NARROWEST
    """The share of all demand of a type by which a step may begin too early."""

    @classmethod
    def coarse(cls, data: Data, shares: Shares) -> Estimate:
        """Return the first estimate: a few points everywhere."""
        estimate = cls()
        demands = attainable(shares)
        wanted = np.argwhere(data.wanted).tolist()
        regions, kinds = data.supply_share.shape
        for r in range(regions):
            poll()
            if data.storage_weight:
                estimate.bytes[r] = _spread(data.capacity_share[r])
            for k, p in wanted:
                supply = float(data.supply_share[r, k])
                estimate._add_share((r, k, p), supply, demands.get((k, p)))
            for k in range(kinds):
                estimate._add_first_steps(data, r, k)
        return estimate

    def _add_share(
        self, key: tuple[int, int, int], supply: float, demands: list[int] | None
    ) -> None:
        """Add the first points of a square, or the first gaps if the attainable demands are few."""
        points = _spread(supply)
        if demands is not None:
            gaps = self.gaps[key] = Gaps(demands, supply)
            around = {middle for point in points for middle in gaps.around(point)}
            every = len(demands) <= TUNABLES.most_gaps + 1
            points = gaps.middles.tolist() if every else sorted(around)
        self.shares[key] = points

    def _add_first_steps(self, data: Data, r: int, k: int) -> None:
        self.steps[r, k] = []
        if not data.slope:
            return
        for overload in TUNABLES.first_steps:
            load = float(data.supply_load[r, k]) + overload
            if load <= demand_of(data, k):
                self.add_step(data, r, k, load)

    def refine(self, data: Data, state: Any) -> bool:
        """Make the estimate exact at a placement; return whether this added a point."""
        share = state.demand / np.maximum(data.wanted, 1)
        load = data.load_unit * state.demand
        changed = self.add_tangents(
            {(r, k, p): float(share[r, k, p] - data.supply_share[r, k]) for r, k, p in self.shares},
            {
                r: float(state.stored[r] / data.bytes_total - data.capacity_share[r])
                for r in self.bytes
            },
        )
        if data.slope:
            for r, k in self.steps:
                changed |= self.add_step(data, r, k, float(load[r, k].sum()))
        return changed

    def add_tangents(
        self, shares: dict[tuple[int, int, int], float], stored: dict[int, float]
    ) -> bool:
        """Add tangents, or chords, at a fractional point; return whether any is new."""
        new = [_add(self.bytes[r], round(point, PRECISION.digits)) for r, point in stored.items()]
        for key, point in shares.items():
            gaps = self.gaps.get(key)
            points = gaps.around(point) if gaps else [round(point, PRECISION.digits)]
            new += [_add(self.shares[key], point) for point in points]
        return any(new)

    def add_step(self, data: Data, r: int, k: int, load: float) -> bool:
        """Add a step at a load (in mean supplies) above the supply; return whether it is new."""
        steps = self.steps[r, k]
        demand = demand_of(data, k)
        if (
            data.slope * demand <= PRECISION.overload
            or load <= data.supply_load[r, k] + _NARROWEST * demand
        ):
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


def step_of(
    shares: Shares, r: int, k: int, load: float, narrowest: Fraction = _NARROWEST
) -> tuple[Fraction, Fraction]:
    """Return a load below a step with no attainable load between, and the sigmoid's value above it.

    Loads are shares of all demand of the type. The value is the least above the returned load,
    rounded down, so that a step never adds more than the sigmoid does.
    """
    exact = Fraction(load)
    unit = shares.granularity[k]
    last = at = exact - narrowest
    if unit > 4 * narrowest:
        count = math.ceil(exact / unit - _SAME_LOAD)
        last = (count - Fraction(1, 2)) * unit
        at = count * unit
    return last, sigmoid_below(shares.overload(r, k, at))


def _spread(share: float) -> list[float]:
    """Return points over the range of a number from 0 to 1 less a share."""
    ends = [(share if s < 0 else 1 - share) * s for s in TUNABLES.first_tangents]
    return sorted({round(float(end), PRECISION.digits) for end in ends})


def _add(points: list[float], point: float) -> bool:
    if point in points:
        return False
    points.append(point)
    return True
