"""What Lyra prints of its trace, and of the baseline's queueing on it (sections 2 and 7)."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from marginal import Marginal, percent

from dlsched.simulation import simulate
from dlsched.simulation.workload.generators import inference_load, lyra_cluster, lyra_workload

SERVERS, DAYS, DAY = 443, 15, 86_400
EIGHTH = 56
"""Servers of the smaller cluster on which shares are measured; jobs per GPU are as many."""


@cache
def drawn(seed: int, **options: Any) -> Any:
    """Draw the jobs of an eighth of the cluster."""
    return lyra_workload(EIGHTH, seed=seed, **options)


def is_elastic(job: Any) -> bool:
    """Whether a job can have more than it requests."""
    return bool(job.max_gpus > job.gpus)


def gpu_time(chosen: Callable[[Any], object], workload: Any) -> float:
    """Per cent of the GPU time that some of the jobs have."""
    area = np.array([job.gpus * float(job.work) for job in workload.jobs])
    return 100 * float(area[[bool(chosen(job)) for job in workload.jobs]].sum() / area.sum())


def running_hours(chosen: Callable[[Any], object], workload: Any) -> float:
    """Mean running time of some of the jobs in hours."""
    return float(np.mean([float(job.work) for job in workload.jobs if chosen(job)])) / 3600


def inference(measure: Callable[[Any], float], seed: int) -> float:
    """Per cent of the inference cluster in use in a week."""
    return 100 * float(measure(inference_load(7, seed=seed)))


def lent(seed: int) -> float:
    """Servers on loan at most in a week, of those of the paper."""
    return max(loan.servers for loan in lyra_cluster(days=7, seed=seed).loans)


def itself(seed: int) -> int:
    """Return the seed: what is measured is drawn then."""
    return seed


elastic, heterogeneous = percent(is_elastic), percent(lambda job: job.heterogeneous)
ideal = partial(drawn, scenario="ideal")

MARGINALS = [
    Marginal("jobs in 15 days", 50_390, 50_200, 50_600, "section 7.1", drawn,
             lambda made: len(made.jobs) * SERVERS / EIGHTH),
    Marginal("elastic jobs, %", 5, 4.9, 5.1, "section 2.2", drawn, elastic),
    Marginal("GPU time of elastic jobs, %", 36, 35.5, 36.5, "section 2.2", drawn,
             partial(gpu_time, is_elastic)),
    Marginal("running time of elastic jobs, mean hours", 14.2, 13.2, 15.2, "section 2.2", drawn,
             partial(running_hours, is_elastic)),
    Marginal("running time, mean hours: completion less queueing", 3.76, 3.4, 4.4,
             "Table 5, row 1", drawn, partial(running_hours, lambda job: True)),
    Marginal("GPU time of fungible jobs, basic, %", 21, 20.5, 21.5, "section 7.1", drawn,
             partial(gpu_time, lambda job: job.fungible)),
    Marginal("heterogeneous jobs, advanced, %", 10, 9.9, 10.1, "section 7.1",
             partial(drawn, scenario="advanced"), heterogeneous),
    Marginal("elastic jobs, ideal, %", 100, 100, 100, "section 7.1", ideal, elastic),
    Marginal("heterogeneous jobs, ideal, %", 100, 100, 100, "section 7.1", ideal, heterogeneous),
    Marginal("inference in use, least, %", 42, 42, 42.5, "Figure 1", itself,
             partial(inference, np.min)),
    Marginal("inference in use, most, %", 95, 94.5, 95, "Figure 1", itself,
             partial(inference, np.max)),
    Marginal("inference in use, mean, %", 65, 64.5, 65.5, "section 2.1", itself,
             partial(inference, np.mean)),
    Marginal("servers on loan, at most: 98 % - 42 % of 520", 291, 291, 291,
             "Figure 1, section 7.1", itself, lent),
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


def mean(column: str) -> Callable[[Any], float]:
    """Return the measure of the mean of a column."""
    return lambda jobs: float(jobs[column].mean())


def percentile(column: str, of: float) -> Callable[[Any], float]:
    """Return the measure of a percentile of the jobs' seconds."""
    return lambda jobs: float(np.percentile(jobs[column], of))


queueing, completion = partial(percentile, "queueing"), partial(percentile, "jct")
SLOW = [
    Marginal("training in use, %", 72, 71, 73, "Table 5, row 1", baseline, used),
    *(
        Marginal(name, printed, low, high, source, baseline, measure)
        for name, printed, low, high, source, measure in (
            ("queueing, 75th percentile, s", 1892, 1500, 2300, "Table 8", queueing(75)),
            ("queueing, 95th percentile, s", 8357, 7500, 9200, "Table 8", queueing(95)),
            ("queueing, 99th percentile, s", 14323, 11500, 14500, "Table 8", queueing(99)),
            ("completion, mean s", 16610, 15800, 17400, "Table 5, row 1", mean("jct")),
            ("completion, 95th percentile, s", 82933, 79000, 87000, "Table 8", completion(95)),
            ("completion, 99th percentile, s", 376513, 320000, 380000, "Table 8", completion(99)),
        )
    ),
    Marginal("preemptions per job", 0, 0, 0, "Table 5, row 1", baseline, mean("preemptions")),
    Marginal("queueing, mean s, paper-high", 3072, 2700, 3400, "Table 5, row 1",
             partial(baseline, preset="paper-high"), mean("queueing")),
]  # fmt: skip
"""On the whole cluster, where a simulation takes ten seconds: measured when the page is written."""
