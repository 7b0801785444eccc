"""The demands for GPU hours that regions can have, and the gaps between them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.placement.arrays import Data

_MOST_SUMS = 1_000
"""With more demands the gaps between them are too small to matter."""
_EXACT = 2**40
"""Fewer units than this are exact: `arrays` rounds only if there would be far more."""
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

    demands: NDArray[np.int64]
    supply: float

    @property
    def middles(self) -> Any:
        """All gaps."""
        return (self.demands[1:] + self.demands[:-1]) / (2 * self.demands[-1]) - self.supply

    def around(self, at: float) -> list[float]:
        """Return the gap that holds a point; two where the point is a demand between them."""
        share = self.demands / self.demands[-1] - self.supply
        first = int(np.searchsorted(share, at - _SAME)) - 1
        last = int(np.searchsorted(share, at + _SAME)) - 1
        low, high = np.clip([first, last], 0, len(share) - 2).tolist()
        return [float(m) for m in self.middles[low : high + 1]]

    def ends(self, middle: float, supply: Fraction) -> tuple[Fraction, Fraction]:
        """Return a gap's ends exactly, given the exact share of supply."""
        i = int(np.argmin(np.abs(self.middles - middle)))
        low, high = self.demands[i : i + 2].tolist()
        total = int(self.demands[-1])
        return Fraction(low, total) - supply, Fraction(high, total) - supply


def attainable(data: Data) -> dict[tuple[int, int], NDArray[np.int64]]:
    """Return, by type and priority, the demands that regions can have; none where too many."""
    found: dict[tuple[int, int], NDArray[np.int64]] = {}
    for key, parts in _hours(data).items():
        sums = {0}
        for part in parts:
            sums |= {part + before for before in sums}
            if len(sums) > _MOST_SUMS:
                break
        else:
            found[key] = np.array(sorted(sums), dtype=np.int64)
    return found


def _hours(data: Data) -> dict[tuple[int, int], list[int]]:
    """Return, by type and priority, the hours of the jobs that always run in one region."""
    groups: dict[tuple[int, int], dict[tuple[int, ...], int]] = {}
    jobs = np.repeat(np.arange(len(data.ml)), np.diff(data.hours_start)).tolist()
    for j, k, hours in zip(jobs, data.hours_kind.tolist(), data.hours.tolist(), strict=True):
        p = int(data.priority[j])
        if 0 < data.wanted[k, p] < _EXACT:
            tables = sorted(data.job_tables[data.job_start[j] : data.job_start[j + 1]].tolist())
            group = (int(data.ml[j] or len(tables) == 1), *tables)
            own = groups.setdefault((k, p), {})
            own[group] = own.get(group, 0) + int(hours)
    return {key: list(own.values()) for key, own in groups.items()}
