"""What Lyra prints of its trace, and of the baseline's queueing on it (sections 2 and 7)."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from marginal import Marginal

from dlsched.simulation import simulate
from dlsched.simulation.workload.generators import inference_load, lyra_cluster, lyra_workload

SERVERS, DAYS, DAY = 443, 15, 86_400
EIGHTH = 56
"""Servers of the smaller cluster on which shares are measured; jobs per GPU are as many."""


@cache
def drawn(seed: int, **options: Any) -> Any:
    """Draw the jobs of an eighth of the cluster."""
    return lyra_workload(EIGHTH, seed=seed, **options).jobs


def share(kind: str, jobs: Any) -> float:
    """Per cent of the jobs of a kind."""
    return 100 * float(np.mean([getattr(job, kind) for job in jobs]))


def is_elastic(job: Any) -> bool:
    """Whether a job can have more than it requests."""
    return bool(job.max_gpus > job.gpus)


def is_fungible(job: Any) -> bool:
    """Whether a job can run on loan."""
    return bool(job.fungible)


def elastic_jobs(jobs: Any) -> float:
    """Per cent of the jobs that are elastic."""
    return 100 * float(np.mean(list(map(is_elastic, jobs))))


def gpu_time(chosen: Callable[[Any], bool], jobs: Any) -> float:
    """Per cent of the GPU time that some of the jobs have."""
    area = np.array([job.gpus * float(job.work) for job in jobs])
    return 100 * float(area[list(map(chosen, jobs))].sum() / area.sum())


def elastic_hours(jobs: Any) -> float:
    """Mean running time of elastic jobs in hours."""
    return float(np.mean([float(job.work) for job in jobs if is_elastic(job)])) / 3600


def running_hours(jobs: Any) -> float:
    """Mean running time in hours."""
    return float(np.mean([float(job.work) for job in jobs])) / 3600


def jobs_in_all(jobs: Any) -> float:
    """Jobs, as on the whole cluster."""
    return len(jobs) * SERVERS / EIGHTH


def inference(measure: Callable[[Any], float], load: Any) -> float:
    """Per cent of the inference cluster in use."""
    return 100 * float(measure(load))


def lent(cluster: Any) -> float:
    """Servers on loan at most."""
    return float(max(loan.servers for loan in cluster.loans))


advanced = partial(drawn, scenario="advanced")
ideal = partial(drawn, scenario="ideal")


def week(seed: int) -> Any:
    """Draw the load of a week."""
    return inference_load(7, seed=seed)


def cluster(seed: int) -> Any:
    """Draw the paper's servers, and how many are lent in a week."""
    return lyra_cluster(days=7, seed=seed)


MARGINALS = [
    Marginal("jobs in 15 days", 50_390, 50_200, 50_600, "section 7.1", drawn, jobs_in_all),
    Marginal("elastic jobs, %", 5, 4.9, 5.1, "section 2.2", drawn, elastic_jobs),
    Marginal(
        "GPU time of elastic jobs, %", 36, 35.5, 36.5, "section 2.2", drawn,
        partial(gpu_time, is_elastic),
    ),
    Marginal(
        "running time of elastic jobs, mean hours", 14.2, 13.2, 15.2, "section 2.2", drawn,
        elastic_hours,
    ),
    Marginal(
        "running time, mean hours: completion less queueing", 3.76, 3.4, 4.4, "Table 5, row 1",
        drawn, running_hours,
    ),
    Marginal(
        "GPU time of fungible jobs, basic, %", 21, 20.5, 21.5, "section 7.1", drawn,
        partial(gpu_time, is_fungible),
    ),
    Marginal(
        "heterogeneous jobs, advanced, %", 10, 9.9, 10.1, "section 7.1", advanced,
        partial(share, "heterogeneous"),
    ),
    Marginal("elastic jobs, ideal, %", 100, 100, 100, "section 7.1", ideal, elastic_jobs),
    Marginal(
        "heterogeneous jobs, ideal, %", 100, 100, 100, "section 7.1", ideal,
        partial(share, "heterogeneous"),
    ),
    Marginal(
        "inference in use, least, %", 42, 42, 42.5, "Figure 1", week, partial(inference, np.min)
    ),
    Marginal(
        "inference in use, most, %", 95, 94.5, 95, "Figure 1", week, partial(inference, np.max)
    ),
    Marginal(
        "inference in use, mean, %", 65, 64.5, 65.5, "section 2.1", week,
        partial(inference, np.mean),
    ),
    Marginal(
        "servers on loan, at most: 98 % - 42 % of 520", 291, 291, 291, "Figure 1, section 7.1",
        cluster, lent,
    ),
]  # fmt: skip


@cache
def baseline(seed: int, preset: str = "paper") -> Any:
    """Replay the whole trace, first in, first out, as Table 5's baseline does; return its jobs."""
    workload = lyra_workload(preset=preset, seed=seed)
    return simulate(workload, lyra_cluster(loaning=False), "fifo", seed=seed).jobs


def used(jobs: Any) -> float:
    """Per cent of the training GPUs in use, in the days of the trace."""
    end = DAYS * DAY
    seconds = jobs["end"].clip(upper=end) - jobs["start"].clip(upper=end)
    return 100 * float((seconds * jobs["gpus"]).sum() / (8 * SERVERS * end))


def mean(column: str, jobs: Any) -> float:
    """Return the mean of a column."""
    return float(jobs[column].mean())


def percentile(column: str, of: float, jobs: Any) -> float:
    """Return a percentile of the jobs' seconds."""
    return float(np.percentile(jobs[column], of))


QUEUEING, COMPLETION = partial(percentile, "queueing"), partial(percentile, "jct")
high = partial(baseline, preset="paper-high")

SLOW = [
    Marginal("training in use, %", 72, 71, 73, "Table 5, row 1", baseline, used),
    Marginal(
        "queueing, 75th percentile, s", 1892, 1500, 2300, "Table 8", baseline, partial(QUEUEING, 75)
    ),
    Marginal(
        "queueing, 95th percentile, s", 8357, 7500, 9200, "Table 8", baseline, partial(QUEUEING, 95)
    ),
    Marginal(
        "queueing, 99th percentile, s",
        14323,
        11500,
        14500,
        "Table 8",
        baseline,
        partial(QUEUEING, 99),
    ),
    Marginal(
        "completion, mean s",
        16610,
        15800,
        17400,
        "Table 5, row 1",
        baseline,
        partial(mean, "jct"),
    ),
    Marginal(
        "completion, 95th percentile, s",
        82933,
        79000,
        87000,
        "Table 8",
        baseline,
        partial(COMPLETION, 95),
    ),
    Marginal(
        "completion, 99th percentile, s",
        376513,
        320000,
        380000,
        "Table 8",
        baseline,
        partial(COMPLETION, 99),
    ),
    Marginal(
        "preemptions per job", 0, 0, 0, "Table 5, row 1", baseline, partial(mean, "preemptions")
    ),
    Marginal(
        "queueing, mean s, paper-high",
        3072,
        2700,
        3400,
        "Table 5, row 1",
        high,
        partial(mean, "queueing"),
    ),
]
"""On the whole cluster, where a simulation takes ten seconds: measured when the page is written."""
