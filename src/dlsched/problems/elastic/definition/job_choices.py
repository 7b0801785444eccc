"""Running times by pool, and the choices of a job (Lyra, sections 2.1 and 6).

Workers of a job are a tuple: their number in the pool of training servers, and that on loan; with
one capacity their number alone. A running job keeps its base workers where they are, outside the
capacities.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from dlsched.problems.elastic.definition.schema import POOLS, Instance, Job, Solution
from dlsched.schema import Number, simplify

Workers: TypeAlias = tuple[int, ...]
"""Workers, or GPUs, in training and on loan; with one capacity their number alone."""


class JobChoice(NamedTuple):
    """One choice of the knapsack: a job with workers."""

    job: str
    workers: Workers
    gpus: Workers
    reduction: Number


def running_time(instance: Instance, job: Job, workers: Workers) -> Number:
    """Return the running time in seconds with workers, from min to max in all.

    With pools it is the time with as many workers of speed 1, divided by the mean speed; with
    workers in both pools it is divided by ``mixed_efficiency`` as well.
    """
    count = sum(workers)
    if not instance.pools:
        return job.running_time(count)
    speed = sum(n * pool.speed for n, pool in zip(workers, instance.by_pool, strict=True) if n)
    if all(workers):
        speed *= instance.mixed_efficiency
    return simplify(Fraction(job.running_time(count) * count) / speed)


def base_of(instance: Instance, job: Job) -> Workers:
    """Return the base workers against which savings count: all in the fastest pool of the job.

    Those of a running job are in the pool that holds them. Of pools of equal speed it is training.
    """
    if not instance.pools:
        return (job.min_workers,)
    training, loan = instance.by_pool
    faster = loan.speed > training.speed and (job.fungible or job.heterogeneous)
    pool = job.base_pool or ("loan" if faster else "training")
    return (job.min_workers, 0) if pool == "training" else (0, job.min_workers)


def held_by(instance: Instance, job: Job) -> Workers:
    """Return the workers that a job holds outside the capacities: the base of a running one."""
    return base_of(instance, job) if job.running else (0,) * len(instance.capacities)


def fastest_time(instance: Instance, job: Job, count: int) -> Number:
    """Return the running time in seconds with that many workers, all in the job's fastest pool."""
    if not instance.pools:
        return job.running_time(count)
    training, _ = base_of(instance, job)
    return running_time(instance, job, (count, 0) if training else (0, count))


def gpus_of(instance: Instance, job: Job, workers: Workers) -> Workers:
    """Return the GPUs that workers take from each capacity; a running job's base takes none."""
    held = held_by(instance, job)
    return tuple(job.gpus_per_worker * max(0, n - h) for n, h in zip(workers, held, strict=True))


def reduction(instance: Instance, job: Job, workers: Workers) -> Number:
    """Return the seconds saved against the base; negative if the workers are slower."""
    if not instance.pools:
        return job.reduction(workers[0])
    base = running_time(instance, job, base_of(instance, job))
    return simplify(Fraction(base - running_time(instance, job, workers)))


def splits(instance: Instance, job: Job) -> Iterator[Workers]:
    """Iterate over the workers that a job can have, by their number, most in training first."""
    held = held_by(instance, job)
    for count in range(job.min_workers, job.max_workers + 1):
        if not instance.pools:
            yield (count,)
        elif job.heterogeneous:
            yield from ((count - b, b) for b in range(held[1], count - held[0] + 1))
        else:
            if not held[1]:
                yield count, 0
            if job.fungible and not held[0]:
                yield 0, count


def choices(instance: Instance) -> list[list[JobChoice]]:
    """Return for each job its choices; to leave a pending job idle is none of them."""
    return [
        [
            JobChoice(
                job.id, workers, gpus_of(instance, job, workers), reduction(instance, job, workers)
            )
            for workers in splits(instance, job)
        ]
        for job in instance.jobs
    ]


def workers_of(instance: Instance, solution: Solution, job: Job) -> Workers:
    """Return the workers that a solution gives a job; none if they are not given as they must."""
    if instance.pools:
        return solution.split(job.id)
    given = solution.workers.get(job.id, 0)
    return (0,) if isinstance(given, Mapping) else (given,)


def solution_of(workers: Mapping[str, Workers]) -> Solution:
    """Return the solution with workers by job; pools without workers are left out."""
    given: dict[str, int | dict[str, int]] = {}
    for job, counts in workers.items():
        if len(counts) == 1:
            given[job] = counts[0]
        else:
            given[job] = {name: n for name, n in zip(POOLS, counts, strict=True) if n}
    return Solution(workers=given)
