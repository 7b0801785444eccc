"""What Lyra prints of the jobs of its scheduling epochs (section 5.2)."""

from functools import cache, partial
from statistics import fmean
from typing import Any

from marginal import Marginal, percent

import dlsched


@cache
def drawn(seed: int, **options: Any) -> Any:
    """Draw many jobs, as running times differ by a factor of a thousand."""
    return dlsched.generate("elastic", seed, jobs=2000, **options)


def gpu_time(job: Any) -> float:
    """GPU seconds of a job; with linear scaling they are the same with any number of workers."""
    return float(job.max_workers * job.gpus_per_worker * job.min_running_time)


def base_hours(job: Any) -> float:
    """Running time with the base workers."""
    return float(job.min_running_time) * job.max_workers / job.min_workers / 3600


def is_elastic(job: Any) -> bool:
    """Whether a job can have more than its base workers."""
    return bool(job.max_workers > job.min_workers)


def elastic_time(instance: Any) -> float:
    """Per cent of the GPU time that elastic jobs have."""
    total = sum(map(gpu_time, instance.jobs))
    return 100 * sum(gpu_time(job) for job in instance.jobs if is_elastic(job)) / total


def elastic_hours(instance: Any) -> float:
    """Mean running time of elastic jobs in hours."""
    return fmean(base_hours(job) for job in instance.jobs if is_elastic(job))


def mixed_efficiency(instance: Any) -> float:
    """Per cent of their speed that heterogeneous jobs have on both kinds of GPU."""
    return float(100 * instance.mixed_efficiency)


def not_large(instance: Any) -> list[Any]:
    """Return the jobs without the large ones."""
    return [job for job in instance.jobs if job.gpus_per_worker != 2]


def items(instance: Any) -> float:
    """Number of choices that take GPUs."""
    return sum(job.max_workers - job.min_workers + (not job.running) for job in instance.jobs)


fungible, heterogeneous = percent(lambda j: j.fungible), percent(lambda j: j.heterogeneous)
pools = partial(drawn, loan=500)
advanced = partial(drawn, loan=500, scenario="advanced")
alone = partial(drawn, loan=500, scenario="heterogeneous")
ideal = partial(drawn, loan=500, scenario="ideal")
worst = partial(dlsched.generate, "elastic", items=354, capacity=245)

MARGINALS = [
    Marginal("elastic jobs, %", 5, 4.5, 5.5, "section 2.2", drawn, percent(is_elastic)),
    Marginal("GPU time of elastic jobs, %", 36, 33, 39, "section 2.2", drawn, elastic_time),
    Marginal("running time of elastic jobs, mean hours", 14.2, 13.2, 15.2, "section 2.2", drawn,
             elastic_hours),
    Marginal("running time, mean hours: completion less queueing", 3.76, 3.5, 4.1,
             "Table 5, row 1", drawn, lambda made: fmean(map(base_hours, made.jobs))),
    *(
        Marginal(f"{name}, %", printed, low, high, "section 7.1", draw, measure)
        for name, printed, low, high, draw, measure in (
            ("fungible jobs, basic", 21, 19.5, 22.5, pools, fungible),
            ("heterogeneous jobs, basic", 0, 0, 0, pools, heterogeneous),
            ("fungible jobs, advanced", 21, 19.5, 22.5, advanced, fungible),
            ("heterogeneous jobs, advanced", 10, 9, 11, advanced, heterogeneous),
            ("efficiency on both kinds, advanced", 70, 70, 70, advanced, mixed_efficiency),
            ("fungible jobs, heterogeneous", 0, 0, 0, alone, fungible),
            ("heterogeneous jobs, heterogeneous", 10, 9, 11, alone, heterogeneous),
            ("elastic jobs, ideal", 100, 100, 100, ideal, percent(is_elastic)),
            ("heterogeneous jobs, ideal", 100, 100, 100, ideal, heterogeneous),
            ("efficiency on both kinds, ideal", 100, 100, 100, ideal, mixed_efficiency),
            ("jobs with a range of twice their demand, ideal", 100, 100, 100, ideal,
             percent(lambda job: job.max_workers == 2 * job.min_workers, not_large)),
        )
    ),
    Marginal("items of the worst epoch", 354, 354, 354, "section 5.2", worst, items),
]  # fmt: skip
