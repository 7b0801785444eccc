"""Certified lower bounds on mean completion time and makespan, over all policies."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from dlsched.errors import OptionError
from dlsched.simulation.bounds import makespan, pooled
from dlsched.simulation.bounds.demands import Demands, demands, mixtures
from dlsched.simulation.bounds.prices import total_by_prices
from dlsched.simulation.clock import TICKS
from dlsched.simulation.cluster import Cluster
from dlsched.simulation.workload import Workload

METRICS = ("mean_jct", "makespan")


class MetricBound(NamedTuple):
    """A lower bound on a metric, in seconds.

    Attributes
    ----------
    value
        The bound; every operation behind it was exact or rounded down.
    source
        Which of the bounds it is.
    weights
        Weights of the resources, where jobs may share GPUs.
    """

    value: Fraction
    source: str
    weights: tuple[Fraction, ...] | None = None


def bound(
    workload: Workload, cluster: Cluster, metric: str = "mean_jct", *, sharing: bool = False
) -> MetricBound:
    """Return the greatest lower bound on a metric that holds for every policy.

    Parameters
    ----------
    metric
        ``"mean_jct"`` or ``"makespan"``.
    sharing
        Whether policies may let jobs share GPUs: by interleaving their stages, or in layers
        (`dlsched.simulation.policy.BasePolicy`), where no resource is used more than all of the
        time either.

    Raises
    ------
    OptionError
        If there is no bound on this metric.
    """
    if metric not in METRICS:
        raise OptionError(f"there is no bound on {metric!r}, only on: {', '.join(METRICS)}")
    every = [None] if not sharing else list(mixtures(_resources(workload)))
    if metric == "makespan":
        return max(
            (_makespan(demands(workload, cluster, weights), weights) for weights in every),
            key=lambda found: found.value,
        )
    start = sum(job.submit_ticks for job in workload.jobs)
    # The weights for which the pooled machine needs longest; any are valid.
    weights = every[0]
    if sharing:
        weights = max(every, key=lambda w: pooled.total_by_busy_time(demands(workload, cluster, w)))
    d = demands(workload, cluster, weights)
    total, source = _pooled(d)
    priced, _ = total_by_prices(d, 1.2 * float(total))
    if priced > total:
        total, source = priced, "prices of GPU time"
    n = len(workload.jobs)
    return MetricBound((total - start) / n / TICKS, source, weights)


def _pooled(d: Demands) -> tuple[Fraction, str]:
    return max(
        (pooled.total_by_remaining_time(d), "shortest remaining time on a pooled machine"),
        (pooled.total_of_submission_and_length(d), "each job alone"),
        (pooled.total_by_busy_time(d), "mean busy time on a pooled machine"),
    )


def _makespan(d: Demands, weights: Sequence[Fraction] | None) -> MetricBound:
    value, source = max(
        (makespan.longest_job(d), "each job alone"),
        (makespan.pooled_work(d), "GPU time on all GPUs"),
    )
    return MetricBound(value / TICKS, source, None if weights is None else tuple(weights))


def _resources(workload: Workload) -> int:
    counts = {len(job.stages) for job in workload.jobs}
    if len(counts) != 1 or counts == {0}:
        raise OptionError("the jobs have no stages, or not equally many; sharing is undefined")
    return counts.pop()


__all__ = ["METRICS", "MetricBound", "bound"]
