"""The auditor: recomputes a simulation from its log, and shares no code with what wrote the log.

It reads the tables as arrays, one entry a row. The types of single values are checked by the
database (`dlsched.simulation.log.COLUMNS`); all else is checked here, a column at a time, so that
Python goes through what is wrong alone, through groups that share GPUs, and through what differs:
texts of shares, speeds, causes.
"""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from statistics import median
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlsched.errors import InstanceError, describe
from dlsched.problems.interleaving.definition.check import iteration_time
from dlsched.results.result import Report, Violation
from dlsched.schema import Number, simplify
from dlsched.simulation.log import TABLES, VERSION, Ending, Log, LogError
from dlsched.simulation.workload.clock import TICKS, seconds, ticks
from dlsched.simulation.workload.cluster import LOAN, Cluster
from dlsched.simulation.workload.job import Job
from dlsched.simulation.workload.workload import Matrix, Workload

TOLERANCE: Final = 1e-9
"""Of CPUs, memory and metrics, relative; times and work are compared exactly."""
MOST: Final = 100
"""Violations of one kind that are kept; all are counted."""
SAFE: Final = 2**62
"""Sums and products below are computed in 64 bits; larger ones in Python's whole numbers."""
BROKEN: Final = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What an entry of another kind than its place is for may raise, beyond what is looked for."""
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

Array = NDArray[Any]
Share = tuple[str, int, float | None, float | None]
"""Server, GPUs, CPUs, GB."""
Shares = tuple[Share, ...]
"""Sorted by server."""
Stages = tuple[Number, ...]
Summarize = Callable[[Log], Mapping[str, Any]]


class Findings:
    """Violations found so far: the first of each kind, and the number of all."""

    def __init__(self) -> None:
        self.violations: list[Violation] = []
        self.count: Counter[str] = Counter()

    def add(self, kind: str, where: str, message: str, amount: Number | float = 1) -> None:
        """Add a violation of one of `KINDS`; beyond `MOST` of a kind it is counted only."""
        assert kind in KINDS, kind
        self.count[kind] += 1
        if self.count[kind] <= MOST:
            self.violations.append(Violation(kind, where, message, simplify(Fraction(amount))))


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
    try:
        record = Record(log, findings)
    except (*BROKEN, InstanceError, LogError) as error:
        reason = f"no entry {error}" if isinstance(error, KeyError) else str(error)
        findings.add("unreadable", "meta", reason)
        return Report(tuple(findings.violations), None, {"violations": 1})
    if "end" in record.meta:
        try:
            check_holdings(record)
            speeds = Speeds(record)
            check_speeds(record, speeds)
            check_capacity(record, check_groups(record, speeds))
            check_loans(record)
            check_work(record)
            check_completions(record)
            check_decisions(record)
            if summarize is not None and not findings.count:
                check_figures(record, summarize(log))
        except (*BROKEN, LogError) as error:
            message = f"the audit ends here: {describe(error)}; the log was changed, simulate again"
            findings.add("unreadable", "log", message)
    else:
        message = (
            f"{len(record.completions.row)} of {len(record.jobs)} jobs are complete; go on with "
            "resume=True, then audit"
        )
        findings.add("incomplete", "meta.end", message)
    details = {
        "jobs": len(record.jobs),
        "segments": len(record.segments.row),
        "decisions": len(record.decisions.row),
        "violations": findings.count.total(),
    }
    return Report(tuple(findings.violations), None, details)


class Record:
    """A log, read. Every table is a namespace of columns; ``row`` is that in the log, from 0.

    Attributes
    ----------
    segments
        By job, then in the order of time. ``held`` is a position in `held`; ``first`` and ``last``
        say whether the row is its job's first or last one; ``started`` is the row of `starts` by
        which it begins, or -1; ``anchor`` the position of the stretch that began what it goes on
        with; ``lasting`` whether it takes time; ``speed`` a number of `speeds`.
    held
        What is held at once: shares that differ, with what a job's profile adds to those stated.
    kind
        Type of the arrays that are computed with: 64 bits, or Python's numbers if they are large.
    """

    def __init__(self, log: Log, findings: Findings) -> None:
        self.findings = findings
        self.meta = log.meta()
        self._check_header()
        self.workload = Workload.parse(self.meta["workload"], "the log's workload")
        self.cluster = Cluster.parse(self.meta["cluster"], "the log's cluster")
        self.jobs = self.workload.jobs
        self.servers = {server.id: i for i, server in enumerate(self.cluster.servers)}
        self.pool = {server.id for server in self.cluster.servers if server.pool == LOAN}
        self.submit, self.work, self.restart = (
            np.array([getattr(job, f"{name}_ticks") for job in self.jobs], np.int64)
            for name in ("submit", "work", "restart")
        )
        self.speeds: dict[str | None, Fraction] = {None: Fraction(-1)}
        tables = {name: self._read(log, name) for name in TABLES}
        self.completions, self.loans = tables["completions"], tables["loans"]
        self.decisions, self.starts = tables["decisions"], tables["starts"]
        self.segments = self._by_job(self._with_shares(tables["segments"]))
        self._match_starts()
        self._choose_kind()

    def name(self, job: int) -> str:
        """Return a job's id."""
        return self.jobs[job].id

    def wrong(
        self,
        kind: str,
        found: Array,
        message: Callable[[int], str],
        amount: Callable[[int], Any] = lambda _: 1,
        table: str = "segments",
    ) -> None:
        """Note that rows of a table are wrong, by a mask; what is said of each by its position."""
        if not found.any():
            return
        rows = getattr(self, table).row
        for i in np.flatnonzero(found).tolist():
            if self.findings.count[kind] < MOST:
                by = amount(i)
                by = by.item() if isinstance(by, np.generic) else by
                self.findings.add(kind, f"{table}[{rows[i]}]", message(i), by)
            else:
                self.findings.count[kind] += 1

    def _check_header(self) -> None:
        """Check the version, the clock and the end."""
        wrong = {}
        if self.meta.get("version") != VERSION:
            wrong["version"] = f"is not {VERSION}"
        for key, expected in (("clock", "microseconds"), ("variant", "paper")):
            if self.meta.get(key, expected) != expected:
                wrong[key] = f"is not {expected!r}"
        if "end" in self.meta and not isinstance(self.meta["end"], int):
            wrong["end"] = "is no time"
        for key, problem in wrong.items():
            message = f"{self.meta.get(key)!r} {problem}"
            self.findings.add("unreadable", f"meta.{key}", message)
        if "end" in wrong:
            self.meta.pop("end")

    def _read(self, log: Log, table: str) -> SimpleNamespace:
        """Return the rows of a table that can be read; note what is wrong with others."""
        columns = TABLES[table]
        rows, wrong = log.checked(table)
        for i, names in wrong.items():
            for name in names:
                value = rows[i][columns.index(name)]
                message = f"{value!r} is not what its column holds"
                self.findings.add("unreadable", f"{table}[{i}].{name}", message)
        kept = [i for i in range(len(rows)) if i not in wrong] if wrong else range(len(rows))
        values = zip(*(rows[i] for i in kept), strict=True) if kept else ((),) * len(columns)
        read = dict(zip(columns, values, strict=True))
        found = SimpleNamespace(row=np.array(kept, np.int64))
        for name, column in read.items():
            if name == "speed":
                number = {text: i for i, text in enumerate(self.speeds)}
                codes = [number.setdefault(text, len(number)) for text in column]
                self.speeds |= {t: Fraction(t) for t in number if t not in self.speeds and t}
                setattr(found, name, np.array(codes, np.int64))
            elif name == "overhead" and table == "starts":
                # None is the job's own.
                setattr(found, name, np.array([-1 if v is None else v for v in column], np.int64))
            elif column and isinstance(column[0], int):
                setattr(found, name, np.array(column, np.int64))
            else:
                texts = np.empty(len(column), object)
                texts[:] = column
                setattr(found, name, texts if column else texts.astype(np.int64))
        if "job" in read:
            self.__dict__[table] = found
            known = found.job < len(self.jobs)
            total = len(self.jobs)
            unknown = [f"there is no job {job}; the workload has {total}" for job in found.job]
            self.wrong("unknown_job", ~known, unknown.__getitem__, table=table)
            _keep(found, known)
        return found

    def _with_shares(self, read: SimpleNamespace) -> SimpleNamespace:
        """Put what is held into the place of the texts of shares."""
        parse = cache(_parse_shares)
        number: dict[Shares | None, int] = {None: -1}
        known: dict[tuple[str, str | None], int] = {}
        profiles = [job.profile for job in self.jobs]
        held = []
        for text, j in zip(read.shares.tolist(), read.job.tolist(), strict=True):
            key = (text, profiles[j])
            if key not in known:
                shares = parse(text)
                shares = None if shares is None else self._held_by(profiles[j], shares)
                known[key] = number.setdefault(shares, len(number) - 1)
            held.append(known[key])
        read.held = np.array(held, np.int64)
        for i in np.flatnonzero(read.held < 0).tolist():
            where = f"segments[{read.row[i]}].shares"
            self.findings.add("unreadable", where, f"{read.shares[i]!r} has no meaning")
        _keep(read, read.held >= 0)
        self.held = [shares for shares in number if shares is not None]
        self.count = np.array([len(shares) for shares in self.held], np.int64)
        self.offset = np.cumsum(self.count) - self.count
        every = [share for shares in self.held for share in shares]
        self.share_server = np.array([self.servers.get(s[0], -1) for s in every], np.int64)
        self.share_amounts = np.array([[x or 0.0 for x in s[1:]] for s in every], float)
        self.share_amounts = self.share_amounts.reshape(-1, 3)
        return read

    def _held_by(self, profile: str | None, shares: Shares) -> Shares:
        """Return what a job of a profile holds, with what its shares do not state."""
        if profile is None:
            return shares
        held = []
        for share in shares:
            name, gpus, *stated = share
            server = self.cluster.by_id.get(name)
            usual = None if server is None else self.workload.matrices[profile]
            if usual is None or server is None:
                held.append(share)
                continue
            full = [
                float(u) if s is None else s
                for s, u in zip(stated, usual.proportional(server, gpus), strict=True)
            ]
            held.append((name, gpus, full[0], full[1]))
        return tuple(held)

    @staticmethod
    def _by_job(s: SimpleNamespace) -> SimpleNamespace:
        """Sort stretches by job and time."""
        order = np.lexsort((s.row, s.end, s.start, s.job))
        for name, column in vars(s).items():
            setattr(s, name, column[order])
        s.first = np.diff(s.job, prepend=-1) != 0
        s.last = np.append(s.first[1:], True)[: len(s.row)]
        s.lasting = s.start < s.end
        s.completed, s.preempted, s.changed, s.stopped = (
            s.ending == ending
            for ending in (Ending.COMPLETED, Ending.PREEMPTED, Ending.CHANGED, Ending.STOPPED)
        )
        s.alone = np.array([name is None for name in s.sharing.tolist()], bool)
        return s

    def _match_starts(self) -> None:
        """Find the decision that begins each stretch: the last one at that time for that job."""
        d, starts, s = self.decisions, self.starts, self.segments
        place = {row: i for i, row in enumerate(d.row.tolist())}
        starts.place = np.array([place.get(k, -1) for k in starts.decision.tolist()], np.int64)
        lost = starts.place < 0
        self.wrong(
            "unreadable",
            lost,
            lambda i: f"there is no decision {starts.decision[i]} that can be read",
            table="starts",
        )
        _keep(starts, ~lost)
        starts.time = d.time[starts.place]
        keys = zip(starts.time.tolist(), starts.job.tolist(), strict=True)
        self.begun = {key: i for i, key in enumerate(keys)}
        begins = zip(s.start.tolist(), s.job.tolist(), strict=True)
        s.started = np.array([self.begun.get(key, -1) for key in begins], np.int64)
        same = [np.append(False, a[1:] == a[:-1])[: len(s.row)] for a in (s.held, s.sharing)]
        ended = np.append(0, s.end[:-1])[: len(s.row)]
        after_change = np.append(False, s.changed[:-1])[: len(s.row)]
        s.goes_on = ~s.first & after_change & (ended == s.start) & same[0] & same[1]
        begin = (s.started >= 0) | ~s.goes_on
        s.anchor = np.maximum.accumulate(np.where(begin, np.arange(len(s.row)), 0))
        stated = s.started[s.anchor]
        s.stated = np.where(stated >= 0, starts.speed[stated], 0) if len(starts.row) else 0 * stated
        s.pause = np.where(stated >= 0, starts.overhead[stated], -1) if len(starts.row) else stated
        s.pause = np.where(s.pause < 0, self.restart[s.job], s.pause)

    def _choose_kind(self) -> None:
        s = self.segments
        self.values = list(self.speeds.values())
        parts = [(abs(v.numerator), v.denominator) for v in self.values]
        times = (s.start, s.end, s.overhead, s.work, s.lost, s.pause)
        times += (self.submit, self.work, self.restart)
        longest = max(int(a.max(initial=1)) for a in times)
        large = longest * max(max(pair) for pair in parts) * 4
        total = float(s.work.astype(float).sum() + s.lost.astype(float).sum())
        self.kind: type = np.int64 if max(large, total) < SAFE else object
        self.num, self.den = (np.array(column, self.kind) for column in zip(*parts, strict=True))
        for name in ("start", "end", "overhead", "work", "lost", "pause"):
            setattr(s, name, getattr(s, name).astype(self.kind))

    def entries(self, chosen: Array) -> tuple[Array, Array]:
        """Return the shares of stretches, as positions of the stretches, and of all shares."""
        n = self.count[self.segments.held[chosen]]
        begin = self.offset[self.segments.held[chosen]]
        inside = np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n)
        return np.repeat(chosen, n), np.repeat(begin, n) + inside


