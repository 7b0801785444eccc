"""What any policy has to spend on a job: GPU time, and time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from dlsched.simulation.bounds.capacity import Capacity, Steps, steps
from dlsched.simulation.cluster import Cluster
from dlsched.simulation.job import Job
from dlsched.simulation.workload import Workload


class Demands(NamedTuple):
    """Lower bounds on what each job takes, in the order of submission; whole microseconds.

    Attributes
    ----------
    gpus
        GPUs of the cluster; the most of them at any time if their number changes.
    release, area, length
        Submission; GPU time; time with the GPUs at which it runs fastest.
    steps
        (time, GPUs from then on), the first at 0; empty if there are always `gpus`.
    """

    gpus: int
    release: tuple[int, ...]
    area: tuple[int, ...]
    length: tuple[int, ...]
    steps: Steps = ()

    @property
    def capacity(self) -> Capacity:
        """The cluster's GPU time."""
        return Capacity(self.steps or ((0, self.gpus),))


def demands(
    workload: Workload, cluster: Cluster, weights: Sequence[Fraction] | None = None
) -> Demands:
    """Return the demands of a workload. Overheads are left out: a policy may cause none.

    A job's time is its work at the greatest speed that it can have: most GPUs, fastest type of the
    cluster, best CPUs and memory. Its GPU time is the least for the same speed per GPU.

    Parameters
    ----------
    weights
        For policies that let jobs share GPUs: nonnegative weights of the resources, of sum 1. A
        group's iteration is at least as long as the stages of any one resource add up to, hence
        as their weighted sum; so each job counts for the weighted sum of its own stages, in place
        of the sum of all of them. None for policies that do not share.
    """
    rows = [_demand(job, workload, cluster, weights) for job in workload.jobs]
    release = tuple(job.submit_ticks for job in workload.jobs)
    area, length = tuple(a for a, _ in rows), tuple(p for _, p in rows)
    found = steps(cluster)
    most = max(gpus for _, gpus in found)
    return Demands(most, release, area, length, found if len(found) > 1 else ())


def _demand(
    job: Job, workload: Workload, cluster: Cluster, weights: Sequence[Fraction] | None
) -> tuple[int, int]:
    # GPUs above the fewest may add less than one GPU without loss: `Job.throughput` counts those.
    work = job.work_ticks * Fraction(job.throughput(job.gpus))
    work /= _speed_per_gpu(job, workload, cluster)
    area, length = work, work / Fraction(job.throughput(job.max_gpus))
    stages = [Fraction(stage) for stage in job.stages]
    if weights is not None and any(stages):
        charge = sum((w * s for w, s in zip(weights, stages, strict=True)), Fraction(0))
        area *= charge / sum(stages, Fraction(0))
    return math.floor(area), math.floor(length)


def _speed_per_gpu(job: Job, workload: Workload, cluster: Cluster) -> Fraction:
    """Return the greatest speed of a job per GPU that it asked for, relative to `Job.work`."""
    fastest = Fraction(1)
    if job.rates and job.gpu_type is not None:
        types = {server.gpu_type or "" for server in cluster.servers}
        fastest *= max(Fraction(job.rates.get(kind, 0)) for kind in types)
        fastest /= job.rates[job.gpu_type]
    if job.profile is not None:
        matrix = workload.matrices[job.profile]
        fastest *= max(max(map(Fraction, row)) for row in matrix.throughput)
        fastest /= matrix.at(*matrix.share)
    return fastest


def mixtures(resources: int, steps: int = 8) -> Iterator[tuple[Fraction, ...]]:
    """Yield weights of resources that are multiples of 1 / `steps` and of sum 1."""

    def parts(count: int, left: int) -> Iterator[tuple[int, ...]]:
        if count == 1:
            yield (left,)
            return
        for first in range(left + 1):
            for rest in parts(count - 1, left - first):
                yield first, *rest

    for part in parts(resources, steps):
        yield tuple(Fraction(value, steps) for value in part)
