"""What Lyra prints of the jobs of its scheduling epochs (section 5.2)."""

from functools import cache, partial
from statistics import fmean
from typing import Any

from marginal import Marginal

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


def elastic_jobs(instance: Any) -> float:
    """Per cent of the jobs that are elastic."""
    return 100 * fmean(map(is_elastic, instance.jobs))


def elastic_time(instance: Any) -> float:
    """Per cent of the GPU time that elastic jobs have."""
    total = sum(map(gpu_time, instance.jobs))
    return 100 * sum(gpu_time(job) for job in instance.jobs if is_elastic(job)) / total


def elastic_hours(instance: Any) -> float:
    """Mean running time of elastic jobs in hours."""
    return fmean(base_hours(job) for job in instance.jobs if is_elastic(job))


def all_hours(instance: Any) -> float:
    """Mean running time in hours."""
    return fmean(map(base_hours, instance.jobs))


def fungible(instance: Any) -> float:
    """Per cent of the jobs that are fungible."""
    return 100 * fmean(job.fungible for job in instance.jobs)


def heterogeneous(instance: Any) -> float:
    """Per cent of the jobs that are heterogeneous."""
    return 100 * fmean(job.heterogeneous for job in instance.jobs)


def mixed_efficiency(instance: Any) -> float:
    """Per cent of their speed that heterogeneous jobs have on both kinds of GPU."""
    return float(100 * instance.mixed_efficiency)


def scaling_range(instance: Any) -> float:
    """Per cent of the jobs whose most workers are twice their base, large jobs left out."""
    small = [job for job in instance.jobs if job.gpus_per_worker != 2]
    return 100 * fmean(job.max_workers == 2 * job.min_workers for job in small)


def items(instance: Any) -> float:
    """Number of choices that take GPUs."""
    return float(
        sum(job.max_workers - job.min_workers + (not job.running) for job in instance.jobs)
    )


pools = partial(drawn, loan=500)
advanced = partial(drawn, loan=500, scenario="advanced")
alone = partial(drawn, loan=500, scenario="heterogeneous")
ideal = partial(drawn, loan=500, scenario="ideal")
worst = partial(dlsched.generate, "elastic", items=354, capacity=245)

MARGINALS = [
    Marginal("elastic jobs, %", 5, 4.5, 5.5, "section 2.2", drawn, elastic_jobs),
    Marginal("GPU time of elastic jobs, %", 36, 33, 39, "section 2.2", drawn, elastic_time),
    Marginal(
        "running time of elastic jobs, mean hours", 14.2, 13.2, 15.2, "section 2.2", drawn,
        elastic_hours,
    ),
    Marginal(
        "running time, mean hours: completion less queueing", 3.76, 3.5, 4.1, "Table 5, row 1",
        drawn, all_hours,
    ),
    Marginal("fungible jobs, basic, %", 21, 19.5, 22.5, "section 7.1", pools, fungible),
    Marginal("heterogeneous jobs, basic, %", 0, 0, 0, "section 7.1", pools, heterogeneous),
    Marginal("fungible jobs, advanced, %", 21, 19.5, 22.5, "section 7.1", advanced, fungible),
    Marginal(
        "heterogeneous jobs, advanced, %", 10, 9, 11, "section 7.1", advanced, heterogeneous
    ),
    Marginal(
        "efficiency on both kinds, advanced, %", 70, 70, 70, "section 7.1", advanced,
        mixed_efficiency,
    ),
    Marginal("fungible jobs, heterogeneous, %", 0, 0, 0, "section 7.1", alone, fungible),
    Marginal(
        "heterogeneous jobs, heterogeneous, %", 10, 9, 11, "section 7.1", alone, heterogeneous
    ),
    Marginal("elastic jobs, ideal, %", 100, 100, 100, "section 7.1", ideal, elastic_jobs),
    Marginal("heterogeneous jobs, ideal, %", 100, 100, 100, "section 7.1", ideal, heterogeneous),
    Marginal(
        "efficiency on both kinds, ideal, %", 100, 100, 100, "section 7.1", ideal,
        mixed_efficiency,
    ),
    Marginal(
        "jobs with a range of twice their demand, ideal, %", 100, 100, 100, "section 7.1", ideal,
        scaling_range,
    ),
    Marginal("items of the worst epoch", 354, 354, 354, "section 5.2", worst, items),
]  # fmt: skip
