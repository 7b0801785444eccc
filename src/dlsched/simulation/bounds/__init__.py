"""Certified lower bounds on mean completion time and makespan, over all policies."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from dlsched.errors import OptionError
from dlsched.simulation.bounds import makespan, mean
from dlsched.simulation.bounds.demands import demands
from dlsched.simulation.bounds.sharing import stage_sharing
from dlsched.simulation.workload.clock import TICKS
from dlsched.simulation.workload.cluster import Cluster
from dlsched.simulation.workload.workload import Workload

METRICS = ("mean_jct", "makespan")


class MetricBound(NamedTuple):
    """A lower bound on a metric, in seconds.

    Attributes
    ----------
    value
        The bound; every operation behind it was exact or rounded down.
    source
        Which of the bounds it is.
    """

    value: Fraction
    source: str


def bound(
    workload: Workload,
    cluster: Cluster,
    metric: str = "mean_jct",
    *,
    sharing: bool = False,
) -> MetricBound:
    """Return the greatest lower bound on a metric that holds for every policy.

    Every policy whose jobs are as fast as the jobs and the cluster say; not one that states other
    speeds.

    Parameters
    ----------
    metric
        ``"mean_jct"`` or ``"makespan"``.
    sharing
        Whether policies may let jobs share GPUs by interleaving their stages.

    Raises
    ------
    OptionError
        If there is no bound on this metric, or on these jobs.
    """
    if metric not in METRICS:
        raise OptionError(f"there is no bound on {metric!r}, only on: {', '.join(METRICS)}")
    if metric == "makespan":
        d = demands(workload, cluster)
        if sharing:
            d = makespan.sharing_demands(stage_sharing(workload, cluster))
        value, source = makespan.of_demands(d)
    elif sharing:
        d, proof = mean.prove_sharing(stage_sharing(workload, cluster))
        value, source = proof.total(d)
    else:
        d = demands(workload, cluster)
        value, source = mean.prove(d).total(d)
    if metric == "mean_jct":
        value = (value - sum(job.submit_ticks for job in workload.jobs)) / len(workload.jobs)
    return MetricBound(value / TICKS, source)


__all__ = ["METRICS", "MetricBound", "bound"]
