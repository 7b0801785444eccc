"""What a paper prints of its workload, and how it is measured on drawn ones."""

from collections.abc import Callable
from statistics import fmean
from typing import Any, NamedTuple

SEEDS = range(1, 11)


class Marginal(NamedTuple):
    """A printed number, and the band in which the mean over ten seeds must be.

    `name` has the unit, `source` is a section, figure or table of the paper, `draw` makes an
    instance or a workload from a seed, and `measure` returns the number of what was drawn.
    """

    name: str
    printed: float
    low: float
    high: float
    source: str
    draw: Callable[[int], Any]
    measure: Callable[[Any], float]

    def obtained(self) -> float:
        """Return the mean over the seeds."""
        return fmean(self.measure(self.draw(seed)) for seed in SEEDS)
