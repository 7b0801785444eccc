"""A random trace from stated distributions, with the fields of recorded ones."""

import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np

from dlsched.errors import OptionError
from dlsched.records.job import TraceJob
from dlsched.records.trace import Trace

SIZES = {1: 0.34, 2: 0.12, 4: 0.17, 6: 0.03, 8: 0.18, 12: 0.04, 16: 0.07, 32: 0.05}
"""GPUs per job and their shares: a mean of 6.1."""
MODELS = {
    "speech-encoder": (610, 150, 35),
    "image-small": (480, 90, 30),
    "image-large": (140, 120, 95),
    "detector": (210, 190, 60),
    "text-base": (2, 180, 45),
    "text-large": (3, 460, 170),
    "recommender": (95, 40, 120),
    "game-agent": (430, 12, 3),
}
"""Milliseconds per iteration of loading, GPU and network **(D)**."""
SIGMA = 1.6
LONGEST = 6
"""Longest duration, in medians."""
DAY = 86400


def synthesise(
    seed: int = 0,
    *,
    jobs: int = 1500,
    days: float = 30,
    busy_gpus: float = 600,
) -> Trace:
    """Return a random trace.

    Submissions are a Poisson process whose rate is a cosine of the hour, highest at 15:00 and
    lowest at 3:00, and half as high at weekends; the clock starts at 0:00 of a Monday. Sizes are
    drawn from `SIZES`, models uniformly from `MODELS`. Durations are log-normal with sigma 1.6,
    at most 6 times the median, and all scaled by one factor so that the GPU-seconds of all jobs
    are `busy_gpus` GPUs times `days`. Network time grows with the number of GPUs, and is 0 on one;
    an iteration takes the sum of its stages.

    Parameters
    ----------
    seed
        The same seed and parameters give the same trace on any machine.
    jobs
        Number of jobs.
    days
        Time over which they are submitted.
    busy_gpus
        Mean number of GPUs in use if no job waited; 64 servers of 8 have 512.

    Raises
    ------
    OptionError
        If a parameter is not above 0.
    """
    for option, value in (("jobs", jobs), ("days", days), ("busy_gpus", busy_gpus)):
        if not value > 0:
            raise OptionError(f"{option}={value} must be above 0")
    # Only uniform draws: other distributions may change with the version of numpy.
    rng = np.random.default_rng(seed)
    submits = _submissions(rng, jobs, days)
    steps = np.cumsum(list(SIZES.values()))[:-1]
    sizes = [list(SIZES)[i] for i in np.searchsorted(steps, rng.random(jobs), "right").tolist()]
    models = [list(MODELS)[int(u * len(MODELS))] for u in rng.random(jobs)]
    quantiles = rng.random(jobs).tolist()
    priorities = (rng.random(jobs) < 0.5).astype(int).tolist()
    lengths = [_length(u) for u in quantiles]
    work = sum(length * size for length, size in zip(lengths, sizes, strict=True))
    median = busy_gpus * days * DAY / work
    drawn = []
    previous = submits[0]
    for j in range(jobs):
        stages = _stages(models[j], sizes[j])
        iteration = sum(stages)
        iterations = max(1, round(lengths[j] * median * 1000 / iteration))
        drawn.append(
            TraceJob(
                id=f"j{j + 1}",
                gpus=sizes[j],
                submit=submits[j],
                duration=Fraction(iterations * iteration, 1000),
                iterations=iterations,
                model=models[j],
                batch_size=32,
                interval=submits[j] - previous,
                iteration_time=Fraction(iteration, 1000),
                stages=tuple(Fraction(stage, 1000) for stage in stages),
                priority=priorities[j],
            )
        )
        previous = submits[j]
    options = f"seed={seed}, jobs={jobs}, days={days}, busy_gpus={busy_gpus}"
    return Trace(name=f"synthetic-{seed}", jobs=tuple(drawn), source=f"synthesise({options})")


def _submissions(rng: np.random.Generator, jobs: int, days: float) -> list[int]:
    """Draw whole seconds: a uniform second is kept with the probability of its hour and day."""
    kept: list[int] = []
    while len(kept) < jobs:
        u, v = rng.random(2).tolist()
        second = int(u * days * DAY)
        hour = second % DAY / 3600
        daily = 0.55 - 0.45 * math.cos((hour - 3) / 24 * 2 * math.pi)
        weekend = 0.5 if second // DAY % 7 >= 5 else 1.0
        if v < daily * weekend:
            kept.append(second)
    return sorted(kept)


def _length(quantile: float) -> float:
    """Return the duration at a quantile, in medians."""
    deviation = NormalDist().inv_cdf(min(max(quantile, 1e-9), 1 - 1e-9))
    return min(math.exp(SIGMA * deviation), LONGEST)


def _stages(model: str, gpus: int) -> tuple[int, int, int]:
    """Return milliseconds of loading, GPU and network; a ring all-reduce moves 2 (n - 1) / n."""
    loading, computing, network = MODELS[model]
    return loading, computing, round(network * (gpus - 1) / gpus)