def _keep(table: SimpleNamespace, mask: Array) -> None:
    if not mask.all():
        for name, column in vars(table).items():
            setattr(table, name, column[mask])


def _parse_shares(text: str) -> Shares | None:
    try:
        return tuple(sorted((_share(*row) for row in json.loads(text)), key=lambda row: row[0]))
    except (TypeError, ValueError, RecursionError):
        return None


def _share(server: Any, gpus: Any, cpus: Any = None, memory: Any = None) -> Share:
    if not (isinstance(server, str) and isinstance(gpus, int) and abs(gpus) < SAFE):
        raise TypeError
    for amount in (cpus, memory):
        if amount is not None and not (isinstance(amount, int | float) and 0 <= amount < math.inf):
            raise TypeError
    return server, gpus, cpus, memory


def at(time: int) -> str:
    """Return a time of the log in words: seconds, with all digits."""
    return f"{float(seconds(int(time))):.6f}".rstrip("0").rstrip(".") + " s"


def words(shares: Iterable[Share]) -> str:
    """Return shares in words."""
    return " + ".join(f"{gpus} of {server}" for server, gpus, *_ in shares) or "nothing"


def check_holdings(r: Record) -> None:
    """Check gangs, places, times, starts, overhead and endings of all stretches."""
    _check_shares(r)
    _check_place(r)
    _check_times(r)
    _check_ending(r)
    s = r.segments
    r.wrong(
        "undecided",
        (s.started < 0) & ~s.goes_on,
        lambda i: f"job {r.name(s.job[i])} starts at {at(s.start[i])} by no decision",
    )
    # Each change rounds the work down, so that needless ones would slow a job. In a group the speed
    # may change and change back at the same time.
    same = np.append(False, s.speed[1:] == s.speed[:-1])[: len(s.row)]
    r.wrong(
        "unchanged",
        (s.started < 0) & s.goes_on & same & s.alone,
        lambda i: f"job {r.name(s.job[i])} goes on at {at(s.start[i])} as it did before",
    )
    begun = set(s.started[s.started >= 0].tolist())
    for (time, j), i in r.begun.items():
        if i not in begun:
            message = f"a decision at {at(time)} starts it, and no stretch begins then"
            r.findings.add("unstarted", f"job {r.name(j)}", message)
    ready = s.start[s.anchor] + s.pause
    due = np.maximum(0, np.minimum(ready, s.end) - s.start)
    r.wrong(
        "overhead",
        s.overhead != due,
        lambda i: (
            f"job {r.name(s.job[i])} has an overhead of {at(s.overhead[i])} from "
            f"{at(s.start[i])} to {at(s.end[i])}; due are {at(due[i])}"
        ),
        lambda i: abs(s.overhead[i] - due[i]),
    )


