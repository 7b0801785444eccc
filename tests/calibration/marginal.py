"""What a paper prints of its workload, and how it is measured on drawn ones."""

from collections.abc import Callable, Iterable
from operator import attrgetter
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

SEEDS = range(1, 11)
Measure = Callable[[Any], float]
JOBS = attrgetter("jobs")


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
    measure: Measure

    def obtained(self) -> float:
        """Return the mean over the seeds."""
        return fmean(self.measure(self.draw(seed)) for seed in SEEDS)


def within(name: str, printed: float, band: float, *others: Any) -> Marginal:
    """Return a marginal with a band of so much on both sides; per cents end at 0 and 100."""
    low, high = printed - band, printed + band
    if name.endswith("% of the jobs"):
        low, high = max(0, low), min(100, high)
    return Marginal(name, printed, low, high, *others)


def percent(holds: Callable[[Any], object], rows: Callable[[Any], Iterable[Any]] = JOBS) -> Measure:
    """Return the measure of the per cent of the jobs, or other rows, of which something holds."""
    return lambda made: 100 * fmean(bool(holds(row)) for row in rows(made))


def percentile(share: float, values: Callable[[Any], Iterable[float]]) -> Measure:
    """Return the measure of a percentile of some numbers of what was drawn."""
    return lambda made: float(np.quantile([float(value) for value in values(made)], share))
