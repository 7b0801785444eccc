"""What the auditor finds: violations by kind, the first of each."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Final

from dlsched.results.result import Violation
from dlsched.schema import Number, simplify
from dlsched.simulation.workload.clock import seconds

MOST: Final = 100
"""Violations of one kind that are kept; all are counted."""

KINDS: Final = {
    "unreadable": "an entry of the log is not what its column holds",
    "incomplete": "the simulation has not ended",
    "end": "the log's end is not the last completion",
    "unknown_job": "a row names a job that the workload does not have",
    "unknown_server": "a job is on a server that the cluster does not have",
    "not_lent": "a job is on a server of the loan pool that is not lent",
    "loan": "a server comes or goes that cannot",
    "over_loan": "more servers are in use than the loan has",
    "gpus": "jobs hold more GPUs than the server has",
    "cpus": "jobs hold more CPUs than the server has",
    "memory": "jobs hold more memory than the server has",
    "gang": "a job runs with fewer or more GPUs than it can",
    "shares": "a job's shares do not make up its GPUs",
    "worker": "a worker is not on one server",
    "pool": "a job is on servers of a pool that it cannot use",
    "group": "jobs that share GPUs do not hold the same",
    "backwards": "a stretch ends before it starts",
    "overlap": "a job is in two places",
    "early": "a job runs before its submission",
    "after_end": "a job runs after its completion",
    "undecided": "a job starts or stops although nothing was decided",
    "unstarted": "a decision starts a job, and no stretch begins",
    "ending": "a stretch does not end as it says",
    "overhead": "the time without progress is not what is due",
    "speed": "the speed is not that of what the job holds",
    "work": "the work of a stretch is not its time times its speed",
    "lost": "the work lost is not what a preemption costs",
    "late": "a job runs on although its work is done",
    "unfinished": "a job is complete although its work is not done",
    "not_completed": "a job has no completion",
    "completed_twice": "a job has several completions",
    "completion": "a completion is not where the job's last stretch ends",
    "unchanged": "a stretch ends and goes on although nothing changes",
    "order": "rows are not in the order of time",
    "cause": "a decision's cause is not what happened",
    "waiting": "a decision's number of waiting jobs is wrong",
    "running": "a decision's number of running jobs is wrong",
    "started": "a decision's number of started jobs is wrong",
    "preempted": "a decision's number of preempted jobs is wrong",
    "metric": "a metric is not what the log gives",
}
"""The kinds of violations, and what each means."""


class Findings:
    """Violations found so far."""

    def __init__(self) -> None:
        self.violations: list[Violation] = []
        self.count: Counter[str] = Counter()

    def add(self, kind: str, where: str, message: str, amount: Number | float = 1) -> None:
        """Add a violation of one of `KINDS`; beyond `MOST` of a kind it is counted only."""
        assert kind in KINDS, kind
        self.count[kind] += 1
        if self.count[kind] <= MOST:
            self.violations.append(Violation(kind, where, message, simplify(Fraction(amount))))


def at(time: int) -> str:
    """Return a time of the log in words: seconds, with all digits."""
    return f"{float(seconds(time)):.6f}".rstrip("0").rstrip(".") + " s"
