"""What each job holds, stretch by stretch: gangs, places, times, starts, overhead and endings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from dlsched.simulation.audit.capacity import words
from dlsched.simulation.audit.findings import at
from dlsched.simulation.audit.record import Record, Start, Stretch
from dlsched.simulation.log import Ending


class Held(NamedTuple):
    """A stretch with what the auditor knows of it.

    Attributes
    ----------
    stated
        The speed that the decision stated; None where it follows from the profile.
    last
        Whether it is the job's last one.
    """

    stretch: Stretch
    stated: Any
    last: bool


def check_holdings(record: Record) -> list[list[Held]]:
    """Check the stretches of all jobs; return them by job, in the order of time."""
    moments = {decision.time for decision in record.decisions}
    begun: set[tuple[Any, int]] = set()
    held = []
    for j, stretches in enumerate(record.by_job):
        held.append(list(_check_job(record, j, stretches, moments, begun)))
    for time, j in record.starts.keys() - begun:
        where = f"job {record.name(j)}"
        message = f"a decision at {at(time)} starts it, and no stretch begins then"
        record.findings.add("unstarted", where, message)
    return held


def _check_job(
    record: Record, j: int, stretches: list[Stretch], moments: set[Any], begun: set[tuple[Any, int]]
) -> Iterator[Held]:
    before: Stretch | None = None
    start = Start(None, None)
    ready: Any = 0
    for i, stretch in enumerate(stretches):
        after = stretches[i + 1] if i + 1 < len(stretches) else None
        _check_shares(record, stretch)
        _check_place(record, stretch)
        _check_times(record, stretch, before)
        _check_ending(record, stretch, after, moments)
        stated = record.starts.get((stretch.start, j))
        if stated is not None:
            begun.add((stretch.start, j))
        elif _goes_on(before, stretch):
            _check_changed(record, before, stretch)
        else:
            message = f"job {record.name(j)} starts at {at(stretch.start)} by no decision"
            record.wrong("undecided", stretch, message)
            stated = Start(None, None)
        if stated is not None:
            start = stated
            pause = start.overhead
            ready = stretch.start + (record.jobs[j].restart_ticks if pause is None else pause)
        due = max(0, min(ready, stretch.end) - stretch.start)
        _check_overhead(record, stretch, due)
        yield Held(stretch, start.speed, after is None)
        before = stretch


def _goes_on(before: Stretch | None, stretch: Stretch) -> bool:
    """Return whether a stretch goes on with what the job held in the one before."""
    return (
        before is not None
        and before.ending is Ending.CHANGED
        and before.end == stretch.start
        and (before.shares, before.sharing) == (stretch.shares, stretch.sharing)
    )


def _check_changed(record: Record, before: Stretch | None, stretch: Stretch) -> None:
    """Check that the speed changes where the job goes on with what it held.

    Each change rounds the work down, so that needless ones would slow a job. In a group
    the speed may change and change back at the same time.
    """
    if before is not None and before.speed == stretch.speed and stretch.sharing is None:
        message = f"job {record.name(stretch.job)} goes on at {at(stretch.start)} as it did before"
        record.wrong("unchanged", stretch, message)


def _check_shares(record: Record, stretch: Stretch) -> None:
    job = record.jobs[stretch.job]
    gpus = sum(share[1] for share in stretch.shares)
    servers = [share[0] for share in stretch.shares]
    whole = all(share[1] > 0 for share in stretch.shares) and len(set(servers)) == len(servers)
    if gpus != stretch.gpus or not whole:
        message = (
            f"job {job.id} holds {stretch.gpus} GPUs, its shares are {words(stretch.shares)}; each "
            "server counts once, with a GPU or more"
        )
        record.wrong("shares", stretch, message, abs(gpus - stretch.gpus) or 1)
    if not job.min_gpus <= gpus <= job.max_gpus:
        wanted = str(job.min_gpus)
        if job.max_gpus != job.min_gpus:
            wanted += f" to {job.max_gpus}"
        message = f"job {job.id} runs with {gpus} GPUs; it can with {wanted}"
        record.wrong("gang", stretch, message)


def _check_place(record: Record, stretch: Stretch) -> None:
    """Check that workers are whole, and that the job may use the pools of its servers."""
    job = record.jobs[stretch.job]
    for server, gpus, *_ in stretch.shares:
        if gpus % job.gpus_per_worker:
            message = (
                f"job {job.id} has {gpus} GPUs on {server}; its workers have {job.gpus_per_worker}"
            )
            record.wrong("worker", stretch, message)
    lent = [share[0] for share in stretch.shares if share[0] in record.pool]
    if job.heterogeneous or not lent:
        return
    if not job.fungible:
        message = f"job {job.id} is on {lent[0]} of the loan pool; it is not fungible"
        record.wrong("pool", stretch, message)
    elif len(lent) < len(stretch.shares):
        message = f"job {job.id} is on servers of both pools; it is not heterogeneous"
        record.wrong("pool", stretch, message)


def _check_times(record: Record, stretch: Stretch, before: Stretch | None) -> None:
    job = record.jobs[stretch.job]
    submit = record.submit(stretch.job)
    if stretch.end < stretch.start:
        message = f"it starts at {at(stretch.start)} and ends at {at(stretch.end)}"
        record.wrong("backwards", stretch, message)
    if stretch.start < submit:
        message = f"job {job.id} starts at {at(stretch.start)}; it is submitted at {at(submit)}"
        record.wrong("early", stretch, message)
    if stretch.start == stretch.end and stretch.ending is Ending.CHANGED:
        message = f"job {job.id} has a stretch of no length at {at(stretch.start)}"
        record.wrong("unchanged", stretch, message)
    if before is not None and stretch.start < before.end:
        message = (
            f"job {job.id} is on {words(stretch.shares)} from {at(stretch.start)}, and on "
            f"{words(before.shares)} until {at(before.end)}"
        )
        record.wrong("overlap", stretch, message)


def _check_ending(
    record: Record, stretch: Stretch, after: Stretch | None, moments: set[Any]
) -> None:
    """Check that a stretch ends as it says: what comes after it, and the decision at its end."""
    kind, problem = "ending", ""
    if stretch.ending is Ending.CHANGED and (after is None or after.start != stretch.end):
        problem = "is to run on then, but does not"
    elif stretch.ending is Ending.COMPLETED and after is not None:
        problem = f"is complete then, but runs again at {at(after.start)}"
    elif stretch.ending is Ending.STOPPED and stretch.end != record.meta.get("end"):
        problem = "stops because the simulation ends, which it does not then"
    elif stretch.ending is Ending.PREEMPTED and stretch.end not in moments:
        kind, problem = "undecided", "is preempted, when nothing is decided"
    if problem:
        message = f"at {at(stretch.end)} job {record.name(stretch.job)} {problem}"
        record.wrong(kind, stretch, message)


def _check_overhead(record: Record, stretch: Stretch, due: Any) -> None:
    if stretch.overhead != due:
        message = (
            f"job {record.name(stretch.job)} has an overhead of {at(stretch.overhead)} from "
            f"{at(stretch.start)} to {at(stretch.end)}; due are {at(due)}"
        )
        record.wrong("overhead", stretch, message, abs(stretch.overhead - due))
