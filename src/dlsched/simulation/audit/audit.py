"""`audit`: all checks of a log, one after another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dlsched.errors import describe
from dlsched.results.result import Report
from dlsched.simulation.audit.capacity import check_capacity
from dlsched.simulation.audit.completions import check_completions
from dlsched.simulation.audit.decisions import check_decisions
from dlsched.simulation.audit.figures import check_figures
from dlsched.simulation.audit.findings import KINDS, Findings
from dlsched.simulation.audit.holdings import check_holdings
from dlsched.simulation.audit.loans import check_loans
from dlsched.simulation.audit.record import BROKEN, Record, read
from dlsched.simulation.audit.speeds import check_speeds
from dlsched.simulation.audit.work import check_work
from dlsched.simulation.log import Log, LogError

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
