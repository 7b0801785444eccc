"""The workers given so far in an epoch, for the rules that give them one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from dlsched.problems.elastic.definition.job_choices import (
    Workers,
    base_of,
    running_time,
    solution_of,
)
from dlsched.problems.elastic.definition.schema import Instance, Solution
from dlsched.schema import Number


@dataclass
class Epoch:
    """Workers of the started jobs, by the job's number, and the GPUs that are left.

    Attributes
    ----------
    free
        GPUs left, of one kind, or in training and on loan.
    workers
        Workers of the jobs that have started.
    """

    instance: Instance
    free: list[int]
    workers: dict[int, Workers] = field(default_factory=dict)

    @classmethod
    def of(cls, instance: Instance) -> Epoch:
        """Return an instance's epoch at the beginning: running jobs are at their base."""
        jobs = enumerate(instance.jobs)
        held = {j: base_of(instance, job) for j, job in jobs if job.running}
        return cls(instance, list(instance.capacities), held)

    def start(self, j: int) -> bool:
        """Give a job its base workers; return whether they fit in a pool that it may use."""
        size = self.instance.jobs[j].gpus_per_worker
        for base in self._bases(j):
            if all(size * n <= free for n, free in zip(base, self.free, strict=True)):
                self.hold(j, base)
                return True
        return False

    def hold(self, j: int, base: Workers) -> None:
        """Give a job base workers."""
        self.workers[j] = (0,) * len(self.free)
        for pool, count in enumerate(base):
            self.add(j, pool, count)

    def _bases(self, j: int) -> Iterator[Workers]:
        """Iterate over where base workers may be, in the order of preference (5.3 and 6)."""
        job = self.instance.jobs[j]
        count = job.min_workers
        if job.running or not self.instance.pools:
            yield base_of(self.instance, job)
        elif job.heterogeneous:
            training = min(count, self.free[0] // job.gpus_per_worker)
            yield training, count - training
        elif not job.fungible:
            yield count, 0
        elif job.max_workers > count:
            yield from ((0, count), (count, 0))
        else:
            yield from ((count, 0), (0, count))

    def room(self, j: int, pool: int) -> int:
        """Return how many more workers a started job may have and a pool can hold."""
        job = self.instance.jobs[j]
        more = job.max_workers - sum(self.workers[j])
        return min(more, self.free[pool] // job.gpus_per_worker)

    def add(self, j: int, pool: int, more: int) -> None:
        """Give a started job more workers in a pool."""
        self.workers[j] = added(self.workers[j], pool, more)
        self.free[pool] -= more * self.instance.jobs[j].gpus_per_worker

    def running_time(self, j: int, pool: int = 0, more: int = 0) -> Number:
        """Return a started job's running time in seconds, with more workers in a pool."""
        workers = added(self.workers[j], pool, more)
        return running_time(self.instance, self.instance.jobs[j], workers)

    def grow_where_started(self, order: Iterable[int]) -> None:
        """Give started jobs as many workers as they may have, on loan first.

        They get them in the pools that hold some, so that their efficiency stays what it is.
        """
        for j in order:
            for pool in reversed(range(len(self.free))):
                if self.workers[j][pool]:
                    self.add(j, pool, self.room(j, pool))

    def solution(self) -> Solution:
        """Return the allocation of the started jobs."""
        jobs = self.instance.jobs
        return solution_of({jobs[j].id: workers for j, workers in sorted(self.workers.items())})


def added(workers: Workers, pool: int, more: int) -> Workers:
    """Return workers by pool with more in one of them."""
    return (*workers[:pool], workers[pool] + more, *workers[pool + 1 :])