def _check_shares(r: Record) -> None:
    s = r.segments
    sums = [sum(share[1] for share in shares) for shares in r.held]
    servers = [{share[0] for share in shares} for shares in r.held]
    gpus = np.array(sums, np.int64)[s.held]
    whole = np.array(
        [
            len(names) == len(shares) and all(share[1] > 0 for share in shares)
            for names, shares in zip(servers, r.held, strict=True)
        ],
        bool,
    )[s.held]
    r.wrong(
        "shares",
        (gpus != s.gpus) | ~whole,
        lambda i: (
            f"job {r.name(s.job[i])} holds {s.gpus[i]} GPUs, its shares are "
            f"{words(r.held[s.held[i]])}; each server counts once, with a GPU or more"
        ),
        lambda i: abs(int(gpus[i]) - int(s.gpus[i])) or 1,
    )
    least, most = (
        np.array([getattr(job, name) for job in r.jobs])[s.job] for name in ("min_gpus", "max_gpus")
    )

    def gang(i: int) -> str:
        wanted = f"{least[i]}" + (f" to {most[i]}" if most[i] != least[i] else "")
        return f"job {r.name(s.job[i])} runs with {gpus[i]} GPUs; it can with {wanted}"

    r.wrong("gang", (gpus < least) | (gpus > most), gang)


def _check_place(r: Record) -> None:
    """Check that workers are whole, and that each job may use its servers."""
    s = r.segments
    every = np.arange(len(s.row))
    size = np.array([job.gpus_per_worker for job in r.jobs])
    i, share = r.entries(every[size[s.job] > 1])
    for k in np.flatnonzero(r.share_amounts[share, 0] % size[s.job[i]]).tolist():
        server, gpus, *_ = r.held[s.held[i[k]]][share[k] - r.offset[s.held[i[k]]]]
        job = r.jobs[s.job[i[k]]]
        message = (
            f"job {job.id} has {gpus} GPUs on {server}; its workers have {job.gpus_per_worker}"
        )
        r.findings.add("worker", f"segments[{s.row[i[k]]}]", message)
    lent = [[share[0] for share in shares if share[0] in r.pool] for shares in r.held]
    some = np.array([bool(names) for names in lent], bool)[s.held]
    both = some & (np.array(list(map(len, lent)), np.int64)[s.held] < r.count[s.held])
    mixed, fungible = (
        np.array([getattr(job, name) for job in r.jobs], bool)[s.job]
        for name in ("heterogeneous", "fungible")
    )
    r.wrong(
        "pool",
        some & ~mixed & ~fungible,
        lambda i: (
            f"job {r.name(s.job[i])} is on {lent[s.held[i]][0]} of the loan pool; it is not "
            "fungible"
        ),
    )
    r.wrong(
        "pool",
        both & ~mixed & fungible,
        lambda i: f"job {r.name(s.job[i])} is on servers of both pools; it is not heterogeneous",
    )


