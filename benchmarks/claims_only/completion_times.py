"""Completion times when jobs are served in an order of priority (Lyra, Tables 3 and 4)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from dlsched.errors import OptionError
from dlsched.problems.elastic.definition.job_choices import Workers, fastest_time, held_by
from dlsched.problems.elastic.definition.schema import Instance, Job
from dlsched.problems.elastic.structures.epoch import Epoch
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
    shares = _Shares(instance)
    share_left = {job.id: Fraction(1) for job in order}
    now = Fraction(0)
    times: dict[str, Number] = {}
    while share_left:
        active = [job for job in order if job.id in share_left]
        active.sort(key=lambda job: share_left[job.id] == 1)  # stable: started jobs first
        seconds = shares.running_times(active, order, equal=rule == "equal")
        if not seconds:
            there_are = " and ".join(map(str, shares.gpus))
            raise OptionError(f"job {active[0].id!r} needs more GPUs than there are: {there_are}")
        end = min(now + share_left[job] * Fraction(time) for job, time in seconds.items())
        for job, time in seconds.items():
            share_left[job] -= (end - now) / Fraction(time)
            if share_left[job] == 0:
                times[job] = end
                del share_left[job]
        now = end
    total = sum(map(Fraction, times.values()), Fraction(0))
    return Completion(times, total / max(len(times), 1))


def _order(instance: Instance, rule: str | Sequence[str]) -> list[Job]:
    jobs = list(instance.jobs)
    shortest = sorted(jobs, key=lambda job: fastest_time(instance, job, job.max_workers))
    named = {"shortest": shortest, "longest": shortest[::-1], "equal": jobs}
    if isinstance(rule, str):
        if rule not in named:
            raise OptionError(f"no rule {rule!r}; use a list of job ids, or: {', '.join(named)}")
        return named[rule]
    by_id = {job.id: job for job in jobs}
    if sorted(rule) != sorted(by_id):
        raise OptionError("the rule must name every job once")
    return [by_id[name] for name in rule]


class _Shares:
    """Running times of jobs that share the GPUs, from one completion to the next.

    Attributes
    ----------
    gpus
        GPUs by capacity: the free ones and those that base workers of running jobs hold.
    """

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.number = {job.id: j for j, job in enumerate(instance.jobs)}
        self.gpus = list(instance.capacities)
        for job in instance.jobs:
            for pool, workers in enumerate(held_by(instance, job)):
                self.gpus[pool] += workers * job.gpus_per_worker
        self._home: dict[int, Workers] = {}

    def running_times(
        self, jobs: Sequence[Job], order: Sequence[Job], *, equal: bool
    ) -> dict[str, Number]:
        """Return the running times of the jobs that have workers.

        Parameters
        ----------
        jobs
            The jobs that are left, those that have started first.
        order
            All jobs in the order of service.
        """
        epoch = Epoch(self.instance, list(self.gpus))
        for job in jobs:
            j = self.number[job.id]
            if j in self._home:
                epoch.hold(j, self._home[j])
            elif epoch.start(j):
                self._home[j] = epoch.workers[j]
        started = [j for job in order if (j := self.number[job.id]) in epoch.workers]
        while epoch.grow_where_started(started, at_most=1 if equal else None):
            pass
        return {self.instance.jobs[j].id: epoch.running_time(j) for j in started}
