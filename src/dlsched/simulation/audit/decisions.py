"""The decisions: their order and causes, and the numbers of jobs that they state."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from itertools import groupby, pairwise
from typing import Any

from dlsched.simulation.audit.findings import at
from dlsched.simulation.audit.record import Record
from dlsched.simulation.log import DecisionRow, Ending
from dlsched.simulation.workload.clock import ticks

CAUSES = ("arrival", "completion", "round", "wake", "loan")


def check_decisions(record: Record) -> None:
    """Recount the jobs at every decision.

    Of several at the same time, waiting and running jobs are recounted for the first; for a later
    one, what the one before changed is added, unless a job is preempted and started again then.
    Preempted jobs are recounted for all together. A job that ends at once is gone at the next.
    """
    counts = _Counts(record)
    last = None
    number = 0
    for time, several in groupby(record.decisions, key=lambda decision: decision.time):
        decisions = list(several)
        if last is not None and time < last:
            message = f"it is at {at(time)}, the one before at {at(last)}"
            record.findings.add("order", f"decisions[{number}]", message)
        last = time
        counts.check(number, decisions)
        number += len(decisions)


class _Counts:
    def __init__(self, record: Record) -> None:
        self.record = record
        self.submits: list[Any] = sorted(map(record.submit, range(len(record.jobs))))
        lasting = [s for s in record.stretches if s.start < s.end]
        self.begins: list[Any] = sorted(s.start for s in lasting)
        self.ends: list[Any] = sorted(s.end for s in lasting)
        completed = [s for s in record.stretches if s.ending is Ending.COMPLETED]
        self.complete: list[Any] = sorted(s.end for s in completed if s.start < s.end)
        self.at_once: list[Any] = sorted(s.end for s in completed if s.start == s.end)
        self.stopped: dict[Any, list[int]] = defaultdict(list)
        self.changed: dict[Any, set[int]] = defaultdict(set)
        self.instant: dict[Any, set[int]] = defaultdict(set)
        for s in record.stretches:
            if s.ending is Ending.PREEMPTED:
                self.stopped[s.end].append(s.job)
            elif s.ending is Ending.CHANGED and s.start < s.end:
                self.changed[s.end].add(s.job)
            elif s.ending is Ending.COMPLETED and s.start == s.end:
                self.instant[s.end].add(s.job)
        self.loans = {ticks(loan.time) for loan in record.cluster.loans}

    def check(self, number: int, decisions: list[DecisionRow]) -> None:
        """Check all decisions at one time; the first is that of a number."""
        first = decisions[0]
        time = first.time
        where = f"decisions[{number}]"
        done = bisect_right(self.complete, time)
        running = bisect_left(self.begins, time) - bisect_left(self.ends, time)
        running -= done - bisect_left(self.complete, time)
        gone = done + bisect_left(self.at_once, time)
        self._expect("running", where, first.running, running, time)
        waiting = bisect_right(self.submits, time) - gone - running
        self._expect("waiting", where, first.waiting, waiting, time)
        stopped = sum(decision.preempted for decision in decisions)
        self._expect("preempted", where, stopped, len(self.stopped[time]), time)
        for i, decision in enumerate(decisions):
            place = f"decisions[{number + i}]"
            started = len(self.record.started[number + i])
            self._expect("started", place, decision.started, started, time)
        for i, decision in enumerate(decisions):
            self._check_cause(f"decisions[{number + i}]", decision, first=not i)
        self._check_later(number, decisions)

    def _check_later(self, number: int, decisions: list[DecisionRow]) -> None:
        """Check the decisions after the first one at a time, each against the one before."""
        time = decisions[0].time
        running = set(self.changed[time])
        last = {j: i for i, _ in enumerate(decisions, number) for j in self.record.started[i]}
        for i, (before, decision) in enumerate(pairwise(decisions), number):
            started = set(self.record.started[i])
            if started.intersection(self.stopped[time]):
                return
            waiting = before.waiting - len(started - running) + before.preempted
            running |= started
            where = f"decisions[{i + 1}]"
            self._expect("waiting", where, decision.waiting, waiting, time)
            gone = sum(last[j] == i for j in started & self.instant[time])
            present = before.waiting + before.running - gone
            self._expect("running", where, decision.running, present - waiting, time)

    def _expect(self, kind: str, where: str, stated: int, counted: int, time: Any) -> None:
        if stated != counted:
            message = f"at {at(time)} {stated} jobs are {kind}, the log has {counted}"
            self.record.findings.add(kind, where, message, abs(stated - counted))

    def _check_cause(self, where: str, decision: DecisionRow, first: bool) -> None:
        """Check the causes against what happened; after the first decision jobs can only end."""
        time, causes = decision.time, decision.cause.split("+")
        if causes != [cause for cause in CAUSES if cause in causes]:
            message = f"{decision.cause!r} is not made of {', '.join(CAUSES)}, in this order"
            self.record.findings.add("cause", where, message)
        if not first:
            if decision.cause != "completion" or not self.instant[time]:
                message = f"at {at(time)} it is decided again, because of {decision.cause}"
                self.record.findings.add("cause", where, message)
            return
        happened = {
            "arrival": _has(self.submits, time),
            "completion": _has(self.complete, time),
            "loan": time in self.loans,
        }
        for cause, did in happened.items():
            if did != (cause in causes):
                message = f"its cause is {decision.cause}; at {at(time)} there is " + (
                    f"one more: {cause}" if did else f"no {cause}"
                )
                self.record.findings.add("cause", where, message)


def _has(ordered: list[Any], time: Any) -> bool:
    i = bisect_left(ordered, time)
    return i < len(ordered) and bool(ordered[i] == time)
