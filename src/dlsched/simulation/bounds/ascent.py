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

from dlsched.simulation.bounds import relaxation as loops
from dlsched.simulation.bounds.demands import Demands, pool
from dlsched.simulation.bounds.intervals import intervals_and_prices
from dlsched.simulation.bounds.prices import FINE, LARGEST, LONGEST, Prices, Relaxation
from dlsched.solvers.preparation import prepare

Floats = NDArray[np.float64]
INTERVALS = 2000
ROUNDS = 500
EFFORT = 150_000_000
"""Intervals looked at in all rounds together, at most."""
PHASE = 40
"""Rounds of a phase."""
PATIENCE = 20
"""Rounds after which a phase ends that has found nothing better."""
STEP, LAST, SHORTEST = 0.1, 0.2, 0.0002
"""Relative size of the first step; the last one's of a phase over its first; where to stop."""
KEPT, KEPT_SQUARE = 0.9, 0.99
"""What is kept of the mean slope, and of the mean square, in a round."""
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
        prepare(loops.__name__)
        self.relaxation, self.values = relaxation, values
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
        one = pool(d, weights)
        unit, starts, first = intervals_and_prices(one, INTERVALS, LONGEST)
        # A unit of a resource counts for its weight on the pooled machine.
        total = sum((w * r.most for w, r in zip(weights, d.resources, strict=True)), Fraction(0))
        per_unit = [float(w * max(rate for _, rate in one.steps) / total) for w in weights]
        return cls(Relaxation(d, unit, starts), np.array(per_unit)[:, None] * first[None, :])

    @property
    def best_prices(self) -> Prices:
        """The best prices, in whole numbers."""
        bits, whole = self._whole(self.best_values)
        rows = tuple(tuple(int(x) for x in row) for row in whole)
        starts = tuple(int(start) for start in self.relaxation.starts)
        return Prices(self.relaxation.unit, bits, starts, rows)

    def run(self, rounds: int = ROUNDS, effort: int = EFFORT) -> None:
        """Improve the prices, in phases that begin at the best ones; each has shorter steps.

        A phase that finds nothing better is followed by one of still shorter steps.
        """
        effort, length = effort + self.steps, STEP
        while rounds > 0 and length > SHORTEST:
            before = self.best
            done = self._phase(min(PHASE, rounds), effort, length)
            if self.steps >= effort:
                return
            rounds -= max(done, 1)
            length *= 0.6 if self.best > before else 0.4

    def used(self) -> NDArray[np.int64]:
        """Return the time that jobs of each kind use at the best prices, by interval."""
        return self.relaxation.inner(*self._whole(self.best_values)).used

    def _phase(self, rounds: int, effort: int, length: float) -> int:
        """Take steps from the best prices on; return how many."""
        self.values = self.best_values
        slope = self.best_slope
        mean, square = np.zeros_like(slope), np.zeros_like(slope)
        # Prices near 0 can rise, too.
        base = NEAR * self.values.mean(axis=1, keepdims=True)
        before = self.best
        for i in range(rounds):
            if self.steps >= effort or (i >= PATIENCE and self.best == before):
                return i
            mean += (1 - KEPT) * (slope - mean)
            square += (1 - KEPT_SQUARE) * (slope * slope - square)
            direction = mean / (1 - KEPT ** (i + 1))
            direction /= np.sqrt(square / (1 - KEPT_SQUARE ** (i + 1))) + 1e-3
            step = length * LAST ** (i / rounds)
            self.values = np.maximum(self.values + step * (self.values + base) * direction, 0.0)
            slope = self._evaluate()
        return rounds

    def _whole(self, values: Floats) -> tuple[int, NDArray[np.object_]]:
        """Return prices in units of 2**-bits, as fine as the arithmetic allows."""
        largest = 1.0
        for uses in self.relaxation.uses:
            cost = (uses / 2**FINE) @ values
            largest = max(largest, float(cost.min(axis=0)[:-1] @ self.sizes[:-1]))
        longest = max(largest * 4, float(self.relaxation.longest) * 2)
        bits = max(0, min(24, int(np.log2(LARGEST / longest))))
        return bits, np.floor(values * 2**bits).astype(np.int64).astype(object)

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
            self.best, self.best_values, self.best_slope = value, self.values, scaled
        return scaled
