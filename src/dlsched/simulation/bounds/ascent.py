"""The search for good prices: steps along the slope of the relaxation's value.

Each step is relative to a price's size, and by the slope over its mean square, so that prices that
are far from each other in size move alike (Adam; Kingma and Ba, ICLR 2015). The best prices seen
are returned; they and their value are whole numbers, so nothing is lost by rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dlsched.simulation.bounds.capacity import weighted_sum
from dlsched.simulation.bounds.demands import Demands, pool
from dlsched.simulation.bounds.intervals import intervals_and_prices
from dlsched.simulation.bounds.prices import FINE, LARGEST, LONGEST, Prices, Relaxation

Floats = NDArray[np.float64]
INTERVALS = 2000
ROUNDS = 500
EFFORT = 150_000_000
"""Intervals looked at in all rounds together, at most."""
PHASE = 40
"""Rounds of a phase."""
PATIENCE = 20
"""Rounds after which a phase ends that has found nothing better."""
FIRST_STEP = 0.1
"""Relative size of the first phase's first step."""
LAST_STEP = 0.2
"""A phase's last step, over its first one."""
SHORTEST_STEP = 0.0002
"""Relative size of a phase's first step at which the search ends."""
SHORTER = 0.6
"""A phase's first step over that of the phase before, if that found better prices."""
SHORTER_IN_VAIN = 0.4
"""The same if it found none."""
KEPT = 0.9
"""What a round keeps of the mean slope (Adam's first rate)."""
KEPT_SQUARE = 0.99
"""What a round keeps of the mean square (Adam's second rate)."""
NEAR = 0.5
"""A price of 0 moves like one of this share of the mean."""


class PriceAscent:
    """Prices that are improved step by step.

    Attributes
    ----------
    best, best_prices
        The greatest bound found, on the sum of completion times in microseconds, and its prices.
    """

    def __init__(self, relaxation: Relaxation, values: Floats) -> None:
        self.relaxation = relaxation
        self.values = values
        self.most = np.array([[float(r.most) or 1.0] for r in relaxation.d.resources])
        self.sizes = np.append(np.diff(relaxation.starts), 1).astype(float)
        self.best = Fraction(-1)
        self.best_values = values
        self.best_slope = np.zeros_like(values)
        self.steps = 0
        self._evaluate()

    @classmethod
    def of(cls, d: Demands, weights: Sequence[Fraction]) -> PriceAscent:
        """Return a search that begins with the prices of the pooled machine.

        Parameters
        ----------
        weights
            Of the resources on that machine.
        """
        machine = pool(d, weights)
        unit, starts, first = intervals_and_prices(machine, INTERVALS, LONGEST)
        # A unit of a resource counts for its weight on the pooled machine.
        total = weighted_sum(weights, [resource.most for resource in d.resources])
        scale = max(rate for _, rate in machine.steps) / total
        per_unit = np.array([[float(weight * scale)] for weight in weights])
        return cls(Relaxation(d, unit, starts), per_unit * first)

    @property
    def best_prices(self) -> Prices:
        """The best prices, in whole numbers."""
        bits, whole = self._whole(self.best_values)
        starts = tuple(self.relaxation.starts.tolist())
        return Prices(self.relaxation.unit, bits, starts, tuple(map(tuple, whole.tolist())))

    def run(self, rounds: int = ROUNDS, effort: int = EFFORT) -> None:
        """Improve the prices, in phases that begin at the best ones; each has shorter steps.

        A phase that finds nothing better is followed by one of still shorter steps.
        """
        last_step = effort + self.steps
        length = FIRST_STEP
        while rounds > 0 and length > SHORTEST_STEP:
            before = self.best
            done = self._phase(min(PHASE, rounds), last_step, length)
            if self.steps >= last_step:
                return
            rounds -= max(done, 1)
            length *= SHORTER if self.best > before else SHORTER_IN_VAIN

    def used(self) -> NDArray[np.int64]:
        """Return the time that jobs of each kind use at the best prices, by interval."""
        return self.relaxation.inner(*self._whole(self.best_values)).used

    def _phase(self, rounds: int, last_step: int, length: float) -> int:
        """Take steps from the best prices on; return how many."""
        self.values = self.best_values
        slope = self.best_slope
        mean = np.zeros_like(slope)
        square = np.zeros_like(slope)
        # Prices near 0 can rise, too.
        base = NEAR * self.values.mean(axis=1, keepdims=True)
        before = self.best
        for i in range(rounds):
            in_vain = i >= PATIENCE and self.best == before
            if in_vain or self.steps >= last_step:
                return i
            mean += (1 - KEPT) * (slope - mean)
            square += (1 - KEPT_SQUARE) * (slope * slope - square)
            direction = mean / (1 - KEPT ** (i + 1))
            direction /= np.sqrt(square / (1 - KEPT_SQUARE ** (i + 1))) + 1e-3
            step = length * LAST_STEP ** (i / rounds)
            self.values = np.maximum(self.values + step * (self.values + base) * direction, 0.0)
            slope = self._evaluate()
        return rounds

    def _whole(self, values: Floats) -> tuple[int, NDArray[np.object_]]:
        """Return prices in units of 2**-bits, as fine as the arithmetic allows."""
        largest = 1.0
        for uses in self.relaxation.uses:
            cost = (uses / 2**FINE) @ values
            least = cost.min(axis=0)
            largest = max(largest, float(least[:-1] @ self.sizes[:-1]))
        longest = max(largest * 4, float(self.relaxation.longest) * 2)
        bits = int(np.log2(LARGEST / longest))
        bits = max(0, min(24, bits))
        whole = np.floor(values * 2**bits).astype(np.int64)
        return bits, whole.astype(object)

    def _evaluate(self) -> Floats:
        """Compare the present prices with the best ones; return the slope.

        It is the resources used less what there is, over the most that there is.
        """
        bits, whole = self._whole(self.values)
        inner = self.relaxation.inner(bits, whole)
        value = self.relaxation.value(bits, whole, inner)
        self.steps += inner.steps
        slope = self.relaxation.slope(inner)
        scaled: Floats = slope / self.sizes / self.most
        scaled[:, -1] = 0.0
        if value > self.best:
            self.best = value
            self.best_values = self.values
            self.best_slope = scaled
        return scaled
