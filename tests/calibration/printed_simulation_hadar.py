"""What Hadar prints of its simulation's workload and of its baselines (section IV)."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

from marginal import Marginal, percent, within

from dlsched.simulation import simulate
from dlsched.simulation.bounds import bound
from dlsched.simulation.workload.generators import hadar_cluster, hadar_workload

HOURS = {"small": (0, 1), "medium": (1, 10), "large": (10, 50), "extra large": (60, 100)}
"""GPU-hours of the groups of section IV-A."""
MEASURED = "Gavel's measurements, uniform among sizes, models of Table III and batch sizes"


@cache
def section4(seed: int) -> Any:
    """Draw the jobs with their GPU-hours as printed."""
    return hadar_workload(preset="paper-high", scale=1, seed=seed)


def jobs(named: str, printed: float, band: float, source: str, holds: Any) -> Marginal:
    """Return a marginal: per cent of the jobs of which something holds."""
    return within(f"{named}, % of the jobs", printed, band, source, section4, percent(holds))


def of_group(low: float, high: float) -> Callable[[Any], bool]:
    """Return whether a job is in a group."""
    return lambda job: low < float(job.work) * job.gpus / 3600 <= high + 1e-6


def duration(policy: str, workload: Any) -> float:
    """Return the hours until all jobs are complete."""
    # Tiresias has two queues and no promotion, and decides in rounds of six minutes.
    options = {"limits": (3600,), "interval": 360} if policy == "tiresias" else {}
    return float(simulate(workload, hadar_cluster(), policy, **options).summary["makespan"]) / 3600


def least(workload: Any) -> float:
    """Return the hours that no policy can be below."""
    return float(bound(workload, hadar_cluster(), "makespan").value) / 3600


def baseline(preset: str, policy: str, printed: float, band: float) -> Marginal:
    """Return the marginal of a baseline's total time duration."""
    return within(f"preset={preset}: duration with {policy}, h", printed, band,
                  "section IV-B, Figure 4", lambda seed: hadar_workload(preset=preset, seed=seed),
                  partial(duration, policy))  # fmt: skip


MARGINALS = [
    *(
        Marginal(f"GPUs of type {kind}", 20, 20, 20, "section IV", lambda seed: hadar_cluster(),
                 lambda cluster, kind=kind: cluster.gpus_by_type[kind])
        for kind in ("V100", "P100", "K80")
    ),
    Marginal("jobs", 480, 480, 480, "section IV-A", section4, lambda made: len(made.jobs)),
    jobs("submitted at 0", 100, 0, "section IV-A", lambda job: job.submit == 0),
    jobs("with 10 s of a restart", 100, 0, "section IV", lambda job: job.restart == 10),
    *(
        jobs(f"scale=1: {name}, {low} to {high} GPU-hours", 25, 2,
             "section IV-A, uniformly sampled", of_group(low, high))
        for name, (low, high) in HOURS.items()
    ),
    jobs("faster on P100 than on V100", 12.5, 2.5, MEASURED,
         lambda job: job.rates["P100"] > job.rates["V100"]),
    *(
        jobs(f"with {number} GPUs", share, 2, "Gavel's public code, of the trace of section IV-A",
             lambda job, number=number: job.gpus == number)
        for number, share in ((1, 70), (2, 10), (4, 15), (8, 5))
    ),
    baseline("paper", "yarn_cs", 68, 4),
    baseline("paper-low", "tiresias", 54, 4),
    Marginal("preset=paper-high: certified least duration, at most Hadar's, h", 40, 38, 42,
             "section IV-B, Figure 4", lambda seed: hadar_workload(preset="paper-high", seed=seed),
             least),
]  # fmt: skip
