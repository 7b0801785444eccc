"""Completion times when jobs are served in an order of priority (Lyra, Tables 3 and 4)."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

from dlsched.errors import OptionError
from dlsched.problems.elastic.definition.schema import Instance, Job
from dlsched.schema import Number


class Completion(NamedTuple):
    """Completion time of each job, in seconds from the epoch's start, and their mean."""

    times: dict[str, Number]
    mean: Number


def jct(instance: Instance, rule: str | Sequence[str]) -> Completion:
    """Return the completion times when GPUs are reallocated, by priority, at each completion.

    At the start and whenever a job completes, started jobs keep their least number of workers, then
    the others get theirs in the order of service as far as the GPUs suffice. The remaining GPUs go
    to the started jobs in the same order, each up to its most workers; with ``"equal"`` they are
    given out one worker at a time in turn.

    Parameters
    ----------
    instance
        All its jobs arrive now and share ``capacity``.
    rule
        The ids of the jobs in the order of service, or ``"equal"``.

    Raises
    ------
    OptionError
        If a job never fits.
    """
    by_id = {job.id: job for job in instance.jobs}
    order = [by_id[name] for name in (by_id if rule == "equal" else rule)]
    share_left = {job.id: Fraction(1) for job in order}
    now = Fraction(0)
    times: dict[str, Number] = {}
    while share_left:
        active = [job for job in order if job.id in share_left]
        started_first = sorted(active, key=lambda job: share_left[job.id] == 1)
        workers, free = _base(started_first, instance.gpus)
        started = [job for job in active if job.id in workers]
        if not started:
            raise OptionError(f"job {active[0].id!r} needs more GPUs than there are: {free}")
        _grow(workers, started, free, in_turn=rule == "equal")
        seconds = {job.id: Fraction(job.running_time(workers[job.id])) for job in started}
        end = min(now + share_left[job] * time for job, time in seconds.items())
        for job, time in seconds.items():
            share_left[job] -= (end - now) / time
            if share_left[job] == 0:
                times[job] = end
                del share_left[job]
        now = end
    return Completion(times, sum(map(Fraction, times.values()), Fraction(0)) / len(times))


def _base(jobs: Iterable[Job], free: int) -> tuple[dict[str, int], int]:
    """Return the least workers of the jobs that fit, in this order, and the GPUs that are left."""
    workers = {}
    for job in jobs:
        gpus = job.min_workers * job.gpus_per_worker
        if gpus <= free:
            workers[job.id] = job.min_workers
            free -= gpus
    return workers, free


def _grow(workers: dict[str, int], jobs: Sequence[Job], free: int, in_turn: bool) -> None:
    """Give out the GPUs that are left, until no job can have a worker more."""
    before = -1
    while free != before:
        before = free
        for job in jobs:
            more = min(job.max_workers - workers[job.id], free // job.gpus_per_worker)
            more = min(more, 1) if in_turn else more
            workers[job.id] += more
            free -= more * job.gpus_per_worker