def _check_times(r: Record) -> None:
    s = r.segments
    submit = r.submit[s.job]
    r.wrong(
        "backwards",
        s.end < s.start,
        lambda i: f"it starts at {at(s.start[i])} and ends at {at(s.end[i])}",
    )
    r.wrong(
        "early",
        s.start < submit,
        lambda i: (
            f"job {r.name(s.job[i])} starts at {at(s.start[i])}; it is submitted at {at(submit[i])}"
        ),
    )
    r.wrong(
        "unchanged",
        (s.start == s.end) & s.changed,
        lambda i: f"job {r.name(s.job[i])} has a stretch of no length at {at(s.start[i])}",
    )
    r.wrong(
        "overlap",
        ~s.first & (s.start < np.append(0, s.end[:-1])[: len(s.row)]),
        lambda i: (
            f"job {r.name(s.job[i])} is on {words(r.held[s.held[i]])} from {at(s.start[i])}, and "
            f"on {words(r.held[s.held[i - 1]])} until {at(s.end[i - 1])}"
        ),
    )


def _check_ending(r: Record) -> None:
    """Check that a stretch ends as it says: what comes after it, and the decision at its end."""
    s = r.segments
    follows = np.append(s.start[1:], 0)[: len(s.row)]
    decided = np.isin(s.end.astype(np.int64), r.decisions.time)

    def wrong(kind: str, found: Array, problem: Callable[[int], str]) -> None:
        r.wrong(kind, found, lambda i: f"at {at(s.end[i])} job {r.name(s.job[i])} {problem(i)}")

    moves = s.changed & (s.last | (follows != s.end))
    wrong("ending", moves, lambda _: "is to run on then, but does not")
    again = s.completed & ~s.last
    wrong("ending", again, lambda i: f"is complete then, but runs again at {at(follows[i])}")
    early = s.stopped & (s.end != r.meta["end"])
    wrong("ending", early, lambda _: "stops because the simulation ends, which it does not then")
    undecided = s.preempted & ~decided
    wrong("undecided", undecided, lambda _: "is preempted, when nothing is decided")


