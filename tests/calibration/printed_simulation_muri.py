"""What Muri's authors print and publish of their first trace, and of baselines on it."""

from functools import cache, partial
from typing import Any

import numpy as np
from marginal import Marginal, percent, percentile, within

from dlsched.simulation import Cluster, simulate
from dlsched.simulation.workload.generators import muri_workload

TRACE = "the authors' trace 1"
BOTTLENECKS = {
    "storage": ("shufflenet", "resnet18"),
    "CPU": ("a2c", "dqn"),
    "GPU": ("gpt2", "bert"),
    "network": ("vgg16", "vgg19"),
}
"""Table 3."""


@cache
def drawn(seed: int, **options: Any) -> Any:
    """Draw as many jobs as the trace has."""
    return muri_workload(seed=seed, **options)


def hours(workload: Any) -> list[float]:
    """Return the durations."""
    return [float(job.work) / 3600 for job in workload.jobs]


def same_size(workload: Any) -> float:
    """Per cent of the jobs with the GPUs of the job before."""
    gpus = np.array([job.gpus for job in workload.jobs])
    return 100 * float(np.mean(gpus[1:] == gpus[:-1]))


def demand(workload: Any) -> float:
    """GPU time of the jobs over that of 64 GPUs until the last submission."""
    needed = sum(job.gpus * float(job.work) for job in workload.jobs)
    return float(needed / (64 * float(workload.jobs[-1].submit)))


def days(policy: str, figure: str, workload: Any) -> float:
    """Return a figure of a simulation."""
    return float(simulate(workload, Cluster.uniform(8), policy).summary[figure]) / 86_400


def completion(policy: str, printed: float, low: float, high: float) -> Marginal:
    """Return the marginal of a baseline's mean completion time."""
    return Marginal(f"preset=paper: mean completion time with {policy}, days", printed, low, high,
                    "Figure 9, published values of trace 1", partial(drawn, preset="paper"),
                    partial(days, policy, "mean_jct"))  # fmt: skip


many = partial(drawn, jobs=10_000)
MARGINALS = [
    Marginal("jobs", 1494, 1494, 1494, TRACE, drawn, lambda made: len(made.jobs)),
    *(
        within(f"with {gpus} GPUs, % of the jobs", 100 * jobs / 1494, band, TRACE, drawn,
               percent(lambda job, gpus=gpus: job.gpus == gpus))
        for gpus, jobs, band in ((1, 536, 3), (4, 423, 3), (8, 465, 3), (16, 40, 1), (32, 25, 1))
    ),
    *(
        Marginal(f"bottleneck {name}, % of the jobs", 25, 23, 27, "section 6.1, Table 3", drawn,
                 percent(lambda job, models=models: job.model in models))
        for name, models in BOTTLENECKS.items()
    ),
    Marginal("duration of 10,000 jobs, hours, P50", 4.0, 3, 5, TRACE, many, percentile(0.5, hours)),
    Marginal("duration of 10,000 jobs, hours, P90", 182.2, 160, 205, TRACE, many,
             percentile(0.9, hours)),
    Marginal("with the GPUs of the job before, %", 80.8, 78, 83, TRACE, drawn, same_size),
    Marginal("preset=paper-low: demand over supply", 0.80, 0.79, 0.81, "the authors' trace 3",
             partial(drawn, preset="paper-low"), demand),
    Marginal("preset=paper-high: demand over supply", 5.41, 5.35, 5.45, "the authors' trace 2",
             partial(drawn, preset="paper-high"), demand),
]  # fmt: skip
SLOW = [completion("srtf", 15.86, 14.5, 17.5), completion("srsf", 11.34, 10.5, 13)]
