"""Lyra's two phases on two pools (sections 5.2, 5.3 and 6), the greedy rule, and the baselines."""

from __future__ import annotations

import heapq
from collections.abc import Collection
from fractions import Fraction
from typing import TypeAlias

from dlsched.problems.elastic.definition.schema import Instance, Job, Solution
from dlsched.problems.elastic.definition.two_pools_choices import fastest_time, solution_of
from dlsched.problems.elastic.programs.knapsack_search import KnapsackSearch
from dlsched.problems.elastic.structures.items import Ratio
from dlsched.problems.elastic.structures.knapsack import assemble
from dlsched.problems.elastic.structures.two_pools_epoch import Epoch
from dlsched.results.result import Claim
from dlsched.run import Run
from dlsched.schema import Number

_Step: TypeAlias = tuple[Fraction, int, int, int]


def two_phases(instance: Instance, run: Run, shortest: str) -> Claim:
    """Return what the heuristic `lyra` does, for an instance with two pools; see there.

    Both phases are done for all jobs but the heterogeneous ones, then for these.
    """

    def length(j: int) -> Number:
        job = instance.jobs[j]
        count = job.min_workers if shortest == "base" else job.max_workers
        return fastest_time(instance, job, count)

    epoch = Epoch.of(instance)
    for mixed in (False, True):
        jobs = [j for j, job in enumerate(instance.jobs) if job.heterogeneous is mixed]
        waiting = [j for j in jobs if not instance.jobs[j].running]
        for j in sorted(waiting, key=length):
            epoch.start(j)
        _knapsack(epoch, jobs, 1, run)
        _knapsack(epoch, jobs, 0, run)
    return Claim(solution=_solution(epoch))


def _knapsack(epoch: Epoch, jobs: Collection[int], pool: int, run: Run) -> None:
    """Divide a pool's GPUs among started jobs: the multiple-choice knapsack of Figure 6.

    A job that is not heterogeneous grows in its own pool only.
    """
    rows: list[tuple[int, int, int, int]] = []
    ratios: list[Ratio] = []
    for j in jobs:
        job = epoch.instance.jobs[j]
        if j not in epoch.workers or not (epoch.workers[j][pool] or job.heterogeneous):
            continue
        before = epoch.running_time(j)
        best: Number = 0
        for more in range(1, epoch.room(j, pool) + 1):
            saved = before - epoch.running_time(j, pool, more)
            if saved > best:
                best = saved
                rows.append((j, more, more * job.gpus_per_worker, 0))
                ratios.append(Fraction(saved).as_integer_ratio())
    if not rows:
        return
    items = assemble(rows, ratios, epoch.free[pool])
    search = KnapsackSearch(items, run)
    search.solve()
    for i in search.incumbent or ():
        epoch.add(int(items.job[i]), pool, int(items.workers[i]))


def afs(instance: Instance) -> Solution:
    """Return what the baseline `afs` does, for an instance with two pools; see there."""
    epoch = Epoch.of(instance)
    for j, job in enumerate(instance.jobs):
        if not job.running:
            epoch.start(j)
    heap = [step for j in epoch.workers for step in _gains(epoch, j)]
    heapq.heapify(heap)
    while heap:
        _, j, order, count = heapq.heappop(heap)
        pool = 1 - order
        if count == sum(epoch.workers[j]) and epoch.room(j, pool):
            epoch.add(j, pool, 1)
            for step in _gains(epoch, j):
                heapq.heappush(heap, step)
    return _solution(epoch)


def _gains(epoch: Epoch, j: int) -> list[_Step]:
    """Return (minus the gain in throughput per GPU, job, pool, workers now) of one more worker.

    Of equal gains that on loan comes first: pool 0 stands for it.
    """
    job, now = epoch.instance.jobs[j], epoch.workers[j]
    if sum(now) == job.max_workers:
        return []
    before = throughput(job, epoch.running_time(j))
    steps = []
    for pool in (1, 0):
        if now[pool] or job.heterogeneous:
            gain = throughput(job, epoch.running_time(j, pool, 1)) - before
            if gain > 0:
                steps.append((-gain / job.gpus_per_worker, j, 1 - pool, sum(now)))
    return steps


def throughput(job: Job, seconds: Number) -> Fraction:
    """Return the work per second of a job that would take some seconds, in GPUs of its base demand.

    Not 1 / seconds: of two jobs that scale alike, the one with less left would gain more.
    """
    base = job.min_workers * job.gpus_per_worker
    return base * Fraction(job.running_time(job.min_workers)) / Fraction(seconds)


def fifo(instance: Instance) -> Solution:
    """Return what the baseline `fifo` does, for an instance with two pools; see there."""
    epoch = Epoch.of(instance)
    for j, job in enumerate(instance.jobs):
        if not job.running and not epoch.start(j):
            break
    epoch.grow_where_started(sorted(epoch.workers))
    return _solution(epoch)


def _solution(epoch: Epoch) -> Solution:
    jobs = epoch.instance.jobs
    return solution_of({jobs[j].id: pair for j, pair in sorted(epoch.workers.items())})