class Speeds:
    """Speeds by what they depend on: a job's profile, what it holds, and with whom."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.servers = record.cluster.by_id
        known: dict[Any, int] = {}
        self.of_job = np.array([known.setdefault(_like(job), len(known)) for job in record.jobs])
        places: dict[Any, int] = {}
        kinds = [places.setdefault(self._place(shares), len(places)) for shares in record.held]
        self.of_held = np.array(kinds, np.int64)
        self.places = list(places)
        self.known: dict[tuple[Any, ...], Fraction | None] = {}

    def _place(self, shares: Shares) -> tuple[Any, ...]:
        """Return what of shares matters: GPUs by type, whether they are of both pools, amounts."""
        types: Counter[str | None] = Counter()
        pools = set()
        for name, gpus, *_ in shares:
            server = self.servers.get(name)
            types[server and server.gpu_type] += gpus
            pools.add(server and server.pool)
        return tuple(types.items()), len(pools) > 1, frozenset(share[1:] for share in shares)

    def expected(self, j: int, held: int, partners: tuple[Stages, ...]) -> Fraction | None:
        """Return the speed of a job with what it holds; None if it cannot run like that."""
        key = (self.of_job[j], self.of_held[held], partners)
        if key not in self.known:
            types, mixed, amounts = self.places[self.of_held[held]]
            job = self.record.jobs[j]
            found = speed(job, dict(types), partners, mixed)
            if found is not None and job.profile is not None:
                matrix = self.record.workload.matrices[job.profile]
                found *= min((throughput(matrix, *a) for a in amounts), default=Fraction(0))
            self.known[key] = found
        return self.known[key]

    def compare(self, i: int, partners: tuple[Stages, ...], time: Any) -> None:
        """Check the speed of a stretch from a time on, beside jobs with such stages."""
        r, s = self.record, self.record.segments
        expected = self.expected(s.job[i], s.held[i], partners)
        where, name = f"segments[{s.row[i]}]", r.name(s.job[i])
        stated = r.values[s.speed[i]]
        if expected is None:
            message = f"job {name} shares GPUs at {at(time)}, and its stages do not allow that"
            r.findings.add("speed", where, message)
        elif stated != expected:
            message = f"job {name} runs at speed {stated} at {at(time)}; its profile gives "
            r.findings.add("speed", where, f"{message}{expected}", abs(stated - expected))


def _like(job: Job) -> tuple[Any, ...]:
    rates = tuple(job.rates.items())
    loss, mixed = job.scaling_loss, job.mixed_efficiency
    return job.gpus, job.min_gpus, job.gpu_type, job.stages, job.profile, loss, mixed, rates


def check_speeds(r: Record, speeds: Speeds) -> None:
    """Check the speed of every stretch that takes time, but of those that share GPUs.

    Those share by `check_groups`, where the decision does not state their speed.
    """
    s = r.segments
    stated = s.lasting & (s.stated > 0)
    given = np.array(r.values, object)
    r.wrong(
        "speed",
        stated & ((r.num[s.speed] != r.num[s.stated]) | (r.den[s.speed] != r.den[s.stated])),
        lambda i: (
            f"job {r.name(s.job[i])} runs at speed {given[s.speed[i]]} at {at(s.start[i])}; the "
            f"decision states {given[s.stated[i]]}"
        ),
        lambda i: abs(given[s.speed[i]] - given[s.stated[i]]),
    )
    own = np.flatnonzero(s.lasting & (s.stated == 0) & s.alone)
    if not len(own):
        return
    kinds = (speeds.of_job[s.job[own]] * len(speeds.places) + speeds.of_held[s.held[own]]) * len(
        r.values
    ) + s.speed[own]
    _, firsts, kind = np.unique(kinds, return_index=True, return_inverse=True)
    good = [
        speeds.expected(s.job[i], s.held[i], ()) == r.values[s.speed[i]]
        for i in own[firsts].tolist()
    ]
    for i in own[~np.array(good, bool)[kind]].tolist():
        speeds.compare(i, (), s.start[i])


def check_groups(r: Record, speeds: Speeds) -> list[tuple[int, Any, Any]]:
    """Go through the moments at which somebody joins or leaves a group.

    The jobs of a group may change within a stretch, as long as its speed does not.

    Returns
    -------
    list
        Stretch, begin and end of what the groups hold, each at any time for one of its jobs.
    """
    s = r.segments
    groups: dict[str, list[int]] = defaultdict(list)
    for i in np.flatnonzero(s.lasting & ~s.alone).tolist():
        groups[s.sharing[i]].append(i)
    spans = []
    for members in groups.values():
        present: list[int] = []
        since: Any = 0
        for time, events in itertools.groupby(_events(s, members), key=lambda event: event[0]):
            for _, joins, _, i in events:
                if not joins:
                    first = present[0]
                    present.remove(i)
                    if first == i:
                        spans.append((i, since, time))
                        since = time
                    continue
                if present:
                    _compare_held(r, i, present[0])
                else:
                    since = time
                present.append(i)
            for i in present:
                if not s.stated[i]:
                    others = (r.jobs[s.job[k]].stages for k in present if k != i)
                    speeds.compare(i, tuple(sorted(others)), time)
    return spans


def _events(s: SimpleNamespace, members: Iterable[int]) -> list[tuple[Any, int, int, int]]:
    """Return time, whether it begins, row, and position of what happens; ends come first."""
    events = [(s.start[i], 1, int(s.row[i]), i) for i in members]
    return sorted(events + [(s.end[i], 0, int(s.row[i]), i) for i in members])


def _compare_held(r: Record, i: int, first: int) -> None:
    s = r.segments
    if s.held[i] != s.held[first]:
        mine, other = r.held[s.held[i]], r.held[s.held[first]]
        message = (
            f"jobs {r.name(s.job[i])} and {r.name(s.job[first])} share GPUs as {s.sharing[i]}, but "
            f"hold {words(mine)} and {words(other)}"
        )
        r.findings.add("group", f"segments[{s.row[i]}]", message)


def speed(
    job: Job, types: Mapping[str | None, int], partners: tuple[Stages, ...], mixed: bool
) -> Fraction | None:
    """Return the work that a job does per second; None if it cannot run like that.

    Work is counted in seconds with the GPUs that the job asks for, on its own type, alone. With
    more GPUs it is done in proportion, where each above the fewest counts for less if the job
    states a loss; with GPUs of both pools (`mixed`) at the efficiency that it states; on several
    types, given with the numbers of GPUs, at the rate of the slowest, but on those of both pools
    each at its own; in a group one iteration takes that of the group (Muri, eq. 3) instead of its
    own stages' sum.
    """
    gpus = sum(types.values())
    kept = 1 - Fraction(job.scaling_loss)
    held, asked = (job.min_gpus + (g - job.min_gpus) * kept for g in (gpus, job.gpus))
    result = held / asked
    if mixed:
        result *= Fraction(job.mixed_efficiency)
    if job.rates:
        known = {kind: Fraction(job.rates.get(kind, 0)) if kind else Fraction(0) for kind in types}
        pace = min(known.values(), default=Fraction(0))
        if mixed and pace:
            pace = sum((known[kind] * n / gpus for kind, n in types.items()), Fraction(0))
        result = result * pace / Fraction(job.rates[job.gpu_type or ""])
    if partners:
        together = least_time(tuple(sorted((job.stages, *partners))))
        if not together:
            return None
        result = result * Fraction(sum(job.stages)) / together
    return result


def throughput(matrix: Matrix, gpus: int, cpus: float | None, memory: float | None) -> Fraction:
    """Return the throughput with amounts on a server, relative to the proportional share.

    It is that of the largest entries of the axes that the amounts per GPU reach (Synergy, section
    3.1). The log has amounts as floats.
    """
    reached: list[int] = []
    usual: list[int] = []
    axes = (matrix.cpus, matrix.memory)
    for axis, amount, share in zip(axes, (cpus, memory), matrix.share, strict=True):
        per_gpu = float(share) if amount is None else amount / gpus * (1 + TOLERANCE)
        reached.append(sum(float(entry) <= per_gpu for entry in axis) - 1)
        usual.append(sum(entry <= share for entry in axis) - 1)
    if min(reached) < 0:
        return Fraction(0)
    row, column = reached
    usual_row, usual_column = usual
    return Fraction(matrix.throughput[row][column]) / matrix.throughput[usual_row][usual_column]


@cache
def least_time(group: tuple[Stages, ...]) -> Fraction | None:
    """Return a group's iteration time in its best order; None if it has none."""
    resources = len(group[0])
    unlike = any(len(stages) != resources or not any(stages) for stages in group)
    if unlike or len(group) > resources:
        return None
    # The first stages of the jobs, all different; the first job's is 0, as a rotation.
    orders = itertools.product(range(resources), repeat=len(group) - 1)
    distinct = ((0, *order) for order in orders if len({0, *order}) == len(group))
    return min(Fraction(iteration_time(group, order)) for order in distinct)


class Resource(NamedTuple):
    """What servers have: the kind of its violations, its unit, and a relative tolerance."""

    kind: str
    unit: str
    tolerance: float


RESOURCES = (
    Resource("gpus", "GPUs", 0.0),
    Resource("cpus", "CPUs", TOLERANCE),
    Resource("memory", "GB", TOLERANCE),
)


