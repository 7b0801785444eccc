"""Lyra's two phases (section 5.2), and the baselines."""

import heapq
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from dlsched.errors import OptionError
from dlsched.problems.elastic.definition.job_choices import fastest_time
from dlsched.problems.elastic.definition.schema import Instance, Job, Solution
from dlsched.problems.elastic.programs.knapsack_search import KnapsackSearch
from dlsched.problems.elastic.structures.epoch import Epoch
from dlsched.problems.elastic.structures.knapsack import assemble
from dlsched.problems.elastic.structures.undominated_choices import Choice
from dlsched.registry.own import method
from dlsched.results.result import Claim
from dlsched.run import Run
from dlsched.schema import Number


@method("elastic", kind="heuristic")
def lyra(instance: Instance, run: Run, shortest: str = "base") -> Claim:
    """Shortest job first for base demands, then the knapsack on the remaining GPUs.

    Lyra, section 5.2. Phase one starts pending jobs with their base workers in the order of their
    running times; jobs that do not fit are skipped. Phase two divides the remaining GPUs among the
    started jobs: the multiple-choice knapsack of Figure 6, solved by `dp`. With two pools there is
    a knapsack for each, and heterogeneous jobs come after all others (section 6).

    Parameters
    ----------
    shortest
        Phase one is for "jobs with fixed demands and known running times": ``"base"`` orders by
        the running time with base workers. The time known of an elastic job is its minimum running
        time, that with the most workers: ``"minimum"`` orders by that.
    """
    if shortest not in ("base", "minimum"):
        raise OptionError(f"shortest={shortest!r} must be 'base' or 'minimum'")

    def known_time(j: int) -> Number:
        job = instance.jobs[j]
        count = job.min_workers if shortest == "base" else job.max_workers
        return fastest_time(instance, job, count)

    epoch = Epoch.of(instance)
    for last in (False, True):
        jobs = [j for j, job in enumerate(instance.jobs) if job.heterogeneous is last]
        pending = [j for j in jobs if not instance.jobs[j].running]
        for j in sorted(pending, key=known_time):
            epoch.start(j)
        for pool in reversed(range(len(epoch.free))):
            _divide(epoch, jobs, pool, run)
    return Claim(solution=epoch.solution())


def _divide(epoch: Epoch, jobs: Iterable[int], pool: int, run: Run) -> None:
    """Divide a pool's GPUs among started jobs: the multiple-choice knapsack of Figure 6.

    A job that is not heterogeneous grows in its own pool only.
    """
    choices: list[Choice] = []
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
                gpus = (more * job.gpus_per_worker,)
                choices.append(Choice(j, (more,), gpus, False, saved.as_integer_ratio()))
    items = assemble(choices, (epoch.free[pool],))
    search = KnapsackSearch(items, run)
    search.solve()
    for i in search.best.solution or ():
        epoch.add(int(items.job[i]), pool, int(items.workers[i, 0]))


@method("elastic", kind="baseline")
def afs(instance: Instance, rng: np.random.Generator) -> Solution:
    """Base demand to each job first, then one worker at a time to the largest gain per GPU.

    AFS (Hwang et al., NSDI'21) as Lyra implements it (section 7.1): every job gets its base demand,
    then repeatedly the job with the largest gain in throughput per GPU gets one more worker. Base
    demands are served in queue order, the file's, and jobs that do not fit are skipped, as in
    Lyra's phase one; the paper does not state the order. A job's throughput is the work that it
    does per second, in that of one of its GPUs at its base demand: jobs that scale alike gain
    alike, whatever is left of them. Of equal gains the first job in the queue comes first. A step
    that does not fit or gains nothing ends a job's growth.

    With two pools, base workers are placed as by `lyra`. A worker is added in the pool of the job's
    base, of a heterogeneous job in either one; of equal gains of a job that on loan is taken.
    """
    epoch = Epoch.of(instance)
    for j, job in enumerate(instance.jobs):
        if not job.running:
            epoch.start(j)
    heap = [step for j in epoch.workers for step in _steps(epoch, j)]
    heapq.heapify(heap)
    while heap:
        step = heapq.heappop(heap)
        pool = len(epoch.free) - 1 - step.order
        if step.workers == sum(epoch.workers[step.job]) and epoch.room(step.job, pool):
            epoch.add(step.job, pool, 1)
            for following in _steps(epoch, step.job):
                heapq.heappush(heap, following)
    return epoch.solution()


class _Step(NamedTuple):
    """One more worker of a job; of equal losses the first job comes first, and of it loan."""

    loss: Fraction
    """Minus the gain in throughput per GPU."""
    job: int
    order: int
    """Of the pool, the last one first."""
    workers: int
    """Those that it has now."""


def _steps(epoch: Epoch, j: int) -> Iterator[_Step]:
    """Yield the workers that a job could get next, as far as they gain something."""
    job = epoch.instance.jobs[j]
    now = epoch.workers[j]
    if sum(now) == job.max_workers:
        return
    before = _throughput(job, epoch.running_time(j))
    for order, pool in enumerate(reversed(range(len(now)))):
        if now[pool] or job.heterogeneous:
            gain = _throughput(job, epoch.running_time(j, pool, 1)) - before
            if gain > 0:
                yield _Step(-gain / job.gpus_per_worker, j, order, sum(now))


def _throughput(job: Job, seconds: Number) -> Fraction:
    """Return the work per second of a job that would take some seconds, in GPUs of its base demand.

    Not 1 / seconds: of two jobs that scale alike, the one with less left would gain more.
    """
    base = job.min_workers * job.gpus_per_worker
    return base * Fraction(job.running_time(job.min_workers)) / Fraction(seconds)


@method("elastic", kind="baseline")
def fifo(instance: Instance, rng: np.random.Generator) -> Solution:
    """In the file's order: base demands until one does not fit, then more workers for each.

    With two pools, base workers are placed as by `lyra`. More workers are added in the pools that
    hold base workers, on loan first.
    """
    epoch = Epoch.of(instance)
    for j, job in enumerate(instance.jobs):
        if not job.running and not epoch.start(j):
            break
    epoch.grow_where_started(sorted(epoch.workers))
    return epoch.solution()
