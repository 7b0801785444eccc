"""Lyra's two phases on two pools (sections 5.2, 5.3 and 6)."""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction

from dlsched.problems.elastic.knapsack import assemble
from dlsched.problems.elastic.pools.workers import Split, base_of, running_time, solution_of
from dlsched.problems.elastic.schema import Instance, Job
from dlsched.problems.elastic.search import Search
from dlsched.result import Claim
from dlsched.run import Run
from dlsched.schema import Number


def two_phases(instance: Instance, run: Run, shortest: str) -> Claim:
    """Return what the heuristic `lyra` does, for an instance with two pools; see there.

    Both phases are done for all jobs but the heterogeneous ones, then for these.
    """
    epoch = _Epoch(instance, run)
    for mixed in (False, True):
        jobs = [j for j, job in enumerate(instance.jobs) if job.heterogeneous is mixed]
        waiting = [j for j in jobs if not instance.jobs[j].running]
        for j in sorted(waiting, key=lambda j: _length(instance, instance.jobs[j], shortest)):
            epoch.start(j)
        epoch.grow(jobs, 1)
        epoch.grow(jobs, 0)
    workers = {instance.jobs[j].id: pair for j, pair in sorted(epoch.workers.items())}
    return Claim(solution=solution_of(workers))


def _length(instance: Instance, job: Job, shortest: str) -> Number:
    """Return a job's running time on its fastest pool, with base workers or with the most."""
    count = job.min_workers if shortest == "base" else job.max_workers
    training, _ = base_of(instance, job)
    return running_time(instance, job, (count, 0) if training else (0, count))


class _Epoch:
    """The workers given so far, by the job's number, and the GPUs that are left."""

    def __init__(self, instance: Instance, run: Run) -> None:
        self.instance, self.run = instance, run
        self.free = [pool.capacity for pool in instance.by_pool]
        self.workers = {
            j: base_of(instance, job) for j, job in enumerate(instance.jobs) if job.running
        }

    def start(self, j: int) -> None:
        """Give a pending job its base workers, if they fit in a pool that it may use."""
        job = self.instance.jobs[j]
        for pair in self._bases(job):
            gpus = [job.gpus_per_worker * n for n in pair]
            if gpus[0] <= self.free[0] and gpus[1] <= self.free[1]:
                self.free = [f - g for f, g in zip(self.free, gpus, strict=True)]
                self.workers[j] = pair
                return

    def _bases(self, job: Job) -> list[Split]:
        """Return where base workers may be, in the order of preference (sections 5.3 and 6)."""
        count = job.min_workers
        if job.heterogeneous:
            training = min(count, self.free[0] // job.gpus_per_worker)
            return [(training, count - training)]
        if not job.fungible:
            return [(count, 0)]
        elastic = job.max_workers > count
        return [(0, count), (count, 0)] if elastic else [(count, 0), (0, count)]

    def grow(self, jobs: Collection[int], pool: int) -> None:
        """Divide a pool's GPUs among started jobs: the multiple-choice knapsack of Figure 6.

        A job that is not heterogeneous grows in its own pool only.
        """
        rows: list[tuple[int, int, int, int]] = []
        ratios: list[tuple[int, int]] = []
        for j in jobs:
            job, now = self.instance.jobs[j], self.workers.get(j)
            if now is None or not (now[pool] or job.heterogeneous):
                continue
            before = running_time(self.instance, job, now)
            best: Number = 0
            for more in range(1, job.max_workers - sum(now) + 1):
                gpus = more * job.gpus_per_worker
                if gpus > self.free[pool]:
                    break
                saved = before - running_time(self.instance, job, _added(now, pool, more))
                if saved > best:
                    best = saved
                    rows.append((j, more, gpus, 0))
                    ratios.append(Fraction(saved).as_integer_ratio())
        items = assemble(rows, ratios, self.free[pool])
        search = Search(items, self.run)
        search.solve()
        for i in search.incumbent or ():
            j, more = int(items.job[i]), int(items.workers[i])
            self.workers[j] = _added(self.workers[j], pool, more)
            self.free[pool] -= more * self.instance.jobs[j].gpus_per_worker


def _added(workers: Split, pool: int, more: int) -> Split:
    return (workers[0], workers[1] + more) if pool else (workers[0] + more, workers[1])
