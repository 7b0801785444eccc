"""Brute force for elastic."""

from itertools import product
from typing import NamedTuple

from dlsched.problems.elastic.definition.check import LEVELS, of_job
from dlsched.problems.elastic.definition.job_choices import Workers, gpus_of, reduction
from dlsched.problems.elastic.definition.schema import Instance, Job
from dlsched.results.objective import ByLevel, Objective
from dlsched.schema import Number


class _Sum(NamedTuple):
    """What some jobs take and are worth together."""

    launched: int
    saved: Number
    gpus: Workers


def brute_force(instance: Instance) -> Objective | None:
    """Return the optimum over every number of workers for every job.

    It is the best sum over every combination of the jobs' valid workers that fits.
    """
    sums = {_Sum(0, 0, (0,) * len(instance.capacities))}
    for job in instance.jobs:
        added = {
            _Sum(
                before.launched + choice.launched,
                before.saved + choice.saved,
                tuple(a + b for a, b in zip(before.gpus, choice.gpus, strict=True)),
            )
            for before, choice in product(sums, _choices(instance, job))
        }
        sums = {
            total
            for total in added
            if all(n <= free for n, free in zip(total.gpus, instance.capacities, strict=True))
        }
    return ByLevel(LEVELS, max((total.launched, total.saved) for total in sums))


def _choices(instance: Instance, job: Job) -> list[_Sum]:
    """Return what a job takes and is worth with each of its valid workers."""
    numbers = range(job.max_workers + 1)
    return [
        _Sum(
            int(not job.running and any(workers)),
            reduction(instance, job, workers) if any(workers) else 0,
            gpus_of(instance, job, workers),
        )
        for workers in product(numbers, repeat=len(instance.capacities))
        if not any(of_job(instance, job, workers))
    ]
