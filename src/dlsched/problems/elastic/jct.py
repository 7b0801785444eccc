"""Completion times when jobs are served in an order of priority (Lyra, Tables 3 and 4)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from dlsched.errors import OptionError
from dlsched.problems.elastic.schema import Instance, Job
from dlsched.schema import Number


class Completion(NamedTuple):
    """Completion time of each job, in seconds from the epoch's start, and their mean."""

    times: dict[str, Number]
    mean: Number


def jct(instance: Instance, rule: str | Sequence[str] = "shortest") -> Completion:
    """Return the completion times when GPUs are reallocated, by priority, at each completion.

    At the start and whenever a job completes, started jobs keep their least number of workers, then
    the others get theirs in the order of service as far as the GPUs suffice. The remaining GPUs go
    to the started jobs in the same order, each up to its most workers; with ``"equal"`` they are
    given out one worker at a time in turn.

    Parameters
    ----------
    instance
        All its jobs arrive now and share ``capacity`` plus the GPUs that the base workers of
        running jobs hold.
    rule
        The ids of the jobs in the order of service, or ``"shortest"``, ``"longest"`` (by the
        running time with the most workers) or ``"equal"``.

    Raises
    ------
    OptionError
        If the rule is unknown or not a permutation of the ids, a job never fits, or there are
        pools.
    """
    if instance.pools:
        raise OptionError(f"jct is for one capacity; {instance.name} has two pools")
    order = _order(instance, rule)
    capacity = instance.gpus + sum(
        job.gpus_per_worker * job.min_workers for job in instance.jobs if job.running
    )
    left = {job.id: Fraction(1) for job in order}  # share of the job's work that remains
    now = Fraction(0)
    times: dict[str, Number] = {}
    while left:
        active = [job for job in order if job.id in left]
        active.sort(key=lambda job: left[job.id] == 1)  # stable: started jobs first
        workers = _allocate(active, order, capacity, equal=rule == "equal")
        ends = {
            job.id: now + left[job.id] * job.running_time(workers[job.id])
            for job in active
            if workers[job.id]
        }
        if not ends:
            raise OptionError(f"job {active[0].id!r} needs more GPUs than there are: {capacity}")
        end = min(ends.values())
        for job in active:
            if workers[job.id]:
                left[job.id] -= (end - now) / Fraction(job.running_time(workers[job.id]))
            if left[job.id] == 0:
                times[job.id] = end
                del left[job.id]
        now = end
    total = sum(map(Fraction, times.values()), Fraction(0))
    return Completion(times, total / max(len(times), 1))


def _order(instance: Instance, rule: str | Sequence[str]) -> list[Job]:
    jobs = list(instance.jobs)
    shortest = sorted(jobs, key=lambda job: job.running_time(job.max_workers))
    named = {"shortest": shortest, "longest": shortest[::-1], "equal": jobs}
    if isinstance(rule, str):
        if rule not in named:
            raise OptionError(f"no rule {rule!r}; use a list of job ids, or: {', '.join(named)}")
        return named[rule]
    by_id = {job.id: job for job in jobs}
    if sorted(rule) != sorted(by_id):
        raise OptionError("the rule must name every job once")
    return [by_id[name] for name in rule]


def _allocate(jobs: list[Job], order: list[Job], capacity: int, *, equal: bool) -> dict[str, int]:
    """Give base workers to `jobs` in their order, the remaining GPUs in the order of service."""
    workers = dict.fromkeys((job.id for job in jobs), 0)
    for job in jobs:
        if job.gpus_per_worker * job.min_workers <= capacity:
            workers[job.id] = job.min_workers
            capacity -= job.gpus_per_worker * job.min_workers
    started = [job for job in order if workers.get(job.id, 0)]
    while True:
        before = capacity
        for job in started:
            most = min(job.max_workers - workers[job.id], capacity // job.gpus_per_worker)
            more = min(most, 1) if equal else most
            workers[job.id] += more
            capacity -= more * job.gpus_per_worker
        if capacity == before:
            return workers
