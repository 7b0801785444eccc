"""The best choice of items that `dp` has found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dlsched.problems.elastic.structures.knapsack import Items
from dlsched.run import Run


@dataclass
class Incumbent:
    """The best choice of items so far.

    Attributes
    ----------
    chosen, launched, value
        Numbers of its items, the jobs that they launch, and their reduction in units.
    """

    items: Items
    run: Run
    chosen: Sequence[int] | None = None
    launched: int = -1
    value: int = 0

    def offer(self, chosen: Sequence[int]) -> None:
        """Make a choice of items the incumbent if it is better."""
        numbers = np.array(chosen, dtype=np.int64)
        launched = int(self.items.launch[numbers].sum())
        value = sum(self.items.value[numbers].tolist())
        if self.chosen is None or (launched, value) > (self.launched, self.value):
            self.chosen = chosen
            self.launched = launched
            self.value = value
            self.run.record(float(self.items.seconds(value)), None)

    def within_gap(self, limit: int) -> bool:
        """Whether the incumbent's reduction is within the gap asked for of a bound, in units."""
        slack = Fraction(self.run.gap) * max(abs(limit), abs(self.value))  # may exceed a double
        return limit - self.value <= slack
