"""What Synergy prints of its simulated workloads, and of their completion times in proportion."""

from functools import cache, partial
from statistics import fmean, median
from typing import Any

from marginal import Marginal, percent

from dlsched.simulation import Cluster, simulate
from dlsched.simulation.workload.generators import synergy_workload

JOBS, MEASURED = 6500, slice(4000, 5000)
"""Jobs of a workload, and those whose completion times count, as in the authors' public code."""
LANGUAGE = ("gnmt", "transformer", "lstm")


@cache
def drawn(seed: int, **options: Any) -> Any:
    """Draw as many jobs as the paper measures."""
    return synergy_workload(1000, seed=seed, preset="paper", **options)


def minutes(workload: Any) -> list[float]:
    """Return the running times."""
    return [float(job.work) / 60 for job in workload.jobs]


def per_hour(workload: Any) -> float:
    """Jobs per hour."""
    return float(3600 * len(workload.jobs) / workload.jobs[-1].submit)


def demand(workload: Any) -> float:
    """GPU time of the jobs in per cent of that of 128 GPUs until the last one is submitted."""
    needed = sum(job.gpus * float(job.work) for job in workload.jobs)
    return float(100 * needed / (128 * float(workload.jobs[-1].submit)))


@cache
def completion(seed: int) -> Any:
    """Simulate the jobs at 9 per hour, in proportion and by FIFO, which ignores their profiles."""
    workload = synergy_workload(JOBS, seed=seed, preset="paper")
    return simulate(workload, Cluster.uniform(16), "fifo").jobs["jct"].to_numpy()[MEASURED] / 3600


MARGINALS = [
    Marginal("jobs of at most 1,000 minutes, %", 80, 78, 82, "section 5.1", drawn,
             percent(lambda time: time <= 1000, minutes)),
    Marginal("of these, median running time, minutes", 10**2.25, 170, 190, "section 5.1", drawn,
             lambda made: median(time for time in minutes(made) if time <= 1000)),
    Marginal("longest running time, minutes", 10_000, 9_500, 10_000, "section 5.1", drawn,
             lambda made: max(minutes(made))),
    Marginal("preset=paper: jobs per hour", 9, 8.7, 9.3, "Figure 9", drawn, per_hour),
    Marginal("preset=paper, multi: jobs per hour", 4, 3.9, 4.1, "Figure 7",
             partial(drawn, multi=True), per_hour),
    Marginal("language jobs, %", 70, 69.5, 70.5, "section 5.3", drawn,
             percent(lambda job: job.model in LANGUAGE)),
    Marginal("multi: jobs with one GPU, %", 70, 68, 72, "the authors' public code",
             partial(drawn, multi=True), percent(lambda job: job.gpus == 1)),
    Marginal("preset=paper-high, multi: demand above 100 % of 128 GPUs, %", 100, 100, 150,
             "section 5.4, Figure 10", lambda seed: synergy_workload(
                 1000, seed=seed, preset="paper-high", multi=True), demand),
]  # fmt: skip
SLOW = [
    Marginal("preset=paper: average completion time by FIFO, seed 42, h", 81, 77, 85, "Figure 9",
             lambda _: completion(42), fmean),
    Marginal("preset=paper: average completion time by FIFO, h", 81, 65, 97, "Figure 9",
             completion, fmean),
]  # fmt: skip
