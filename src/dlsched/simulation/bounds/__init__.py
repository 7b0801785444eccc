"""Certified lower bounds on mean completion time and makespan, over all policies."""

from fractions import Fraction
from operator import add
from typing import NamedTuple

import numpy as np

from dlsched.errors import OptionError
from dlsched.simulation.bounds import makespan, mean
from dlsched.simulation.bounds.demands import demands
from dlsched.simulation.bounds.sharing import stage_sharing
from dlsched.simulation.workload.clock import TICKS, ticks
from dlsched.simulation.workload.cluster import Cluster
from dlsched.simulation.workload.eligibility import eligibility
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
    speeds. A job that may be withdrawn takes no GPUs for certain. The mean is of the jobs that are
    complete: of those it has the ones that lower it, each as if it were alone.

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
    if sharing and not any(job.stages for job in workload.jobs):
        raise OptionError("the jobs have no stages; sharing is undefined")
    certain = tuple(job for job in workload.jobs if job.cancelled is None)
    others = tuple(
        j for j in workload.jobs if j.cancelled is not None and ticks(j.cancelled) > j.submit_ticks
    )
    alone: list[int] = []
    if others:
        d = demands(workload.model_copy(update={"jobs": others}), cluster)
        alone = sorted(d.lengths)
        if not certain:
            soonest = alone[0] if metric == "mean_jct" else min(map(add, d.release, d.lengths))
            return MetricBound(Fraction(soonest) / TICKS, "each job alone")
    if not certain:
        raise OptionError("every job is withdrawn when it is submitted: none is ever complete")
    some = workload.model_copy(update={"jobs": certain})
    found = [_of_part(*part, metric, sharing) for part in parts(some, cluster)]
    value, source = max(found)
    if metric == "mean_jct":
        value = sum(total for total, _ in found) - Fraction(
            sum(job.submit_ticks for job in certain)
        )
        count = len(certain)
        for length in alone:
            if length * count < value:
                value += length
                count += 1
        value /= count
    return MetricBound(value / TICKS, source)


def parts(workload: Workload, cluster: Cluster) -> list[tuple[Workload, Cluster]]:
    """Return the jobs and servers that are connected by where the jobs may run, each part apart."""
    where = eligibility(workload, cluster)
    if where.everywhere:
        return [(workload, cluster)]
    found = []
    for classes, server_classes in where.components:
        jobs = np.flatnonzero(np.isin(where.of_job, classes))
        servers = np.flatnonzero(np.isin(where.of_server, server_classes))
        if not len(servers):
            name = workload.jobs[jobs[0]].id
            raise OptionError(f"job {name} can run on no GPU of the cluster; it has no bound")
        part = workload.model_copy(update={"jobs": tuple(workload.jobs[j] for j in jobs)})
        servers_there = tuple(cluster.servers[i] for i in servers)
        found.append((part, cluster.model_copy(update={"servers": servers_there})))
    return found


def _of_part(
    workload: Workload, cluster: Cluster, metric: str, sharing: bool
) -> tuple[Fraction, str]:
    """Return a bound on the makespan or the sum of completion times, and its source."""
    shared = None
    if sharing and any(job.stages for job in workload.jobs):
        shared = stage_sharing(workload, cluster)
    if metric == "makespan":
        if shared is not None:
            return makespan.of_demands(makespan.sharing_demands(shared))
        return makespan.of_demands(demands(workload, cluster))
    if shared is not None:
        d, proof = mean.prove_sharing(shared)
        return proof.total(d)
    d = demands(workload, cluster)
    return mean.prove(d).total(d)


__all__ = ["METRICS", "MetricBound", "bound"]
