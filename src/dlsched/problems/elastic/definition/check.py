"""The definition of elastic: the violations and the objective of an allocation."""

from collections.abc import Iterator, Mapping, Sequence

from dlsched.problems.elastic.definition.job_choices import (
    Workers,
    base_of,
    gpus_of,
    reduction,
    workers_of,
)
from dlsched.problems.elastic.definition.schema import POOLS, Instance, Job, Solution
from dlsched.results.objective import ByLevel, Level
from dlsched.results.result import Report, Violation
from dlsched.schema import Id, Number

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
    # What neither runs nor gets workers violates nothing, and is worth nothing.
    given = [
        (job, workers_of(instance, solution, job))
        for job in instance.jobs
        if job.running or solution.workers.get(job.id)
    ]
    used = _used(instance, given)
    by_pool = {f"gpus_{name}": used[k] for k, name in enumerate(POOLS)} if instance.pools else {}
    return Report(
        tuple(_violations(instance, solution, given, used)),
        ByLevel(LEVELS, _evaluate(instance, given)),
        {"gpus": sum(used), **by_pool},
    )


def _used(instance: Instance, given: Sequence[tuple[Job, Workers]]) -> Workers:
    """Return the GPUs that jobs with workers take from each capacity."""
    taken = [gpus_of(instance, job, workers) for job, workers in given]
    return tuple(sum(gpus[k] for gpus in taken) for k in range(len(instance.capacities)))


def _evaluate(instance: Instance, given: Sequence[tuple[Job, Workers]]) -> tuple[int, Number]:
    """Return (pending jobs launched, seconds of running time saved).

    Jobs whose workers violate a limit of their own count nothing; with one capacity, those with
    more than their most workers count as if they had these.
    """
    launched = 0
    saved: Number = 0
    for job, stated in given:
        workers = stated if instance.pools else (min(stated[0], job.max_workers),)
        if any(workers) and not any(of_job(instance, job, workers)):
            launched += not job.running
            saved += reduction(instance, job, workers)
    return launched, saved


def _violations(
    instance: Instance, solution: Solution, given: Sequence[tuple[Job, Workers]], used: Workers
) -> Iterator[Violation]:
    known = {job.id for job in instance.jobs}
    for job_id, stated in solution.workers.items():
        where = f"workers.{job_id}"
        if job_id in known:
            yield from _of_names(instance, where, stated)
        else:
            yield Violation("unknown_job", where, f'there is no job "{job_id}"')
    for job, workers in given:
        if not instance.pools or isinstance(solution.workers.get(job.id, {}), Mapping):
            yield from of_job(instance, job, workers)
    for k, (gpus, free) in enumerate(zip(used, instance.capacities, strict=True)):
        where, of = (f"pools.{POOLS[k]}", f" of {POOLS[k]}") if instance.pools else ("workers", "")
        if gpus > free:
            message = f"{gpus} GPUs{of} are given, {free} are free"
            yield Violation("over_capacity", where, message, gpus - free)


def _of_names(
    instance: Instance, where: str, stated: int | Mapping[Id, int]
) -> Iterator[Violation]:
    """Iterate over what is wrong with the pools for which a job's workers are stated."""
    if not isinstance(stated, Mapping):
        if instance.pools:
            yield Violation("no_pool", where, f"{stated} workers without a pool")
    elif not instance.pools:
        message = "workers are given by pool, but the instance has one capacity"
        yield Violation("unknown_pool", where, message)
    else:
        for name in [name for name in stated if name not in POOLS]:
            message = f'there is no pool "{name}", only training and loan'
            yield Violation("unknown_pool", f"{where}.{name}", message)


def of_job(instance: Instance, job: Job, workers: Workers) -> Iterator[Violation]:
    """Iterate over the limits of its own that a job violates."""
    where = f"workers.{job.id}"
    count = sum(workers)
    if job.running and count == 0:
        message = f'job "{job.id}" is running and must keep {job.min_workers} workers'
        yield Violation("running_stopped", where, message, job.min_workers)
        return
    if 0 < count < job.min_workers:
        message = f"{count} workers, the least is {job.min_workers}"
        yield Violation("below_min", where, message, job.min_workers - count)
    elif count > job.max_workers:
        message = f"{count} workers, the most is {job.max_workers}"
        yield Violation("above_max", where, message, count - job.max_workers)
    if instance.pools:
        yield from _of_pools(instance, job, workers)


def _of_pools(instance: Instance, job: Job, workers: Workers) -> Iterator[Violation]:
    """Iterate over the limits of where a job's workers may be."""
    where = f"workers.{job.id}"
    if workers[1] and not (job.fungible or job.heterogeneous):
        message = f'job "{job.id}" cannot use loan'
        yield Violation("wrong_pool", f"{where}.loan", message, workers[1])
    elif all(workers) and not job.heterogeneous:
        message = f'job "{job.id}" is not heterogeneous, but has workers in both pools'
        yield Violation("mixed_pools", where, message, min(workers))
    if job.running and sum(workers) >= job.min_workers:
        home = base_of(instance, job)
        missing = sum(max(0, h - n) for h, n in zip(home, workers, strict=True))
        if missing:
            name = POOLS[home.index(job.min_workers)]
            message = f"{job.min_workers} base workers run in {name}, {missing} are not there"
            yield Violation("base_moved", f"{where}.{name}", message, missing)


def explain(instance: Instance) -> str:
    """Return an empty string: there is a solution, as base workers of running jobs take no GPUs."""
    return ""