def check_capacity(r: Record, spans: Sequence[tuple[int, Any, Any]]) -> None:
    """Add up what is held on each server, in the order of time.

    What ends at a moment is free for what starts at it. Jobs that share GPUs hold them once, in
    `spans`. CPUs and memory are floats in the log: they are added within a relative tolerance.
    """
    s = r.segments
    alone = np.flatnonzero(s.lasting & s.alone)
    holder = np.append(alone, np.array([i for i, *_ in spans], np.int64))
    begin, end = (
        np.append(own[alone], np.array([span[k] for span in spans], own.dtype)).astype(np.int64)
        for k, own in ((1, s.start), (2, s.end))
    )
    place, share = r.entries(np.arange(len(s.row))[holder])
    n = r.count[s.held[holder]]
    server = r.share_server[share]
    unknown = np.flatnonzero(server < 0)
    for k in unknown.tolist():
        i = place[k]
        name = r.held[s.held[i]][share[k] - r.offset[s.held[i]]][0]
        message = f"job {r.name(s.job[i])} is on {name}; there is no such"
        r.findings.add("unknown_server", f"segments[{s.row[i]}]", message)
    times = np.concatenate((np.repeat(begin, n), np.repeat(end, n)))
    starts = np.repeat([True, False], len(place))
    where = np.tile(server, 2)
    rows = np.tile(s.row[place], 2)
    order = np.lexsort((rows, starts, times, where))
    order = order[where[order] >= 0]
    where = where[order]
    change = np.concatenate((r.share_amounts[share], -r.share_amounts[share]))[order]
    used = np.cumsum(change, axis=0)
    new = np.flatnonzero(np.diff(where, prepend=-1))
    before = np.concatenate((np.zeros((1, 3)), used))[new]
    used -= np.repeat(before, np.diff(np.append(new, len(where))), axis=0)
    servers = r.cluster.servers
    for k, resource in enumerate(RESOURCES):
        rooms = [getattr(server, resource.kind) for server in servers]
        room = np.array([math.inf if x is None else float(x) for x in rooms])[where]
        over = starts[order] & (used[:, k] > room * (1 + resource.tolerance))
        for e in np.flatnonzero(over).tolist():
            i = np.tile(place, 2)[order[e]]
            held, limit = used[e, k].item(), room[e].item()
            message = (
                f"at {at(times[order[e]])} jobs hold {held:g} {resource.unit} of "
                f"{servers[where[e]].id}, which has {limit:g}"
            )
            r.findings.add(resource.kind, f"segments[{s.row[i]}]", message, held - limit)


def check_loans(r: Record) -> None:
    """Compare the table of loans with the cluster's schedule and with where jobs are."""
    if not r.pool and not len(r.loans.row):
        return
    spans = _spans(r)
    _check_schedule(r)
    s = r.segments
    for i in np.flatnonzero(np.array([True] * len(s.row))).tolist():
        for server, *_ in r.held[s.held[i]]:
            there = server not in r.pool or any(
                begin <= s.start[i] and (end is None or end >= s.end[i])
                for begin, end in spans[server]
            )
            if not there:
                message = (
                    f"job {r.name(s.job[i])} is on {server} from {at(s.start[i])} to "
                    f"{at(s.end[i])}, in which it is not lent throughout"
                )
                r.findings.add("not_lent", f"segments[{s.row[i]}]", message)


def _spans(r: Record) -> dict[str, list[tuple[Any, Any]]]:
    """Return when each server is lent; an end of None is after the log."""
    spans: dict[str, list[tuple[Any, Any]]] = {server: [] for server in r.pool}
    come = {ticks(loan.time) for loan in r.cluster.loans}
    go = come | set(r.decisions.time.tolist())
    last = None
    for row, time, server, lent in _loans(r):
        where = f"loans[{row}]"
        if server not in r.pool:
            r.findings.add("loan", where, f"{server} is no server of the loan pool")
            continue
        what = f"{server} {'comes' if lent else 'goes'} at {at(time)}"
        if time not in (come if lent else go):
            r.findings.add("loan", where, f"{what}; nothing happens then")
        there = bool(spans[server]) and spans[server][-1][1] is None
        if bool(lent) == there:
            problem = "there already" if lent else "not there"
            r.findings.add("loan", where, f"{what}, but is {problem}")
        elif lent:
            spans[server].append((time, None))
        else:
            spans[server][-1] = (spans[server][-1][0], time)
        if last is not None and time < last:
            r.findings.add("loan", where, f"{at(time)} is before the row before, {at(last)}")
        last = time
    return spans


def _loans(r: Record) -> Iterator[tuple[Any, ...]]:
    loans = r.loans
    columns = (loans.row, loans.time, loans.server, loans.lent)
    return zip(*(column.tolist() for column in columns), strict=True)


def _check_schedule(r: Record) -> None:
    """At no moment are more servers lent than the schedule says; as many come as it says."""
    schedule = [(ticks(loan.time), loan.servers) for loan in r.cluster.loans]
    moments: dict[Any, int] = {}
    coming: Counter[Any] = Counter()
    for _, time, _, lent in _loans(r):
        coming[time] += lent
        moments[time] = moments.get(time, 0) + (1 if lent else -1)
    for time, _ in schedule:
        if time <= r.meta["end"]:
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
                r.findings.add("loan", "loans", message, limit - most)
        if present > limit:
            message = f"at {at(time)} {present} servers are lent, the loan has {limit}"
            r.findings.add("over_loan", "loans", message, present - limit)


