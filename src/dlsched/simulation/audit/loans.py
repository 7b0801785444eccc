"""Servers of the loan pool: lent when jobs are on them, and never more than the loan has."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from typing import Any

from dlsched.simulation.audit.findings import at
from dlsched.simulation.audit.record import Record
from dlsched.simulation.workload.clock import ticks

Spans = dict[str, list[tuple[Any, Any]]]


def check_loans(record: Record) -> None:
    """Compare the table of loans with the cluster's schedule and with where jobs are."""
    pool = record.pool
    if not pool and not record.loans:
        return
    spans = _spans(record, pool)
    _check_schedule(record)
    for stretch in record.stretches:
        for server, *_ in stretch.shares:
            if server not in pool:
                continue
            i = bisect_right(spans[server], stretch.start, key=lambda span: span[0]) - 1
            if i < 0 or ((end := spans[server][i][1]) is not None and end < stretch.end):
                message = (
                    f"job {record.name(stretch.job)} is on {server} from {at(stretch.start)} to "
                    f"{at(stretch.end)}, in which it is not lent throughout"
                )
                record.wrong("not_lent", stretch, message)


def _spans(record: Record, pool: set[str]) -> Spans:
    """Return when each server is lent; an end of None is after the log."""
    spans: Spans = {server: [] for server in pool}
    come = {ticks(loan.time) for loan in record.cluster.loans}
    go = come | {decision.time for decision in record.decisions}
    last = None
    for row, time, server, lent in record.loans:
        where = f"loans[{row}]"
        if server not in pool:
            message = f"{server} is no server of the loan pool"
            record.findings.add("loan", where, message)
            continue
        if lent not in (0, 1):
            record.findings.add("unreadable", where, f"lent is {lent}, not 0 or 1")
        if time not in (come if lent else go):
            message = f"{server} {'comes' if lent else 'goes'} at {at(time)}; nothing happens then"
            record.findings.add("loan", where, message)
        there = bool(spans[server]) and spans[server][-1][1] is None
        if bool(lent) == there:
            message = f"{server} {'comes' if lent else 'goes'} at {at(time)}, but is " + (
                "there already" if lent else "not there"
            )
            record.findings.add("loan", where, message)
        elif lent:
            spans[server].append((time, None))
        else:
            spans[server][-1] = (spans[server][-1][0], time)
        if last is not None and time < last:
            record.findings.add("loan", where, f"{at(time)} is before the row before, {at(last)}")
        last = time
    return spans


def _check_schedule(record: Record) -> None:
    """At no moment are more servers lent than the schedule says; as many come as it says."""
    schedule = [(ticks(loan.time), loan.servers) for loan in record.cluster.loans]
    moments: dict[Any, int] = {}
    coming: Counter[Any] = Counter()
    for _, time, _, lent in record.loans:
        coming[time] += 1 if lent else 0
        moments[time] = moments.get(time, 0) + (1 if lent else -1)
    end = record.meta.get("end")
    for time, _ in schedule:
        if end is None or time <= end:
            moments.setdefault(time, 0)
    present, i, limit = 0, 0, 0
    for time in sorted(moments):
        most = present + coming[time]
        present += moments[time]
        while i < len(schedule) and schedule[i][0] <= time:
            limit = schedule[i][1]
            i += 1
            if most < limit:
                message = f"at {at(time)} {limit} servers are on loan, only {most} of them come"
                record.findings.add("loan", "loans", message, limit - most)
        if present > limit:
            message = f"at {at(time)} {present} servers are lent, the loan has {limit}"
            record.findings.add("over_loan", "loans", message, present - limit)
