"""The definition of elastic on two pools: the violations and the objective of an allocation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dlsched.problems.elastic.definition.schema import POOLS, Instance, Job, Solution
from dlsched.problems.elastic.definition.two_pools_choices import Split, base_of, gpus_of, reduction
from dlsched.results.result import Violation
from dlsched.schema import Number


def used(instance: Instance, solution: Solution) -> dict[str, int]:
    """Return the GPUs that an allocation takes from each pool's capacity."""
    taken = [gpus_of(instance, job, solution.split(job.id)) for job in instance.jobs]
    return {name: sum(gpus[k] for gpus in taken) for k, name in enumerate(POOLS)}


def evaluate(instance: Instance, solution: Solution) -> tuple[int, Number]:
    """Return (pending jobs launched, seconds of running time saved).

    Jobs whose workers violate a limit of their own count nothing.
    """
    valid = [
        (job, solution.split(job.id))
        for job in instance.jobs
        if any(solution.split(job.id)) and not list(of_job(instance, job, solution.split(job.id)))
    ]
    saved: Number = 0
    for job, workers in valid:
        saved += reduction(instance, job, workers)
    return sum(not job.running for job, _ in valid), saved


def violations(instance: Instance, solution: Solution) -> Iterator[Violation]:
    """Iterate over the violations of a solution."""
    known = {job.id for job in instance.jobs}
    for job_id, given in solution.workers.items():
        where = f"workers.{job_id}"
        if job_id not in known:
            yield Violation("unknown_job", where, f'there is no job "{job_id}"')
        elif not isinstance(given, Mapping):
            yield Violation("no_pool", where, f"{given} workers without a pool")
        else:
            for name in given:
                if name not in POOLS:
                    message = f'there is no pool "{name}", only training and loan'
                    yield Violation("unknown_pool", f"{where}.{name}", message)
    for job in instance.jobs:
        if isinstance(solution.workers.get(job.id, {}), Mapping):
            yield from of_job(instance, job, solution.split(job.id))
    taken = used(instance, solution)
    for pool in instance.by_pool:
        if taken[pool.id] > pool.capacity:
            message = f"{taken[pool.id]} GPUs of {pool.id} are given, {pool.capacity} are free"
            yield Violation(
                "over_capacity", f"pools.{pool.id}", message, taken[pool.id] - pool.capacity
            )


def of_job(instance: Instance, job: Job, workers: Split) -> Iterator[Violation]:
    """Iterate over the limits of its own that a job violates with workers by pool."""
    where, count = f"workers.{job.id}", sum(workers)
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
    if workers[1] and not (job.fungible or job.heterogeneous):
        message = f'job "{job.id}" cannot use loan'
        yield Violation("wrong_pool", f"{where}.loan", message, workers[1])
    elif all(workers) and not job.heterogeneous:
        message = f'job "{job.id}" is not heterogeneous, but has workers in both pools'
        yield Violation("mixed_pools", where, message, min(workers))
    if job.running and count >= job.min_workers:
        home = base_of(instance, job)
        missing = sum(max(0, h - n) for h, n in zip(home, workers, strict=True))
        if missing:
            name = POOLS[home.index(job.min_workers)]
            message = f"{job.min_workers} base workers run in {name}, {missing} are not there"
            yield Violation("base_moved", f"{where}.{name}", message, missing)
