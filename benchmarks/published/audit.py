"""The auditor of published simulators: recomputes a simulation from its log, in floats.

Times and metrics are compared within a relative tolerance of `TOLERANCE`. The simulators state
speeds and overheads themselves: they are not recomputed, only used.
"""

import json
import math
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from dlsched.results.result import Report
from dlsched.simulation import Cluster, Job, Workload
from dlsched.simulation.audit import Findings
from dlsched.simulation.log import Ending, Segment
from published.log import DecisionRow, Log

TOLERANCE = 1e-9
MOST_SLACK = 1e-3
"""Most seconds between two events that a simulator may state to take as one."""


def audit(workload: Workload, cluster: Cluster, log: Log, summary: Mapping[str, Any]) -> Report:
    """Check all that the log says, and the summary.

    Returns
    -------
    Report
        It is true if nothing disagrees; ``details`` has the numbers of jobs, segments, decisions
        and violations.
    """
    audited = _Audit(workload, cluster, log)
    audited.check(summary)
    details = {
        "jobs": len(workload.jobs),
        "segments": len(audited.segments),
        "decisions": len(audited.decisions),
        "violations": audited.findings.count.total(),
    }
    return Report(tuple(audited.findings.violations), None, details)


def same(first: float, second: float, scale: float = 0) -> bool:
    """Return whether two numbers are equal, within the tolerance of what they come from."""
    return abs(first - second) <= TOLERANCE * max(abs(first), abs(second), abs(scale))


