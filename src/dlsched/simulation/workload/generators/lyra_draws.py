"""What Lyra's jobs are in every scenario: arrivals, sizes, running times, kinds.

What the paper does not state is made up **(D)**.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

DAY: Final = 86_400
FUNGIBLE, HETEROGENEOUS = 0.21, 0.10
"""Share of the load that is fungible, and of the jobs that are heterogeneous (section 7.1)."""
ELASTIC_JOBS, ELASTIC_LOAD = 0.05, 0.36
"""Shares of the jobs and of the load that are elastic (section 2.2)."""
JOBS_PER_GPU_DAY: Final = 50_390 / 3544 / 15
SIZES: Final = ((1, 0.50), (2, 0.15), (4, 0.15), (8, 0.14), (16, 0.05), (32, 0.01))
ELASTIC_SIZES: Final = ((4, 0.2), (8, 0.4), (16, 0.4))
"""GPUs and probabilities of jobs that are not elastic, and of those that are **(D)**."""
AFTERNOON, AFTERNOON_HOUR, WEEKEND = 0.6, 15, 0.5
"""By how much arrivals rise and fall within a day, when they are most frequent, and their frequency
on weekends **(D)**."""
SPREAD, ELASTIC_SPREAD = 2.4, 0.8
"""Standard deviations of the logarithms of running times **(D)**; Table 5's times have a heavy
tail, and elastic jobs, the large ones, run for 14.2 hours in the mean."""


def scaling(large: NDArray[np.bool_], share: float | None, seed: int) -> NDArray[np.bool_]:
    """Return which jobs are elastic: the large ones, then others at random, up to a share."""
    if share is None:
        return large
    order = np.random.default_rng([seed, 3]).permutation(len(large))
    order = order[np.argsort(~large[order], kind="stable")]
    chosen = np.zeros(len(large), bool)
    chosen[order[: round(share * len(large))]] = True
    return chosen


class Draws:
    """The jobs that all scenarios have."""

    def __init__(
        self, training: int, days: float, load: float, most_days: float, seed: int
    ) -> None:
        rng = np.random.default_rng([seed, 0])
        gpus = 8 * training
        self.jobs = n = max(2, round(JOBS_PER_GPU_DAY * gpus * days))
        self.submit = np.sort(_arrivals(rng, days, n))
        self.elastic = np.zeros(n, bool)
        self.elastic[rng.permutation(n)[: max(1, round(ELASTIC_JOBS * n))]] = True
        self.gpus = np.where(self.elastic, _sizes(rng, ELASTIC_SIZES, n), _sizes(rng, SIZES, n))
        self.gpus = np.minimum(self.gpus, gpus)
        spread = np.where(self.elastic, ELASTIC_SPREAD, SPREAD)
        time = np.exp(spread * rng.standard_normal(n))
        total = load * gpus * days * DAY
        self.work = np.zeros(n)
        for chosen, share in ((self.elastic, ELASTIC_LOAD), (~self.elastic, 1 - ELASTIC_LOAD)):
            self.work[chosen] = _scaled(
                time[chosen], self.gpus[chosen], share * total, most_days * DAY
            )
        self.work = np.maximum(1, np.round(self.work))
        area = self.gpus * self.work
        self.fungible = np.zeros(n, bool)
        whole = float(area.sum())
        left = FUNGIBLE * whole
        for j in rng.permutation(n):
            if left > whole / 500 and area[j] <= left:
                self.fungible[j] = True
                left -= float(area[j])
        others = rng.permutation(np.flatnonzero(~self.fungible))
        self.mixed = np.zeros(n, bool)
        self.mixed[others[: round(HETEROGENEOUS * n)]] = True


def _arrivals(rng: np.random.Generator, days: float, n: int) -> NDArray[Any]:
    """Return times of arrival in whole seconds, by the weights of the hours."""
    hours = np.arange(math.ceil(24 * days))
    weight = 1 + AFTERNOON * np.cos(2 * np.pi * (hours - AFTERNOON_HOUR) / 24)
    weight[hours // 24 % 7 >= 5] *= WEEKEND
    hour = rng.choice(hours, n, p=weight / weight.sum())
    time = 3600 * hour + rng.integers(0, 3600, n)
    return np.minimum(time, int(days * DAY))


def _sizes(rng: np.random.Generator, table: Sequence[tuple[int, float]], n: int) -> NDArray[Any]:
    sizes, weights = zip(*table, strict=True)
    return rng.choice(sizes, n, p=weights)


def _scaled(
    time: NDArray[np.float64], gpus: NDArray[Any], total: float, most: float
) -> NDArray[np.float64]:
    """Return running times with an upper limit, scaled to a total of GPU-seconds."""
    low, high = 0.0, most / float(time.min())
    for _ in range(100):
        scale = (low + high) / 2
        if float(np.minimum(scale * time, most) @ gpus) < total:
            low = scale
        else:
            high = scale
    return np.minimum(high * time, most)