def check_work(r: Record) -> None:
    """Check work and loss of all stretches, and that a job is complete exactly when it is done.

    The work is the floor of time times speed, and the rest in a job's last stretch. A job whose
    work is done is complete at once: another stretch ends before that.
    """
    s = r.segments
    if not len(s.row):
        return
    total = r.work.astype(r.kind)[s.job]
    done = np.cumsum(s.work - s.lost)
    start = np.maximum.accumulate(np.where(s.first, np.arange(len(s.row)), 0))
    until = np.append(0, done[:-1])
    left = total - (until - until[start])
    time = s.end - s.start - s.overhead
    num, den = r.num[s.speed], r.den[s.speed]
    moves = num > 0
    able = np.maximum(0, time) * num // den
    needed = -(-left * den // np.where(moves, num, 1))
    r.wrong(
        "unfinished",
        s.completed & (~moves | (time < needed)),
        lambda i: (
            f"job {r.name(s.job[i])} is complete at {at(s.end[i])}; in {at(time[i])} at speed "
            f"{r.values[s.speed[i]]} it does {able[i]} of the {left[i]} that were left"
        ),
        lambda i: abs(left[i] - able[i]),
    )
    late = moves & (time >= np.where(s.completed, needed + 1, np.maximum(1, needed)))
    r.wrong(
        "late",
        late,
        lambda i: (
            f"job {r.name(s.job[i])} is done at {at(s.start[i] + s.overhead[i] + needed[i])}, but "
            f"runs on until {at(s.end[i])}"
        ),
        lambda i: time[i] - needed[i],
    )
    work = np.where(late | s.completed, np.minimum(able, left), able)
    r.wrong(
        "work",
        s.work != work,
        lambda i: (
            f"job {r.name(s.job[i])} does {s.work[i]} from {at(s.start[i])} to {at(s.end[i])}; "
            f"{at(time[i])} at speed {r.values[s.speed[i]]} are {work[i]}"
        ),
        lambda i: abs(s.work[i] - work[i]),
    )
    restarts = np.array([not job.checkpoints for job in r.jobs], bool)[s.job]
    after = left - s.work
    lost = np.where(s.preempted & restarts, total - after, 0)
    r.wrong(
        "lost",
        s.lost != lost,
        lambda i: (
            f"job {r.name(s.job[i])} loses {s.lost[i]} of its work at {at(s.end[i])}; it is "
            f"{lost[i]}"
        ),
        lambda i: abs(s.lost[i] - lost[i]),
    )
    r.wrong(
        "unfinished",
        s.completed & (after + s.lost != 0),
        lambda i: (
            f"job {r.name(s.job[i])} is complete at {at(s.end[i])}; of its work of {total[i]} "
            f"there were {left[i]} left, and {s.work[i]} is done then"
        ),
        lambda i: abs(after[i] + s.lost[i]),
    )


def check_completions(r: Record) -> None:
    """Check that every job is complete once, after all that it does, and when the log ends."""
    s, c = r.segments, r.completions
    row = np.full(len(r.jobs), -1)
    row[c.job] = np.arange(len(c.row))
    last = np.full(len(r.jobs), -1)
    last[s.job] = np.arange(len(s.row))
    stopped = np.zeros(len(r.jobs), bool)
    stopped[s.job[s.last]] = s.stopped[s.last]
    for j in np.flatnonzero((row < 0) & ~stopped).tolist():
        r.findings.add("not_completed", f"job {r.name(j)}", "it has no completion")
    for j in np.flatnonzero(np.bincount(c.job, minlength=len(r.jobs)) > 1).tolist():
        moments = " and ".join(at(time) for time in c.time[c.job == j].tolist())
        message = f"job {r.name(j)} is complete at {moments}"
        r.findings.add("completed_twice", f"completions[{c.row[row[j]]}]", message)
    there = np.flatnonzero(row >= 0)
    ran = last[there] >= 0
    ends = np.zeros(len(there), bool)
    ends[ran] = (s.completed & s.last)[last[there[ran]]]
    ends[ran] &= s.end[last[there[ran]]].astype(np.int64) == c.time[row[there[ran]]]
    for j in there[~ends].tolist():
        what = "it never ran"
        if last[j] >= 0:
            what = f"its last stretch ends at {at(s.end[last[j]])} as {s.ending[last[j]]}"
        message = f"job {r.name(j)} ends at {at(c.time[row[j]])}; {what}"
        r.findings.add("completion", f"completions[{c.row[row[j]]}]", message)
    end = np.full(len(r.jobs), np.iinfo(np.int64).max)
    end[c.job] = c.time
    r.wrong(
        "after_end",
        s.end > end[s.job],
        lambda i: (
            f"job {r.name(s.job[i])} runs until {at(s.end[i])}; it ends at {at(end[s.job[i]])}"
        ),
    )
    latest = c.time.max(initial=-1)
    if len(c.row) and r.meta["end"] != latest:
        message = f"the log ends at {at(r.meta['end'])}, the last completion is at {at(latest)}"
        r.findings.add("end", "meta.end", message)
    by_row = np.argsort(s.row)
    for table, times, rows in (
        ("completions", c.time, c.row),
        ("segments", s.end[by_row], s.row[by_row]),
    ):
        for i in np.flatnonzero(times[1:] < times[:-1]).tolist():
            message = f"it ends at {at(times[i + 1])}, the one before at {at(times[i])}"
            r.findings.add("order", f"{table}[{rows[i + 1]}]", message)


CAUSES = ("arrival", "completion", "round", "wake", "loan")


def check_decisions(r: Record) -> None:
    """Recount the jobs at every decision.

    Of several at the same time, waiting and running jobs are recounted for the first; for a later
    one, what the one before changed is added, unless a job is preempted and started again then.
    Preempted jobs are recounted for all together. A job that ends at once is gone at the next.
    """
    s, d = r.segments, r.decisions
    if not len(d.row):
        return
    first = np.diff(d.time, prepend=-1) != 0
    firsts = np.flatnonzero(first)
    times = d.time[firsts]
    before = np.append(-1, times[:-1])
    for k in np.flatnonzero(times < before).tolist():
        message = f"it is at {at(times[k])}, the one before at {at(before[k])}"
        r.findings.add("order", f"decisions[{d.row[firsts[k]]}]", message)
    start, end = s.start.astype(np.int64), s.end.astype(np.int64)
    submits, begins, ends, complete, at_once, stopped = (
        np.sort(values)
        for values in (
            r.submit,
            start[s.lasting],
            end[s.lasting],
            end[s.lasting & s.completed],
            end[s.completed & (start == end)],
            end[s.preempted],
        )
    )
    done = np.searchsorted(complete, times, "right")
    running = np.searchsorted(begins, times) - np.searchsorted(ends, times)
    running -= done - np.searchsorted(complete, times)
    gone = done + np.searchsorted(at_once, times)
    waiting = np.searchsorted(submits, times, "right") - gone - running
    preempted = np.searchsorted(stopped, times, "right") - np.searchsorted(stopped, times)
    started = np.bincount(r.starts.place, minlength=len(d.row))

    def expect(kind: str, which: Array, stated: Array, counted: Array) -> None:
        for k in np.flatnonzero(stated != counted).tolist():
            _expect(r, kind, which[k], stated[k], counted[k])

    expect("running", firsts, d.running[firsts], running)
    expect("waiting", firsts, d.waiting[firsts], waiting)
    expect("preempted", firsts, np.add.reduceat(d.preempted, firsts), preempted)
    expect("started", np.arange(len(d.row)), d.started, started)
    instant = s.completed & (start == end)
    loans = np.array([ticks(loan.time) for loan in r.cluster.loans], np.int64)
    happens = {
        "arrival": np.isin(d.time, submits),
        "completion": np.isin(d.time, complete),
        "loan": np.isin(d.time, loans),
    }
    _check_causes(r, first, np.isin(d.time, at_once), happens)
    if len(firsts) < len(d.row):
        jobs = s.changed & s.lasting, instant, s.preempted
        changed, ending, stopped_jobs = ({} for _ in range(3))  # type: ignore[var-annotated]
        for found, mask in zip((changed, ending, stopped_jobs), jobs, strict=True):
            for time, j in zip(end[mask].tolist(), s.job[mask].tolist(), strict=True):
                found.setdefault(time, set()).add(j)
        stops = np.append(firsts[1:], len(d.row))
        for k in np.flatnonzero(stops - firsts > 1).tolist():
            time = int(times[k])
            known = (found.get(time, set()) for found in (changed, ending, stopped_jobs))
            _check_later(r, range(firsts[k], stops[k]), *known)


def _expect(r: Record, kind: str, i: int, stated: Any, counted: Any) -> None:
    if stated != counted:
        time, where = r.decisions.time[i], f"decisions[{r.decisions.row[i]}]"
        message = f"at {at(time)} {stated} jobs are {kind}, the log has {counted}"
        r.findings.add(kind, where, message, abs(int(stated) - int(counted)))


def _check_later(
    r: Record, decisions: range, running: set[int], instant: set[int], stopped: set[int]
) -> None:
    """Check the decisions after the first one at a time, each against the one before.

    Given are the jobs that run on, that end at once, and that are preempted at that time.
    """
    d = r.decisions
    order = np.searchsorted(r.starts.place, (decisions.start, decisions.stop))
    jobs: dict[int, set[int]] = {i: set() for i in decisions}
    for k in range(*order):
        jobs[int(r.starts.place[k])].add(int(r.starts.job[k]))
    last = {j: i for i in decisions for j in jobs[i]}
    running = set(running)
    for i in decisions[:-1]:
        if jobs[i] & stopped:
            return
        waiting = d.waiting[i] - len(jobs[i] - running) + d.preempted[i]
        running |= jobs[i]
        _expect(r, "waiting", i + 1, d.waiting[i + 1], waiting)
        gone = sum(last[j] == i for j in jobs[i] & instant)
        present = d.waiting[i] + d.running[i] - gone
        _expect(r, "running", i + 1, d.running[i + 1], present - waiting)


def _check_causes(r: Record, first: Array, instant: Array, happens: Mapping[str, Array]) -> None:
    """Check the causes against what happened; after the first decision jobs can only end."""
    d = r.decisions
    number: dict[str, int] = {}
    code = np.array([number.setdefault(cause, len(number)) for cause in d.cause.tolist()])
    parts = [cause.split("+") for cause in number]
    odd = np.array([part != [cause for cause in CAUSES if cause in part] for part in parts])
    known = ", ".join(CAUSES)
    r.wrong(
        "cause",
        odd[code],
        lambda i: f"{d.cause[i]!r} is not made of {known}, in this order",
        table="decisions",
    )
    completion = np.array([cause == "completion" for cause in number])
    r.wrong(
        "cause",
        ~first & ~(completion[code] & instant),
        lambda i: f"at {at(d.time[i])} it is decided again, because of {d.cause[i]}",
        table="decisions",
    )
    for cause, did in happens.items():
        says = np.array([cause in part for part in parts])[code]

        def message(i: int, cause: str = cause, did: Array = did) -> str:
            what = f"one more: {cause}" if did[i] else f"no {cause}"
            return f"its cause is {d.cause[i]}; at {at(d.time[i])} there is {what}"

        r.wrong("cause", first & (did != says), message, table="decisions")


def check_figures(r: Record, summary: Mapping[str, Any]) -> None:
    """Compare a summary with the log, within a relative tolerance of `TOLERANCE`: it is floats."""
    for name, expected in figures(r).items():
        stated = summary.get(name)
        value = float(expected)
        near = isinstance(stated, int | float) and math.isclose(
            stated, value, rel_tol=TOLERANCE, abs_tol=1e-6
        )
        if not near:
            message = f"the summary has {stated!r}, the log gives {value!r}"
            r.findings.add("metric", f"summary.{name}", message)


def figures(r: Record) -> dict[str, Any]:
    """Return metrics by the names of `simulation.measures.metrics.summary`; times in seconds."""
    s, c = r.segments, r.completions
    length = s.end - s.start
    done = np.append(0, np.cumsum(length))
    edges = np.searchsorted(s.job, np.arange(len(r.jobs) + 1))
    had = done[edges[1:]] - done[edges[:-1]]
    jct = c.time.astype(r.kind) - r.submit[c.job]
    n = len(c.row)
    result: dict[str, Any] = {"jobs": len(r.jobs), "completed": n}
    for name, times in (("jct", jct), ("queueing", jct - had[c.job])):
        values = sorted(times.tolist())
        result[f"mean_{name}"] = Fraction(sum(values), n * TICKS)
        result[f"median_{name}"] = Fraction(median(values)) / TICKS
        result[f"p95_{name}"] = Fraction(values[95 * n // 100], TICKS)
        result[f"p99_{name}"] = Fraction(values[99 * n // 100], TICKS)
    last = int(c.time.max())
    gpus = sum(server.gpus for server in r.cluster.servers)
    result["makespan"] = Fraction(last, TICKS)
    result["utilization"] = Fraction(_held(r), gpus * last) if last else 0
    result["preemptions"] = int(s.preempted.sum())
    result["decisions"] = len(r.decisions.row)
    typed = {j for j, job in enumerate(r.jobs) if job.gpu_type and not job.rates}
    types = {server.id: server.gpu_type for server in r.cluster.servers if server.gpu_type}
    if typed and types:
        pairs = set(zip(s.job.tolist(), s.held.tolist(), strict=True))
        placed = {
            (j, types[share[0]])
            for j, held in pairs
            if j in typed
            for share in r.held[held]
            if share[0] in types
        }
        other = {j for j, kind in placed if kind not in str(r.jobs[j].gpu_type).split("|")}
        result["other_gpu_type"] = len(other)
    return result


def _held(r: Record) -> int:
    """Return the GPU time held; jobs that share GPUs hold them once, if the log says which."""
    s = r.segments
    held = ((s.end - s.start).astype(object) * s.gpus)[s.alone]
    total = int(held.sum()) if len(held) else 0
    groups: dict[Any, list[tuple[Any, Any, int]]] = defaultdict(list)
    for i in np.flatnonzero(~s.alone).tolist():
        groups[s.sharing[i]].append((int(s.start[i]), int(s.end[i]), int(s.gpus[i])))
    for members in groups.values():
        until = 0
        for begin, end, gpus in sorted(members):
            total += max(0, end - max(until, begin)) * gpus
            until = max(until, end)
    return total
