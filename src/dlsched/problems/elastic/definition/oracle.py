"""Brute force for elastic."""

from __future__ import annotations

from itertools import product
from typing import TypeAlias

from dlsched.problems.elastic.definition import two_pools_check as check_pools
from dlsched.problems.elastic.definition.check import LEVELS, evaluate, used
from dlsched.problems.elastic.definition.schema import Instance, Job
from dlsched.problems.elastic.definition.two_pools_choices import gpus_of, reduction
from dlsched.results.objective import ByLevel, Objective
from dlsched.schema import Number

Sum: TypeAlias = tuple[int, int, int, Number]


def brute_force(instance: Instance) -> Objective | None:
    """Return the optimum over every number of workers for every job; ``None`` if there is none."""
    if instance.pools:
        return _brute_force_pools(instance)
    ids = [job.id for job in instance.jobs]
    choices = [
        [*([] if job.running else [0]), *range(job.min_workers, job.max_workers + 1)]
        for job in instance.jobs
    ]
    best: Objective | None = None
    for numbers in product(*choices):
        workers = dict(zip(ids, numbers, strict=True))
        if used(instance, workers) <= instance.gpus:
            worth = evaluate(instance, workers)
            if best is None or worth.better_than(best):
                best = worth
    return best


def _brute_force_pools(instance: Instance) -> Objective:
    """Return the best sum over every combination of the jobs' valid workers that fits."""

    def worths(job: Job) -> list[Sum]:
        """Return (GPUs of training, of loan, launched, seconds saved) of each valid choice."""
        numbers = range(job.max_workers + 1)
        return [
            (*gpus_of(instance, job, pair), int(not job.running and any(pair)),
             reduction(instance, job, pair) if any(pair) else 0)
            for pair in product(numbers, numbers)
            if not list(check_pools.of_job(instance, job, pair))
        ]  # fmt: skip

    sums: set[Sum] = {(0, 0, 0, 0)}
    training, loan = (pool.capacity for pool in instance.by_pool)
    for job in instance.jobs:
        added = {
            (a + g, b + h, launched + starts, saved + seconds)
            for (a, b, launched, saved), (g, h, starts, seconds) in product(sums, worths(job))
        }
        sums = {found for found in added if found[0] <= training and found[1] <= loan}
    return ByLevel(LEVELS, max(found[2:] for found in sums))
