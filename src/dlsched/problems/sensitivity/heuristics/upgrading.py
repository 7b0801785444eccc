"""Faster choices for placed jobs, one step at a time, where their servers have the capacity."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from fractions import Fraction

from dlsched.problems.sensitivity.definition.schema import Choice, Job
from dlsched.problems.sensitivity.structures.free_resources import Cluster


def upgrade(cluster: Cluster, jobs: Sequence[Job]) -> None:
    """Upgrade one job's choice at a time, that with the smallest dominant share first.

    The dominant share is the larger of a job's shares of the cluster's CPUs and memory. The job
    gets its next faster choice if its servers have the capacity, else its choice is final; until
    all choices are final. Ties go to the first of `jobs`.
    """
    instance = cluster.instance
    total = instance.servers.count * cluster.full.astype(object)
    ladders = {
        name: sorted(choices, key=Choice.rank) for name, choices in instance.undominated.items()
    }

    def dominant(job: Job, choice: Choice) -> Fraction:
        demand = instance.profile(job).gpus * cluster.demand(choice)
        return max(Fraction(int(demand[r]), int(total[r])) for r in (1, 2))

    heap = [(dominant(job, cluster.given[job.id][0]), i) for i, job in enumerate(jobs)]
    heapq.heapify(heap)
    while heap:
        _, i = heapq.heappop(heap)
        job = jobs[i]
        now = cluster.given[job.id][0]
        better = [c for c in ladders[job.profile] if c.throughput > now.throughput]
        if better and cluster.fits_changed(job.id, better[0]):
            cluster.change(job.id, better[0])
            heapq.heappush(heap, (dominant(job, better[0]), i))
