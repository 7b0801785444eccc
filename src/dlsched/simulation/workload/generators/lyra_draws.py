"""What Lyra's jobs are in every scenario: arrivals, sizes, running times, kinds.

What the paper does not state is made up **(D)**.
"""

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

DAY: Final = 86_400
FUNGIBLE: Final = 0.21
"""Share of the load that is fungible (section 7.1)."""
HETEROGENEOUS: Final = 0.10
"""Share of the jobs that are heterogeneous (section 7.1)."""
ELASTIC_JOBS: Final = 0.05
"""Share of the jobs that are elastic (section 2.2)."""
ELASTIC_LOAD: Final = 0.36
"""Share of the load that is elastic (section 2.2)."""
JOBS_PER_GPU_DAY: Final = 50_390 / 3544 / 15
"""Jobs per GPU and day of the paper's trace."""
SIZES: Final = ((1, 0.50), (2, 0.15), (4, 0.15), (8, 0.14), (16, 0.05), (32, 0.01))
ELASTIC_SIZES: Final = ((4, 0.25), (8, 0.4), (16, 0.35))
"""GPUs and probabilities of jobs that are not elastic, and of those that are **(D)**. By Table 5 a
job runs for 3.8 hours in the mean, an elastic one for 14.2 (section 2.2); at the load of the paper
this leaves 3.7 and 9.8 GPUs."""
AFTERNOON: Final = 0.85
"""By how much arrivals rise and fall within a day **(D)**."""
AFTERNOON_HOUR: Final = 15
"""When arrivals are most frequent **(D)**."""
WEEKEND: Final = 0.35
"""Frequency of arrivals on weekends, relative to other days **(D)**."""
TIMES: Final = (
    (0, 60),
    (0.779, 600),
    (0.785, 27_000),
    (0.948, 86_000),
    (0.989, 385_000),
    (1, 425_000),
)
"""Shares of the jobs that are not elastic, and seconds that these run at most **(D)**. With elastic
jobs and the baseline's queueing completion times are near Table 8, where half of the jobs take at
most 791 s, and a quarter at least 29,163."""
STEEPNESS: Final = (1, 1, 16, 16, 1)
"""How late running times grow between these **(D)**; the printed mean leaves little there."""
ELASTIC_SPREAD: Final = 0.5
"""Standard deviation of the logarithms of the running times of elastic jobs, the large ones, which
run for 14.2 hours in the mean (section 2.2) **(D)**."""


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
        large = np.exp(ELASTIC_SPREAD * rng.standard_normal(n))
        time = np.where(self.elastic, large, _times(rng.random(n)))
        total = load * gpus * days * DAY
        self.work = np.zeros(n)
        most = most_days * DAY
        for chosen, share in ((self.elastic, ELASTIC_LOAD), (~self.elastic, 1 - ELASTIC_LOAD)):
            self.work[chosen] = _scaled(time[chosen], self.gpus[chosen], share * total, most)
        self.work = np.maximum(1, np.round(self.work))
        area = self.gpus * self.work
        self.fungible = np.zeros(n, bool)
        whole = float(area.sum())
        missing = FUNGIBLE * whole
        for j in rng.permutation(n):
            if missing > whole / 500 and area[j] <= missing:
                self.fungible[j] = True
                missing -= float(area[j])
        others = rng.permutation(np.flatnonzero(~self.fungible))
        self.mixed = np.zeros(n, bool)
        self.mixed[others[: round(HETEROGENEOUS * n)]] = True


def _arrivals(rng: np.random.Generator, days: float, n: int) -> NDArray[Any]:
    """Return times of arrival in whole seconds, by the weights of the hours."""
    hours = np.arange(math.ceil(24 * days))
    angle = 2 * np.pi * (hours - AFTERNOON_HOUR) / 24
    weight = 1 + AFTERNOON * np.cos(angle)
    day_of_week = hours // 24 % 7
    weight[day_of_week >= 5] *= WEEKEND
    hour = rng.choice(hours, n, p=weight / weight.sum())
    time = 3600 * hour + rng.integers(0, 3600, n)
    return np.minimum(time, int(days * DAY))


def _sizes(rng: np.random.Generator, table: Sequence[tuple[int, float]], n: int) -> NDArray[Any]:
    sizes, weights = zip(*table, strict=True)
    return rng.choice(sizes, n, p=weights)


def _times(share: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the seconds that a share of the jobs run at most."""
    shares, seconds = np.array(TIMES).T
    piece = np.searchsorted(shares, share, side="right") - 1
    along = (share - shares[piece]) / np.diff(shares)[piece]
    growth = np.log(seconds[1:] / seconds[:-1])[piece]
    times: NDArray[np.float64] = seconds[piece] * np.exp(
        growth * along ** np.array(STEEPNESS)[piece]
    )
    return times


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
