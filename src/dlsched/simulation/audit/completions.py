"""Completions: one per job, at the end of its last stretch."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import Any

from dlsched.simulation.audit.findings import at
from dlsched.simulation.audit.record import Record
from dlsched.simulation.log import Ending


def check_completions(record: Record) -> None:
    """Check that every job is complete once, after all that it does, and when the log ends."""
    times: dict[int, list[tuple[int, Any]]] = defaultdict(list)
    for row, job, time in record.completions:
        times[job].append((row, time))
    for j, stretches in enumerate(record.by_job):
        name = record.name(j)
        stopped = bool(stretches) and stretches[-1].ending is Ending.STOPPED
        if not times[j]:
            if not stopped:
                record.findings.add("not_completed", f"job {name}", "it has no completion")
            continue
        row, time = times[j][-1]
        where = f"completions[{row}]"
        if len(times[j]) > 1:
            moments = " and ".join(at(moment) for _, moment in times[j])
            record.findings.add("completed_twice", where, f"job {name} is complete at {moments}")
        last = stretches[-1] if stretches else None
        if last is None or last.ending is not Ending.COMPLETED or last.end != time:
            ends = (
                "it never ran"
                if last is None
                else (f"its last stretch ends at {at(last.end)} as {last.ending}")
            )
            record.findings.add("completion", where, f"job {name} ends at {at(time)}; {ends}")
        for stretch in stretches:
            if stretch.end > time:
                message = f"job {name} runs until {at(stretch.end)}; it ends at {at(time)}"
                record.wrong("after_end", stretch, message)
    _check_end(record)
    _check_order(record)


def _check_order(record: Record) -> None:
    """Check that rows were added as time went on."""
    for name, ends in (
        ("completions", [(row, time) for row, _, time in record.completions]),
        ("segments", [(stretch.row, stretch.end) for stretch in record.stretches]),
    ):
        for (_, before), (row, time) in pairwise(ends):
            if time < before:
                message = f"it ends at {at(time)}, the one before at {at(before)}"
                record.findings.add("order", f"{name}[{row}]", message)


def _check_end(record: Record) -> None:
    end = record.meta["end"]
    last = max((time for *_, time in record.completions), default=end)
    if end != last:
        message = f"the log ends at {at(end)}, the last completion is at {at(last)}"
        record.findings.add("end", "meta.end", message)
