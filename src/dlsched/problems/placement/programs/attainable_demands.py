"""The demands for GPU hours that regions can have, and the gaps between them, in whole numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dlsched.problems.placement.programs.coefficients import Shares
from dlsched.problems.placement.programs.tunables import PRECISION, TUNABLES
from dlsched.proofs.forms.limit import poll
from dlsched.schema import granularity
from dlsched.solvers.arrays import Floats


@dataclass(frozen=True)
class Gaps:
    """Gaps between the demands of one type and priority that a region can have.

    A square is convex, so no attainable demand is below its chord over such a gap, which between
    the ends is above every tangent. Demands are shares of all demand, less the region's share of
    supply, as in `Estimate`; a gap is given by its middle.
    """

    demands: Sequence[int]
    """Ascending, from 0 to all demand, in units."""
    supply: float
    """The region's share of the supply."""

    @property
    def middles(self) -> Floats:
        """All gaps."""
        demands = np.array(self.demands)
        middles: Floats = (demands[1:] + demands[:-1]) / (2 * demands[-1]) - self.supply
        return middles

    def around(self, point: float) -> list[float]:
        """Return the gap that holds a point; two where the point is a demand between them."""
        shares = np.array(self.demands) / self.demands[-1] - self.supply
        ends = (
            np.searchsorted(shares, [point - PRECISION.same_demand, point + PRECISION.same_demand])
            - 1
        )
        first, last = np.clip(ends, 0, len(shares) - 2)
        middles: list[float] = self.middles[first : last + 1].tolist()
        return middles

    def ends(self, middle: float, supply: Fraction) -> tuple[Fraction, Fraction]:
        """Return a gap's ends exactly, given the exact share of supply."""
        gap = int(np.argmin(np.abs(self.middles - middle)))
        low = Fraction(self.demands[gap], self.demands[-1])
        high = Fraction(self.demands[gap + 1], self.demands[-1])
        return low - supply, high - supply


def attainable(shares: Shares) -> dict[tuple[int, int], list[int]]:
    """Return, by type and priority, the demands that regions can have; none where too many."""
    demands: dict[tuple[int, int], list[int]] = {}
    for key, row in shares.demand.items():
        poll()
        unit = granularity(row.values())
        if 1 / unit >= PRECISION.most_units:
            continue
        sums = {0}
        for part in row.values():
            sums |= {int(part / unit) + before for before in sums}
            if len(sums) > TUNABLES.most_sums:
                break
        else:
            demands[key] = sorted(sums)
    return demands
