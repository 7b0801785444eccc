"""`audit`: all checks of a log, one after another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from dlsched.errors import describe
from dlsched.results.result import Report
from dlsched.simulation.audit.capacity import check_capacity
from dlsched.simulation.audit.decisions import check_decisions
from dlsched.simulation.audit.figures import check_figures
from dlsched.simulation.audit.findings import KINDS, Findings, at
from dlsched.simulation.audit.holdings import check_holdings
from dlsched.simulation.audit.loans import check_loans
from dlsched.simulation.audit.record import BROKEN, Record, read
from dlsched.simulation.audit.speeds import check_speeds
from dlsched.simulation.audit.work import check_work
from dlsched.simulation.log import Ending, Log, LogError


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


__all__ = ["KINDS", "audit"]

Summarize = Callable[[Log], Mapping[str, Any]]


def audit(log: Log, summarize: Summarize | None = None) -> Report:
    """Recompute a simulation from its log, and report what does not agree.

    Times are compared exactly; the CPUs and memory of shares, and the metrics within a relative
    tolerance of 1e-9.

    Parameters
    ----------
    log
        The log of a simulation that has ended.
    summarize
        Function of the log that returns metrics to compare, by the names of
        `dlsched.simulation.measures.metrics.summary`; it is called if nothing else is wrong.

    Returns
    -------
    Report
        Violations of the kinds in `KINDS`, at most 100 of each; ``details`` has the numbers of
        jobs, segments and decisions, and that of all violations. There is no objective.
    """
    findings = Findings()
    record = read(log, findings)
    if record is None:
        return Report(tuple(findings.violations), None, {"violations": 1})
    if "end" in record.meta:
        try:
            _check(record)
            if summarize is not None and not findings.count:
                check_figures(record, summarize(log))
        except (*BROKEN, LogError) as error:
            message = f"the audit ends here: {describe(error)}; the log was changed, simulate again"
            findings.add("unreadable", "log", message)
    else:
        message = (
            f"{len(record.completions)} of {len(record.jobs)} jobs are complete; go on with "
            "resume=True, then audit"
        )
        findings.add("incomplete", "meta.end", message)
    details = {
        "jobs": len(record.jobs),
        "segments": len(record.stretches),
        "decisions": len(record.decisions),
        "violations": findings.count.total(),
    }
    return Report(tuple(findings.violations), None, details)


def _check(record: Record) -> None:
    held = check_holdings(record)
    check_capacity(record)
    check_loans(record)
    check_work(record, held)
    check_speeds(record, held)
    check_completions(record)
    check_decisions(record)
