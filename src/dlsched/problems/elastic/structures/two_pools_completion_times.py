"""Workers of jobs that are served in an order of priority, on two pools."""

from __future__ import annotations

from collections.abc import Sequence

from dlsched.problems.elastic.definition.schema import Instance, Job
from dlsched.problems.elastic.definition.two_pools_choices import Split, base_of
from dlsched.problems.elastic.structures.two_pools_epoch import Epoch
from dlsched.schema import Number


class PoolShares:
    """Running times of jobs that share the GPUs of both pools, from one completion to the next.

    Attributes
    ----------
    gpus
        GPUs by pool: the capacities and what the base workers of running jobs hold.
    """

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.number = {job.id: j for j, job in enumerate(instance.jobs)}
        self.gpus = [pool.capacity for pool in instance.by_pool]
        for job in instance.jobs:
            if job.running:
                for pool, workers in enumerate(base_of(instance, job)):
                    self.gpus[pool] += workers * job.gpus_per_worker
        self._home: dict[int, Split] = {}

    def running_times(
        self, jobs: Sequence[Job], order: Sequence[Job], *, equal: bool
    ) -> dict[str, Number]:
        """Return the running times of the jobs that have workers.

        Parameters
        ----------
        jobs
            The jobs that are left, those that have started first.
        order
            All jobs in the order of service.
        """
        epoch = Epoch(self.instance, list(self.gpus))
        for job in jobs:
            j = self.number[job.id]
            if j in self._home:
                epoch.hold(j, self._home[j])
            elif epoch.start(j):
                self._home[j] = epoch.workers[j]
        started = [j for job in order if (j := self.number[job.id]) in epoch.workers]
        grows = True
        while grows:
            grows = epoch.grow_where_started(started, at_most=1 if equal else None)
        return {self.instance.jobs[j].id: epoch.running_time(j) for j in started}
