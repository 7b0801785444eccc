"""What a scheduler records of a simulation: one row per run of a job, in whole seconds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from dlsched.errors import OptionError
from dlsched.simulation.log import Ending, Log, Segment
from dlsched.simulation.workload.clock import TICKS

BEGIN = "2026-01-01T00:00:00"
"""Time 0 of a simulation in a record, UTC, unless it is stated."""


class JobRun(NamedTuple):
    """A stretch of time in which a job holds the same GPUs without a break.

    Times are whole seconds, rounded down: a rounding that keeps the order of all times, so that
    nothing that followed on another thing overlaps with it in the record.

    Attributes
    ----------
    job
        Position of the job in the workload.
    queued
        Since when it waits for this run: its submission, or the end of its run before.
    shares
        ``(server, GPUs)`` each.
    ending
        Why the run ends.
    """

    job: int
    queued: int
    start: int
    end: int
    gpus: int
    shares: tuple[tuple[str, int], ...]
    ending: Ending


def runs_of(log: Log) -> list[list[JobRun]]:
    """Return the runs of every job in the order of time; none for a job that never started."""
    jobs = log.meta("workload")["workload"]["jobs"]
    segments: list[list[Segment]] = [[] for _ in jobs]
    for row in log.rows("segments"):
        segment = Segment(*row)
        segments[segment.job].append(segment)
    runs: list[list[JobRun]] = []
    for position, job in enumerate(jobs):
        queued = int(job["submit"])
        own: list[JobRun] = []
        for part in _joined(sorted(segments[position], key=lambda row: (row.start, row.end))):
            shares = tuple((name, gpus) for name, gpus, *_ in json.loads(part.shares))
            start, end = part.start // TICKS, part.end // TICKS
            own.append(JobRun(position, queued, start, end, part.gpus, shares, part.ending))
            queued = end
        runs.append(own)
    return runs


def _joined(segments: Sequence[Segment]) -> list[Segment]:
    """Join segments between which only the speed changes: a scheduler does not record speeds."""
    joined: list[Segment] = []
    for segment in segments:
        before = joined[-1] if joined else None
        if (
            before is not None
            and before.ending == Ending.CHANGED
            and before.end == segment.start
            and before.shares == segment.shares
        ):
            joined[-1] = before._replace(end=segment.end, ending=segment.ending)
        else:
            joined.append(segment)
    return joined


def moment(text: str) -> int:
    """Return a time in UTC as seconds since 1970.

    Raises
    ------
    OptionError
        If it is no date and time, or has a fraction of a second.
    """
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise OptionError(f"begin={text!r} is no time; write it as {BEGIN}") from None
    if time.tzinfo is None:
        time = time.replace(tzinfo=UTC)
    if time.microsecond:
        raise OptionError(f"begin={text!r} has a fraction of a second; records have whole ones")
    return int(time.timestamp())


def notes_of(log: Log) -> tuple[str, ...]:
    """Return what a record of this simulation does not say, for whoever reads it."""
    notes = []
    segments = [Segment(*row) for row in log.rows("segments")]
    shared = sum(segment.sharing is not None for segment in segments)
    if shared:
        notes.append(
            f"{shared:,} stretches share their GPUs with other jobs: the record counts the GPUs "
            "once for each of them, so that it exceeds the cluster"
        )
    fractions = sum(segment.start % TICKS != 0 or segment.end % TICKS != 0 for segment in segments)
    if fractions:
        notes.append(
            f"{fractions:,} stretches begin or end within a second: "
            "times are rounded down to whole seconds"
        )
    return tuple(notes)
