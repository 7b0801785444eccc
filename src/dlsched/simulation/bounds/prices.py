"""A bound from prices: what a resource costs at each time, and what each job then does at best.

For any prices >= 0, the sum over jobs of (completion time + cost of the resources used) less the
value of all resources is at most the sum of completion times of any schedule (Lagrangian relaxation
of the capacities). A job does at most 1 / length of itself at a time, in the mode that costs least,
so it completes at C at the least cost by using the cheapest time of its length between its
submission and C. Prices are constant within intervals of time, and 0 in the last one.

All arithmetic is in whole numbers of 64 bits; prices for which it could overflow are refused.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlsched.errors import OptionError
from dlsched.simulation.bounds.capacity import Capacity
from dlsched.simulation.bounds.demands import Demands, Kind, Resource
from dlsched.simulation.kernels.relaxation import relax

FINE = 20
"""Uses of resources are rounded down to multiples of 2**-FINE per length."""
LONGEST = 2**34
"""Most units of time that the longest time may have; the unit is chosen by it."""
LARGEST = 2**61
"""No sum may be larger."""


class Prices(NamedTuple):
    """Prices of the resources.

    Attributes
    ----------
    unit
        Microseconds per unit of time.
    bits
        Prices are in units of 2**-bits: microseconds of completion time per resource and time.
    starts
        Of the intervals, in units of time, ascending from 0.
    values
        By resource and interval.
    """

    unit: int
    bits: int
    starts: tuple[int, ...]
    values: tuple[tuple[int, ...], ...]


class Inner(NamedTuple):
    """What the jobs do at prices.

    Attributes
    ----------
    worth
        Of each job, time since submission plus cost, in units of time over 2**bits.
    used, modes
        By kind and interval, units of time used, and the mode that costs least.
    steps
        Intervals looked at.
    """

    worth: NDArray[np.int64]
    used: NDArray[np.int64]
    modes: NDArray[np.int64]
    steps: int


class Relaxation:
    """The relaxation of a workload's demands on given intervals.

    Parameters
    ----------
    unit, starts
        As in `Prices`.
    """

    def __init__(self, d: Demands, unit: int, starts: Sequence[int]) -> None:
        self.d = d
        self.unit = unit
        self.starts = np.array(starts, np.int64)
        # Rounded down: earlier submissions and shorter jobs can only lower the bound.
        self.release = np.array([release // unit for release in d.release], np.int64)
        self.length = np.array([length // unit for length in d.lengths], np.int64)
        self.kind = np.array(d.kind, np.int64)
        self.first = np.searchsorted(self.starts, self.release, side="right") - 1
        times = [int(start) * unit for start in starts]
        amounts = np.array([integrals(resource, times) for resource in d.resources], object)
        self.parts = math.lcm(*(amount.denominator for amount in amounts.flat))
        self.amounts = amounts * self.parts // 1
        self.longest = int(max(self.starts[-1], self.release.max(), self.length.max()))
        self.large_uses = list(map(_uses_per_length, d.kinds))
        self.most = max(int(uses.sum(axis=1).max()) for uses in self.large_uses)
        self.uses = [np.minimum(uses, LARGEST).astype(np.int64) for uses in self.large_uses]

    def kind_prices(
        self, values: NDArray[np.object_]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the price per length of each kind, and its cheapest mode, by interval.

        Raises
        ------
        OptionError
            If sums could have more than 64 bits.
        """
        uses_of_kinds: Sequence[NDArray[Any]] = self.large_uses
        if self.most * int(values.max(initial=0)) < LARGEST:
            uses_of_kinds = self.uses
            values = values.astype(np.int64)
        prices = np.zeros((len(self.uses), len(self.starts)), np.int64)
        modes = np.zeros(prices.shape, np.int64)
        sizes = np.diff(self.starts)
        for k, uses in enumerate(uses_of_kinds):
            costs = uses @ values
            modes[k] = costs.argmin(axis=0)
            least = costs.min(axis=0) >> FINE
            if float(least[:-1].astype(float) @ sizes) > LARGEST / 2:
                raise OptionError("prices are too large: a job's cost could have over 64 bits")
            prices[k] = least
        return prices, modes

    def inner(self, bits: int, values: NDArray[np.object_]) -> Inner:
        """Return what the jobs do at prices in units of 2**-bits, by resource and interval.

        Raises
        ------
        OptionError
            If prices are negative, not 0 in the last interval, or too large or too fine for
            arithmetic in 64 bits.
        """
        if (values < 0).any() or values[:, -1].any():
            raise OptionError("prices are negative, or not 0 after the last interval")
        if self.longest << bits > LARGEST:
            raise OptionError("the prices are too fine for times that long")
        prices, modes = self.kind_prices(values)
        worth = np.zeros(len(self.release), np.int64)
        used = np.zeros(prices.shape, np.int64)
        jobs = (self.release, self.length, self.first, self.kind)
        steps = relax(self.starts, prices, *jobs, 1 << bits, worth, used)
        return Inner(worth, used, modes, steps)

    def value(self, bits: int, values: NDArray[np.object_], inner: Inner) -> Fraction:
        """Return the bound on the sum of completion times, in microseconds."""
        paid: Fraction = Fraction((values * self.amounts).sum(), self.parts)
        ends: int = (sum(self.release.tolist()) << bits) + sum(inner.worth.tolist())
        return Fraction(ends * self.unit - paid, 2**bits)

    def slope(self, inner: Inner) -> NDArray[np.float64]:
        """Return the resources used less what there is, in units of time."""
        slope = -self._available
        for uses, modes, time in zip(self.uses, inner.modes, inner.used, strict=True):
            slope += uses[modes].T / 2**FINE * time
        return slope

    @cached_property
    def _available(self) -> NDArray[np.float64]:
        """What there is of each resource by interval, in units of time."""
        return (self.amounts / (self.parts * self.unit)).astype(float)


def _uses_per_length(kind: Kind) -> NDArray[np.object_]:
    """Return what a kind's modes use, by mode and resource, in 2**-FINE per length."""
    per_length = 2**FINE / kind.length
    return np.array([[math.floor(u * per_length) for u in m.uses] for m in kind.modes], object)


def evaluate(d: Demands, prices: Prices) -> Fraction:
    """Return the bound of given prices on the sum of completion times, exactly, in microseconds.

    Raises
    ------
    OptionError
        If the prices are negative, not 0 after the last interval, or too large to be computed with,
        or the intervals do not ascend from 0.
    """
    starts = prices.starts
    ascending = all(a < b for a, b in pairwise(starts)) and starts[:1] == (0,)
    priced = list(map(len, prices.values)) == [len(starts)] * len(d.resources)
    if not ascending or not priced:
        raise OptionError("the prices' intervals do not ascend from 0, or are not all priced")
    if prices.unit < 1 or prices.bits < 0:
        raise OptionError("the unit of time or of prices is not a positive whole number")
    relaxation = Relaxation(d, prices.unit, starts)
    values = np.array(prices.values, object)
    return relaxation.value(prices.bits, values, relaxation.inner(prices.bits, values))


def integrals(resource: Resource, times: Sequence[int]) -> list[Fraction]:
    """Return amount times microseconds from each time to the next; 0 from the last one."""
    until = map(Capacity(resource.steps).until, times)
    return [after - before for before, after in pairwise(until)] + [Fraction(0)]
