"""What Hadar prints of its workload, and what Gavel's authors measured of the same models."""

from collections.abc import Callable
from functools import cache
from typing import Any

from marginal import Marginal, percent, within

import dlsched

HOURS = {"small": (0, 1), "medium": (1, 10), "large": (10, 50), "extra large": (60, 100)}
"""GPU hours of the groups of section IV-A; hours are known of drawn ones to a hundredth."""
MEASURED = "Gavel's measurements, uniform among sizes, models and batch sizes"


@cache
def section4(seed: int) -> Any:
    """Draw section IV's jobs and cluster."""
    return dlsched.generate("utility", seed, jobs=480, slots=6000, gpus=60, utilization=None)


@cache
def any_order(seed: int) -> Any:
    """Draw rates as in section II-A."""
    return dlsched.generate("utility", seed, jobs=480, slots=6000, gpus=60, rates="any_order")


def hours(job: Any) -> float:
    """Return the GPU hours of a job on its fastest type."""
    return float(job.iterations / max(job.rates.values()) * job.workers / 3600)


def jobs(named: str, printed: float, band: float, source: str, holds: Callable[[Any], bool],
         draw: Callable[[int], Any] = section4) -> Marginal:  # fmt: skip
    """Return a marginal: per cent of the jobs of which something holds."""
    return within(f"{named}, % of the jobs", printed, band, source, draw, percent(holds))


def of_group(low: float, high: float) -> Callable[[Any], bool]:
    """Return whether a job is in a group."""
    return lambda job: 0.99 * low <= hours(job) < 1.01 * high


def faster(kind: str, than: str) -> Callable[[Any], bool]:
    """Return whether a job is faster on a type than on another."""
    return lambda job: job.rates[kind] > job.rates[than]


MARGINALS = [
    *(
        Marginal(f"GPUs of type {kind}", 20, 20, 20, "section IV", section4,
                 lambda made, kind=kind: made.supply[kind])
        for kind in ("V100", "P100", "K80")
    ),
    Marginal("jobs", 480, 480, 480, "section IV-A", section4, lambda made: len(made.jobs)),
    Marginal("length of a slot, s", 360, 360, 360, "section IV", section4,
             lambda made: float(made.slot_seconds)),
    jobs("present from the first slot", 100, 0, "section IV-A", lambda job: job.arrival == 1),
    *(
        jobs(f"{name}, {low} to {high} GPU hours", 25, 3, "section IV-A, uniformly sampled",
             of_group(low, high))
        for name, (low, high) in HOURS.items()
    ),
    jobs("faster on P100 than on V100", 25, 5, MEASURED, faster("P100", "V100")),
    jobs("faster on K80 than on V100", 10, 3, MEASURED, faster("K80", "V100")),
    jobs("faster on K80 than on P100", 0, 0, MEASURED, faster("K80", "P100")),
    *(
        jobs(f"rates=any_order: fastest on {kind}", 100 / 3, 3, f"section II-A, matrix X: {job}",
             lambda job, kind=kind: job.rates[kind] == max(job.rates.values()), any_order)
        for job, kind in (("J1", "V100"), ("J2", "P100"), ("J3", "K80"))
    ),
]  # fmt: skip
