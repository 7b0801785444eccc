"""Running times on two kinds of GPU, and the choices of a job there (Lyra, sections 2.1 and 6).

Workers of a job are pairs: their number in the pool of training servers, and that on loan. A
running job keeps its base workers where they are, outside the capacities.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from dlsched.problems.elastic.definition.schema import POOLS, Instance, Job, Solution
from dlsched.schema import Number, simplify

Split: TypeAlias = tuple[int, int]
"""Workers, or GPUs, in the training pool and on loan."""


class PoolItem(NamedTuple):
    """One choice of the knapsack with two capacities: a job with workers by pool."""

    job: str
    workers: Split
    gpus: Split
    reduction: Number


def running_time(instance: Instance, job: Job, workers: Split) -> Number:
    """Return the running time in seconds with workers by pool, from min to max in all.

    It is the time with as many workers of speed 1, divided by the mean speed; with workers in both
    pools it is divided by ``mixed_efficiency`` as well.
    """
    count = sum(workers)
    training, loan = (Fraction(pool.speed) for pool in instance.by_pool)
    speed = workers[0] * training + workers[1] * loan
    if all(workers):
        speed *= instance.mixed_efficiency
    return simplify(job.running_time(count) * count / speed)


def base_of(instance: Instance, job: Job) -> Split:
    """Return the base workers against which savings count: all in the fastest pool of the job.

    Those of a running job are in the pool that holds them. Of pools of equal speed it is training.
    """
    training, loan = instance.by_pool
    faster = loan.speed > training.speed and (job.fungible or job.heterogeneous)
    pool = job.base_pool or ("loan" if faster else "training")
    return (job.min_workers, 0) if pool == "training" else (0, job.min_workers)


def fastest_time(instance: Instance, job: Job, count: int) -> Number:
    """Return the running time in seconds with that many workers, all in the job's fastest pool."""
    training, _ = base_of(instance, job)
    return running_time(instance, job, (count, 0) if training else (0, count))


def gpus_of(instance: Instance, job: Job, workers: Split) -> Split:
    """Return the GPUs that workers take from each capacity; a running job's base takes none."""
    held = base_of(instance, job) if job.running else (0, 0)
    training, loan = (
        job.gpus_per_worker * max(0, n - h) for n, h in zip(workers, held, strict=True)
    )
    return training, loan


def reduction(instance: Instance, job: Job, workers: Split) -> Number:
    """Return the seconds saved against the base; negative if the workers are slower."""
    base = running_time(instance, job, base_of(instance, job))
    return simplify(Fraction(base - running_time(instance, job, workers)))


def splits(instance: Instance, job: Job) -> Iterator[Split]:
    """Iterate over the workers that a job can have, by their number, most in training first."""
    held = base_of(instance, job) if job.running else (0, 0)
    for count in range(job.min_workers, job.max_workers + 1):
        if job.heterogeneous:
            yield from ((count - b, b) for b in range(held[1], count - held[0] + 1))
        else:
            if not held[1]:
                yield count, 0
            if job.fungible and not held[0]:
                yield 0, count


def choices(instance: Instance) -> list[list[PoolItem]]:
    """Return for each job its choices; idle pending jobs have none."""
    return [
        [
            PoolItem(job.id, split, gpus_of(instance, job, split), reduction(instance, job, split))
            for split in splits(instance, job)
        ]
        for job in instance.jobs
    ]


def solution_of(workers: Mapping[str, Split]) -> Solution:
    """Return the solution with workers by job; pools without workers are left out."""
    return Solution(
        workers={
            job: {name: n for name, n in zip(POOLS, pair, strict=True) if n}
            for job, pair in workers.items()
        }
    )
