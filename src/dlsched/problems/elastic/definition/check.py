"""The definition of elastic: the violations and the objective of an allocation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dlsched.problems.elastic.definition import two_pools_check as check_pools
from dlsched.problems.elastic.definition.schema import Instance, Solution
from dlsched.results.objective import ByLevel, Level
from dlsched.results.result import Report, Violation
from dlsched.schema import Number

LEVELS = (Level("launched", "max", "jobs"), Level("reduction", "max", "seconds"))


def check(instance: Instance, solution: Solution) -> Report:
    """Return the violations and the objective of a solution.

    Kinds of violations: ``unknown_job``, ``below_min``, ``above_max``, ``running_stopped`` (a
    running job without workers), ``over_capacity``, ``unknown_pool`` (a pool that the instance does
    not have); with pools also ``no_pool`` (workers that are not given by pool), ``wrong_pool``,
    ``mixed_pools``, ``base_moved`` (a running job has fewer than its base workers where it has
    them). ``details`` has ``gpus``, the GPUs taken from the capacity; with
    pools also ``gpus_training`` and ``gpus_loan``.
    """
    if instance.pools:
        violations = tuple(check_pools.violations(instance, solution))
        objective = ByLevel(LEVELS, check_pools.evaluate(instance, solution))
        taken = check_pools.used(instance, solution)
        by_pool = {f"gpus_{name}": gpus for name, gpus in taken.items()}
        return Report(violations, objective, {"gpus": sum(taken.values()), **by_pool})
    counts = {j: n for j, n in solution.workers.items() if not isinstance(n, Mapping)}
    workers = {job.id: counts.get(job.id, 0) for job in instance.jobs}
    violations = tuple(_violations(instance, solution, workers))
    allowed = {
        job.id: min(workers[job.id], job.max_workers)
        for job in instance.jobs
        if workers[job.id] >= job.min_workers
    }
    return Report(violations, evaluate(instance, allowed), {"gpus": used(instance, workers)})


def used(instance: Instance, workers: Mapping[str, int]) -> int:
    """Return the GPUs that an allocation takes from the capacity."""
    return sum(max(job.gpus(workers[job.id]), 0) for job in instance.jobs if workers.get(job.id))


def evaluate(instance: Instance, workers: Mapping[str, int]) -> ByLevel[Number]:
    """Return (pending jobs launched, seconds of running time saved); absent jobs get no workers."""
    launched = sum(not job.running for job in instance.jobs if workers.get(job.id, 0))
    reduction: Number = 0
    for job in instance.jobs:
        if workers.get(job.id, 0):
            reduction += job.reduction(workers[job.id])
    return ByLevel(LEVELS, (launched, reduction))


def _violations(
    instance: Instance, solution: Solution, workers: Mapping[str, int]
) -> Iterable[Violation]:
    for job_id, given in solution.workers.items():
        if job_id not in workers:
            yield Violation("unknown_job", f"workers.{job_id}", f'there is no job "{job_id}"')
        elif isinstance(given, Mapping):
            message = "workers are given by pool, but the instance has one capacity"
            yield Violation("unknown_pool", f"workers.{job_id}", message)
    for job in instance.jobs:
        count, where = workers[job.id], f"workers.{job.id}"
        if job.running and count == 0:
            yield Violation(
                "running_stopped",
                where,
                f'job "{job.id}" is running and must keep {job.min_workers} workers',
                job.min_workers,
            )
        elif 0 < count < job.min_workers:
            message = f"{count} workers, the least is {job.min_workers}"
            yield Violation("below_min", where, message, job.min_workers - count)
        elif count > job.max_workers:
            message = f"{count} workers, the most is {job.max_workers}"
            yield Violation("above_max", where, message, count - job.max_workers)
    gpus = used(instance, workers)
    if gpus > instance.gpus:
        message = f"{gpus} GPUs are given, {instance.gpus} are free"
        yield Violation("over_capacity", "workers", message, gpus - instance.gpus)


def explain(instance: Instance) -> str:
    """Return an empty string: there is a solution, as base workers of running jobs take no GPUs."""
    return ""