class _Audit:
    def __init__(self, workload: Workload, cluster: Cluster, log: Log) -> None:
        self.findings = Findings()
        self.cluster, self.jobs, self.meta = cluster, workload.jobs, log.meta
        self.segments = [Segment(*row) for row in log.rows("segments")]
        self.decisions = [DecisionRow(*row) for row in log.rows("decisions")]
        self.completions: list[Any] = log.rows("completions")
        self.of_job: list[list[Segment]] = [[] for _ in self.jobs]
        for segment in sorted(self.segments, key=lambda s: (s.start, s.end)):
            self.of_job[segment.job].append(segment)

    def check(self, summary: Mapping[str, Any]) -> None:
        """Check everything."""
        if not 0 <= self.meta["slack"] <= MOST_SLACK:
            self.wrong("unreadable", "meta.slack", f"it is not from 0 to {MOST_SLACK} s")
        moments = {decision.time for decision in self.decisions}
        for job, segments in zip(self.jobs, self.of_job, strict=True):
            self._check_held(job, segments, moments)
            self._check_work(job, segments)
        self._check_capacity()
        self._check_completions()
        self._check_decisions()
        for name, value in self._figures().items():
            if not math.isclose(summary[name], value, rel_tol=TOLERANCE, abs_tol=1e-6):
                self.wrong("metric", name, f"the summary has {summary[name]}, the log {value}")

    def wrong(self, kind: str, where: str, message: str) -> None:
        """Note a violation."""
        self.findings.add(kind, where, message)

    def _check_held(self, job: Job, segments: list[Segment], moments: set[float]) -> None:
        """Check gangs, places, times and endings of a job's segments."""
        last: Segment | None = None
        for segment in segments:
            if last is not None and segment.start < last.end:
                self.wrong("overlap", job.id, f"it is in two places at {segment.start!r} s")
            last = segment
        for segment, after in zip(segments, [*segments[1:], None], strict=True):
            held = [gpus for _, gpus, *_ in json.loads(segment.shares)]
            if sum(held) != segment.gpus or min(held, default=0) <= 0:
                self.wrong("shares", job.id, f"it holds {segment.gpus} GPUs, its shares {held}")
            if not job.min_gpus <= segment.gpus <= job.max_gpus:
                self.wrong("gang", job.id, f"it runs with {segment.gpus} GPUs")
            if any(gpus % job.gpus_per_worker for gpus in held):
                self.wrong("worker", job.id, f"its shares {held} are not whole workers")
            if segment.end < segment.start:
                self.wrong("backwards", job.id, f"it ends at {segment.end!r} s, before it starts")
            submit = float(job.submit)
            if segment.start < submit and not same(segment.start, submit):
                self.wrong("early", job.id, f"it starts at {segment.start!r} s")
            length = segment.end - segment.start
            within = min(max(0.0, segment.overhead), length)
            if segment.overhead != within and not same(segment.overhead, within, segment.end):
                self.wrong("overhead", job.id, f"{segment.overhead!r} s of {length!r} s")
            if not _ends(segment, after, moments):
                self.wrong("ending", job.id, f"it is {segment.ending} at {segment.end!r} s")

    def _check_work(self, job: Job, segments: list[Segment]) -> None:
        """Check that work is time times speed, and that all of it is done at the completion."""
        total = float(job.work if job.iterations is None else job.iterations)
        left = total
        for segment in segments:
            speed = float(Fraction(segment.speed))
            work = max(0.0, segment.end - segment.start - segment.overhead) * speed
            near = speed * (TOLERANCE * abs(segment.end) + self.meta["slack"]) + TOLERANCE * work
            if not abs(segment.work - work) <= near:
                self.wrong("work", job.id, f"it does {segment.work!r} until {segment.end!r} s")
            left -= segment.work
            preempted = segment.ending is Ending.PREEMPTED
            lost = total - left if preempted and not job.checkpoints else 0
            if not same(segment.lost, lost, total):
                self.wrong("lost", job.id, f"it loses {segment.lost!r} at {segment.end!r} s")
            left += segment.lost
            if segment.ending is Ending.COMPLETED and not same(left, 0, total):
                self.wrong("unfinished", job.id, f"it is complete, and has {left!r} left")

    def _check_capacity(self) -> None:
        """Add up in the order of time what is held; a group holds it once, each layer apart."""
        room = {s.id: (s.gpus, s.cpus, s.memory) for s in self.cluster.servers}
        used: dict[Any, Any] = defaultdict(lambda: np.zeros(3))
        groups: dict[tuple[Any, str], list[Segment]] = defaultdict(list)
        events = [
            (time, begins, i)
            for i, s in enumerate(self.segments)
            if s.start < s.end
            for time, begins in ((s.start, True), (s.end, False))
        ]
        layered = self.meta.get("layers") == "priority"
        for time, begins, i in sorted(events):
            segment = self.segments[i]
            layer = self.jobs[segment.job].priority if layered else None
            if segment.sharing is not None:
                members = groups[layer, segment.sharing]
                others = [m for m in members if m is not segment]
                members[:] = [*others, segment] if begins else others
                if others:
                    if others[0].shares != segment.shares:
                        self.wrong("group", segment.sharing, "its jobs hold different GPUs")
                    continue
            for server, *amounts in json.loads(segment.shares):
                held = used[layer, server]
                held += (1 if begins else -1) * np.array([*amounts, 0, 0][:3], float)
                if server not in room:
                    self.wrong("unknown_server", server, "there is no such server")
                    continue
                for kind, amount, most in zip(
                    ("gpus", "cpus", "memory"), held, room[server], strict=True
                ):
                    if most is not None and amount > float(most) * (1 + TOLERANCE):
                        self.wrong(kind, server, f"jobs hold {amount:g} of {most} at {time!r} s")

    def _check_completions(self) -> None:
        """Check that every job is complete once, at the end of all that it does."""
        count = Counter(job for job, _ in self.completions)
        for j, job in enumerate(self.jobs):
            if count[j] != 1:
                self.wrong("not_completed", job.id, f"it has {count[j]} completions")
        for j, time in self.completions:
            last = self.of_job[j][-1] if self.of_job[j] else None
            if last is None or last.ending is not Ending.COMPLETED or last.end != time:
                self.wrong("completion", self.jobs[j].id, f"it is complete at {time!r} s")
        if not same(self.meta["end"], max(time for _, time in self.completions)):
            self.wrong("end", "meta.end", "it is not the last completion")

    def _check_decisions(self) -> None:
        """Recount the jobs at every decision."""
        lasting = [s for s in self.segments if s.start < s.end]
        begins, ends = (sorted(getattr(s, name) for s in lasting) for name in ("start", "end"))
        completed = [s for s in self.segments if s.ending is Ending.COMPLETED]
        done = sorted(s.end for s in completed if s.start < s.end)
        at_once = sorted(s.end for s in completed if s.start == s.end)
        submits = sorted(float(job.submit) for job in self.jobs)
        stopped = Counter(s.end for s in self.segments if s.ending is Ending.PREEMPTED)
        new: Counter[float] = Counter()
        moved: Counter[float] = Counter()
        for segments in self.of_job:
            changed_at = None
            for segment in segments:
                (moved if segment.start == changed_at else new)[segment.start] += 1
                changed_at = segment.end if segment.ending is Ending.CHANGED else None
        last = -math.inf
        for time, decisions in _by_time(self.decisions):
            if time < last:
                self.wrong("order", "decisions", f"{time!r} s is after {last!r} s")
            last = time
            gone = bisect_right(done, time)
            running = bisect_left(begins, time) - bisect_left(ends, time)
            running -= gone - bisect_left(done, time)
            gone += bisect_left(at_once, time)
            submitted = bisect_right(submits, time + TOLERANCE * abs(time) + self.meta["slack"])
            started = sum(decision.started for decision in decisions)
            counted = {
                "running": (decisions[0].running, running),
                "waiting": (decisions[0].waiting, submitted - gone - running),
                "preempted": (sum(d.preempted for d in decisions), stopped[time]),
                "started": (started, min(max(started, new[time]), new[time] + moved[time])),
            }
            for kind, (stated, found) in counted.items():
                if stated != found:
                    self.wrong(kind, "decisions", f"{stated} at {time!r} s, the log has {found}")

    def _figures(self) -> dict[str, float]:
        """Return metrics by the names of the summary."""
        had = [sum(s.end - s.start for s in segments) for segments in self.of_job]
        jct = {j: time - float(self.jobs[j].submit) for j, time in self.completions}
        queueing = [time - had[j] for j, time in jct.items()]
        return {
            "mean_jct": sum(jct.values()) / len(jct),
            "p99_jct": sorted(jct.values())[min(len(jct) - 1, 99 * len(jct) // 100)],
            "mean_queueing": sum(queueing) / len(queueing),
            "makespan": max(time for _, time in self.completions),
            "preemptions": sum(s.ending is Ending.PREEMPTED for s in self.segments),
            "decisions": len(self.decisions),
        }


def _ends(segment: Segment, after: Segment | None, moments: set[float]) -> bool:
    """Return whether a segment ends as it says, by what comes after it and when is decided."""
    if segment.ending is Ending.CHANGED:
        return after is not None and after.start == segment.end
    if segment.ending is Ending.COMPLETED:
        return after is None
    return segment.end in moments


def _by_time(decisions: list[DecisionRow]) -> Iterator[tuple[float, list[DecisionRow]]]:
    """Yield the decisions at each time, in the order of the log."""
    several: list[DecisionRow] = []
    for decision in decisions:
        if several and several[-1].time != decision.time:
            yield several[0].time, several
            several = []
        several.append(decision)
    if several:
        yield several[0].time, several
