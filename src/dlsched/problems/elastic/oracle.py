"""Brute force for elastic."""

from __future__ import annotations

from itertools import product

from dlsched.objective import Objective
from dlsched.problems.elastic.check import evaluate, used
from dlsched.problems.elastic.schema import Instance


def brute_force(instance: Instance) -> Objective | None:
    """Return the optimum over every number of workers for every job; ``None`` if there is none."""
    ids = [job.id for job in instance.jobs]
    choices = [
        [*([] if job.running else [0]), *range(job.min_workers, job.max_workers + 1)]
        for job in instance.jobs
    ]
    best: Objective | None = None
    for numbers in product(*choices):
        workers = dict(zip(ids, numbers, strict=True))
        if used(instance, workers) <= instance.capacity:
            worth = evaluate(instance, workers)
            if best is None or worth.better_than(best):
                best = worth
    return best
