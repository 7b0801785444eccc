"""Lyra's two phases (section 5.2), choices at prices of GPUs, and the baselines."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from dlsched.errors import OptionError
from dlsched.problems.elastic.definition.schema import Instance, Job, Solution
from dlsched.problems.elastic.heuristics import two_pools_heuristics as pool_heuristics
from dlsched.problems.elastic.heuristics.core_program import near_prices
from dlsched.problems.elastic.heuristics.two_pools_heuristics import throughput
from dlsched.problems.elastic.programs.knapsack_search import KnapsackSearch
from dlsched.problems.elastic.structures.choice_arrays import choices_of
from dlsched.problems.elastic.structures.knapsack import items_of
from dlsched.registry.own import method
from dlsched.results.result import Claim
from dlsched.run import Run


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
    if instance.pools:
        return pool_heuristics.two_phases(instance, run, shortest)
    order = sorted(
        _pending(instance),
        key=lambda job: job.running_time(
            job.min_workers if shortest == "base" else job.max_workers
        ),
    )
    started, free = _start(instance, order)
    jobs = tuple(
        job.model_copy(update={"running": True}) for job in instance.jobs if job.id in started
    )
    phase_two = Instance(name=instance.name, capacity=free, jobs=jobs)
    items = items_of(phase_two)
    search = KnapsackSearch(items, run)
    search.solve()
    assert search.incumbent is not None
    return Claim(solution=items.solution(phase_two, search.incumbent))


@method("elastic", kind="heuristic")
def prices(
    instance: Instance, rng: np.random.Generator, within: float = 0.001, steps: int = 6_000_000
) -> Solution:
    """Of this library: most jobs, the best choices at prices of GPUs, a table of the doubtful ones.

    The prices of the GPUs are those of the Lagrangian relaxation with as many pending jobs as can
    start, sought in floating point. At them most jobs have one choice that is clearly the best;
    the others, first 12 and at most 96, share what is left by a table over the GPUs.

    Parameters
    ----------
    within
        No larger table is filled for a solution within this share of the relaxation's bound.
    steps
        Most additions of a table; a larger one is left out.
    """
    if within < 0 or steps < 0:
        raise OptionError("within and steps must be from 0")
    if not instance.jobs:
        return Solution(workers={})
    choices = choices_of(instance)
    return choices.solution(instance, near_prices(choices, within, steps))


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
    if instance.pools:
        return pool_heuristics.afs(instance)
    workers, free = _start(instance, _pending(instance))
    started = [(i, job) for i, job in enumerate(instance.jobs) if job.id in workers]
    heap = [step for i, job in started if (step := _gain(i, job, workers[job.id]))]
    heapq.heapify(heap)
    while heap:
        _, i = heapq.heappop(heap)
        job = instance.jobs[i]
        if job.gpus_per_worker > free:
            continue
        workers[job.id] += 1
        free -= job.gpus_per_worker
        if step := _gain(i, job, workers[job.id]):
            heapq.heappush(heap, step)
    return Solution(workers=workers)


@method("elastic", kind="baseline")
def fifo(instance: Instance, rng: np.random.Generator) -> Solution:
    """In the file's order: base demands until one does not fit, then more workers for each.

    With two pools, base workers are placed as by `lyra`. More workers are added in the pools that
    hold base workers, on loan first.
    """
    if instance.pools:
        return pool_heuristics.fifo(instance)
    workers, free = _start(instance, _pending(instance), skip=False)
    for job in instance.jobs:
        if job.id in workers:
            more = min(job.max_workers - job.min_workers, free // job.gpus_per_worker)
            workers[job.id] += more
            free -= more * job.gpus_per_worker
    return Solution(workers=workers)


def _pending(instance: Instance) -> list[Job]:
    return [job for job in instance.jobs if not job.running]


def _start(
    instance: Instance, order: Iterable[Job], skip: bool = True
) -> tuple[dict[str, int], int]:
    """Give base workers to jobs in an order; return the workers and the remaining GPUs.

    A job that does not fit is skipped or, without `skip`, ends the loop.
    """
    workers = {job.id: job.min_workers for job in instance.jobs if job.running}
    free = instance.gpus
    for job in order:
        demand = job.gpus(job.min_workers)
        if demand <= free:
            workers[job.id] = job.min_workers
            free -= demand
        elif not skip:
            break
    return workers, free


def _gain(i: int, job: Job, workers: int) -> tuple[Fraction, int] | None:
    """Return minus the gain in throughput per GPU of one more worker, and the job's position."""
    if workers == job.max_workers:
        return None
    gain = throughput(job, job.running_time(workers + 1)) - throughput(
        job, job.running_time(workers)
    )
    return (-gain / job.gpus_per_worker, i) if gain > 0 else None
