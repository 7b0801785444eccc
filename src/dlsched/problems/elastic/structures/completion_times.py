"""Completion times when jobs are served in an order of priority (Lyra, Tables 3 and 4)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from dlsched.errors import OptionError
from dlsched.problems.elastic.definition.schema import Instance, Job
from dlsched.problems.elastic.definition.two_pools_choices import fastest_time
from dlsched.problems.elastic.structures.two_pools_completion_times import PoolShares
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

    With two pools, base workers are placed as by the heuristic `lyra`, and stay there. Other
    workers are added in the pools that hold base workers, on loan first.

    Parameters
    ----------
    instance
        All its jobs arrive now and share ``capacity``, or ``pools``, plus the GPUs that the base
        workers of running jobs hold.
    rule
        The ids of the jobs in the order of service, or ``"shortest"``, ``"longest"`` (by the
        running time with the most workers) or ``"equal"``.

    Raises
    ------
    OptionError
        If the rule is unknown or not a permutation of the ids, or a job never fits.
    """
    order = _order(instance, rule)
    shares = PoolShares(instance) if instance.pools else _Shares(instance)
    left = {job.id: Fraction(1) for job in order}  # share of the job's work that remains
    now = Fraction(0)
    times: dict[str, Number] = {}
    while left:
        active = [job for job in order if job.id in left]
        active.sort(key=lambda job: left[job.id] == 1)  # stable: started jobs first
        seconds = shares.running_times(active, order, equal=rule == "equal")
        if not seconds:
            there_are = " and ".join(map(str, shares.gpus))
            raise OptionError(f"job {active[0].id!r} needs more GPUs than there are: {there_are}")
        end = min(now + left[job] * Fraction(time) for job, time in seconds.items())
        for job, time in seconds.items():
            left[job] -= (end - now) / Fraction(time)
            if left[job] == 0:
                times[job] = end
                del left[job]
        now = end
    total = sum(map(Fraction, times.values()), Fraction(0))
    return Completion(times, total / max(len(times), 1))


def _order(instance: Instance, rule: str | Sequence[str]) -> list[Job]:
    jobs = list(instance.jobs)
    shortest = sorted(jobs, key=lambda job: _least_time(instance, job))
    named = {"shortest": shortest, "longest": shortest[::-1], "equal": jobs}
    if isinstance(rule, str):
        if rule not in named:
            raise OptionError(f"no rule {rule!r}; use a list of job ids, or: {', '.join(named)}")
        return named[rule]
    by_id = {job.id: job for job in jobs}
    if sorted(rule) != sorted(by_id):
        raise OptionError("the rule must name every job once")
    return [by_id[name] for name in rule]


def _least_time(instance: Instance, job: Job) -> Number:
    """Return the running time in seconds with the most workers."""
    if instance.pools:
        return fastest_time(instance, job, job.max_workers)
    return job.running_time(job.max_workers)


class _Shares:
    """Running times of jobs that share GPUs of one kind; see `PoolShares`."""

    def __init__(self, instance: Instance) -> None:
        held = [job.gpus_per_worker * job.min_workers for job in instance.jobs if job.running]
        self.gpus = [instance.gpus + sum(held)]

    def running_times(
        self, jobs: Sequence[Job], order: Sequence[Job], *, equal: bool
    ) -> dict[str, Number]:
        """Return the running times of the jobs that have workers, as `PoolShares` does."""
        (capacity,) = self.gpus
        workers: dict[str, int] = {}
        for job in jobs:
            if job.gpus_per_worker * job.min_workers <= capacity:
                workers[job.id] = job.min_workers
                capacity -= job.gpus_per_worker * job.min_workers
        started = [job for job in order if job.id in workers]
        grows = True
        while grows:
            before = capacity
            for job in started:
                most = min(job.max_workers - workers[job.id], capacity // job.gpus_per_worker)
                more = min(most, 1) if equal else most
                workers[job.id] += more
                capacity -= more * job.gpus_per_worker
            grows = capacity < before
        return {job.id: job.running_time(workers[job.id]) for job in started}
