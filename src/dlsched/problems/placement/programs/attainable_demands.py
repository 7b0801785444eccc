"""The demands for GPU hours that regions can have, and the gaps between them, in whole numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dlsched.problems.placement.programs.coefficients import Shares
from dlsched.schema import granularity

_MOST_SUMS = 1_000
"""With more demands the gaps between them are too small to matter."""
_LARGEST = 2**50
"""Of demands in units: with more, gaps are too small to matter as well."""
_SAME = 1e-6
"""Shares of demand closer than this are equal within a solver's tolerances."""


@dataclass(frozen=True)
class Gaps:
    """Gaps between the demands of one type and priority that a region can have.

    A square is convex, so no attainable demand is below its chord over such a gap, which between
    the ends is above every tangent. Demands are shares of all demand, less the region's share of
    supply, as in `Estimate`; a gap is given by its middle.

    Attributes
    ----------
    demands
        Ascending, from 0 to all demand, in units.
    supply
        The region's share of the supply.
    """

    demands: Sequence[int]
    supply: float

    @property
    def middles(self) -> Any:
        """All gaps."""
        demands = np.array(self.demands)
        return (demands[1:] + demands[:-1]) / (2 * demands[-1]) - self.supply

    def around(self, point: float) -> list[float]:
        """Return the gap that holds a point; two where the point is a demand between them."""
        share = np.array(self.demands) / self.demands[-1] - self.supply
        first = int(np.searchsorted(share, point - _SAME)) - 1
        last = int(np.searchsorted(share, point + _SAME)) - 1
        low, high = np.clip([first, last], 0, len(share) - 2).tolist()
        return [float(m) for m in self.middles[low : high + 1]]

    def ends(self, middle: float, supply: Fraction) -> tuple[Fraction, Fraction]:
        """Return a gap's ends exactly, given the exact share of supply."""
        i = int(np.argmin(np.abs(self.middles - middle)))
        low, high = self.demands[i : i + 2]
        total = self.demands[-1]
        return Fraction(low, total) - supply, Fraction(high, total) - supply


def attainable(shares: Shares) -> dict[tuple[int, int], list[int]]:
    """Return, by type and priority, the demands that regions can have; none where too many."""
    demands: dict[tuple[int, int], list[int]] = {}
    for key, row in shares.demand.items():
        unit = granularity(row.values())
        if 1 / unit >= _LARGEST:
            continue
        sums = {0}
        for part in row.values():
            sums |= {int(part / unit) + before for before in sums}
            if len(sums) > _MOST_SUMS:
                break
        else:
            demands[key] = sorted(sums)
    return demands
