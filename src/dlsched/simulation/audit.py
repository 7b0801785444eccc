"""The auditor: recomputes a simulation from its log, and shares no code with what wrote the log.

It is one file, so that it can be read, and trusted, without the rest of the package. It reads the
tables as arrays, one entry a row. The types of single values are checked by the database
(`dlsched.simulation.log.COLUMNS`); all else here, a column at a time. Python goes through what is
wrong, through groups that share GPUs, and through different texts of shares, speeds and causes.
"""

import itertools
import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache, cached_property
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from dlsched.errors import InstanceError, describe
from dlsched.problems.interleaving.definition.check import iteration_time
from dlsched.results.result import Report, Violation
from dlsched.schema import Number, simplify
from dlsched.simulation.log import COLUMNS, TABLES, VERSION, Ending, Log, LogError
from dlsched.simulation.workload.clock import TICKS, seconds, ticks
from dlsched.simulation.workload.cluster import LOAN, Cluster
from dlsched.simulation.workload.eligibility import eligibility, obstacle
from dlsched.simulation.workload.job import Job
from dlsched.simulation.workload.workload import Matrix, Workload
from dlsched.solvers.overhead import no_collection

TOLERANCE: Final = 1e-9
"""Of CPUs, memory and metrics, relative; times and work are compared exactly."""
MOST: Final = 100
"""Violations of one kind that are kept; all are counted."""
NEVER: Final = 2**63 - 1
"""The time of what does not happen."""
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
TEXTS: Final = {n for row in COLUMNS.values() for n, column in row.items() if column.kind == "TEXT"}
KINDS: Final = {
    "unreadable": "an entry of the log is not what its column holds",
    "incomplete": "the simulation has not ended",
    "end": "the log's end is not the last completion",
    "unknown_job": "a row names a job that the workload does not have",
    "unknown_server": "a job is on a server that the cluster does not have",
    "not_lent": "a job is on a server that is not there: not lent, or away",
    "loan": "a server comes or goes that cannot",
    "away": "servers go and come back at other times than the cluster says",
    "withdrawn": "a job runs after it was withdrawn",
    "over_loan": "more servers are in use than the loan has",
    "gpus": "jobs hold more GPUs than the server has",
    "cpus": "jobs hold more CPUs than the server has",
    "memory": "jobs hold more memory than the server has",
    "gang": "a job runs with fewer or more GPUs than it can",
    "shares": "a job's shares do not make up its GPUs",
    "worker": "a worker is not on one server",
    "place": "a job is on a server where it may not run",
    "pool": "a job is on servers of both pools, and cannot use them together",
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
        # Rows and jobs are no cycles; looking for some while these are read takes a third more.
        with no_collection():
            record = Record(log, findings)
    except (*BROKEN, InstanceError, LogError) as error:
        reason = f"no entry {error}" if isinstance(error, KeyError) else str(error)
        findings.add("unreadable", "meta", reason)
        return Report(tuple(findings.violations), None, {"violations": 1})
    if "end" in record.meta:
        try:
            check_holdings(record)
            check_places(record)
            speeds = Speeds(record)
            check_speeds(record, speeds)
            record.spans = check_groups(record, speeds)
            check_capacity(record)
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


class Table:
    """The rows of a table that can be read: ``row`` is the number in the log; columns by name."""

    def __init__(self, name: str, rows: Any, columns: Mapping[str, Array]) -> None:
        self.name = name
        self.row: Array = np.array(rows, np.int64)
        vars(self).update(columns)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Array: ...  # noqa: D105
        def __setattr__(self, name: str, value: Array | str) -> None: ...  # noqa: D105

    def take(self, which: Array) -> None:
        """Keep rows, by a mask or by their positions in another order."""
        for name, column in vars(self).items():
            if name != "name":
                setattr(self, name, column[which])


class Record:
    """A log, read.

    Attributes
    ----------
    segments
        By job, then in the order of time. ``held`` is a position in `held`; ``first`` and ``last``
        say whether the row is its job's first or last one; ``lasting`` whether it takes time;
        ``alone`` whether it is in no group; ``begun`` the position in `starts` of the decision by
        which it begins, or -1; ``anchor`` the stretch that began what it goes on with; ``evicted``
        whether it ends because a server goes away.
    held
        What is held at once: shares that differ, with what a job's profile adds to those stated.
    spans
        What `check_groups` returned.
    kind
        Type of the arrays that are computed with: 64 bits, or Python's numbers if they are large.
    """

    def __init__(self, log: Log, findings: Findings) -> None:
        self.findings = findings
        self.meta = log.meta()
        self.spans: list[tuple[int, Any, Any]] = []
        self._check_header()
        self.workload = Workload.parse(self.meta["workload"], "the log's workload")
        self.cluster = Cluster.parse(self.meta["cluster"], "the log's cluster")
        self.jobs = self.workload.jobs
        self.pool = {server.id for server in self.cluster.servers if server.pool == LOAN}
        cancelled = [NEVER if j.cancelled is None else ticks(j.cancelled) for j in self.jobs]
        self.cancelled = np.array(cancelled, np.int64)
        self.submit = np.array([ticks(job.submit) for job in self.jobs], np.int64)
        self.work = np.array([ticks(job.work) for job in self.jobs], np.int64)
        self.restart = np.array([ticks(job.restart) for job in self.jobs], np.int64)
        self.speeds: dict[str | None, Fraction] = {None: Fraction(-1)}
        self.segments, self.completions, self.decisions, self.starts, self.loans, _ = (
            self._read(log, name) for name in TABLES
        )
        self._read_shares()
        self._sort()
        self._match_starts()
        self._choose_kind()

    @cached_property
    def done_before(self) -> Array:
        """What a job has done, and not lost, when a stretch begins."""
        s = self.segments
        until = before(np.cumsum(s.work - s.lost))
        begin = np.maximum.accumulate(np.where(s.first, np.arange(len(s.row)), 0))
        return until - until[begin]

    def of_jobs(self, name: str) -> Array:
        """Return an attribute of all jobs."""
        return np.array([getattr(job, name) for job in self.jobs])

    def wrong(
        self,
        kind: str,
        found: Array,
        message: str,
        by: Any = 1,
        table: Table | None = None,
        /,
        **more: Array,
    ) -> None:
        """Note that rows of a table, by default the segments, are wrong.

        Parameters
        ----------
        found
            Which rows.
        message
            With names of columns in braces, of the table or of `more`.
        by
            How much each is wrong.
        """
        rows = self.segments if table is None else table
        for i in np.flatnonzero(found).tolist():
            if self.findings.count[kind] < MOST:
                words = message.format_map(_Words(self, rows, more, i))
                amount = np.broadcast_to(np.asarray(by), found.shape)[i]
                amount = amount.item() if isinstance(amount, np.generic) else amount
                self.findings.add(kind, f"{rows.name}[{rows.row[i]}]", words, amount)
            else:
                self.findings.count[kind] += 1

    def _check_header(self) -> None:
        """Check the version, the clock and the end."""
        right = {"version": VERSION, "clock": "microseconds", "variant": "paper"}
        stated = {"clock": "microseconds", "variant": "paper"} | self.meta
        wrong = {key: f"is not {x!r}" for key, x in right.items() if stated.get(key) != x}
        if "end" in self.meta and not isinstance(self.meta["end"], int):
            wrong["end"] = "is no time"
        for key, problem in wrong.items():
            message = f"{self.meta.get(key)!r} {problem}"
            self.findings.add("unreadable", f"meta.{key}", message)
        if "end" in wrong:
            self.meta.pop("end")

    def _read(self, log: Log, name: str) -> Table:
        """Return the rows of a table that can be read; note what is wrong with others."""
        wrong = log.broken(name)
        # Nothing is computed from timings: they differ with the machine.
        rows = log.rows(name) if wrong or name != "timings" else []
        for i, columns in wrong.items():
            for column in columns:
                message = f"{rows[i][TABLES[name].index(column)]!r} is not what its column holds"
                self.findings.add("unreadable", f"{name}[{i}].{column}", message)
        kept = [i for i in range(len(rows)) if i not in wrong] if wrong else range(len(rows))
        values = zip(*map(rows.__getitem__, kept), strict=True) if kept else [()] * 99
        read = {c: self._column(c, v) for c, v in zip(TABLES[name], values, strict=False)}
        table = Table(name, kept, read)
        if "job" in read:
            known = table.job < len(self.jobs)
            total = np.full(len(kept), len(self.jobs))
            message = "there is no job {number}; the workload has {total}"
            self.wrong("unknown_job", ~known, message, 1, table, number=table.job, total=total)
            table.take(known)
        return table

    def _column(self, name: str, values: Sequence[Any]) -> Array:
        """Return a column as an array: whole numbers, texts, or numbers of speeds."""
        if name == "speed":
            for text in set(values) - set(self.speeds):
                self.speeds[text] = Fraction(text)
            number = {text: i for i, text in enumerate(self.speeds)}
            return np.array([number[text] for text in values], np.int64)
        if name not in TEXTS:
            # Without an overhead of its own, a start has that of the job.
            return np.array([-1 if value is None else value for value in values], np.int64)
        return np.array(values, object)

    def _read_shares(self) -> None:
        """Read what is held; each text once, as no check of the database can look into it."""
        s = self.segments
        number: dict[Shares | None, int] = {None: -1}
        known: dict[tuple[str, str | None], int] = {}
        profiles = [job.profile for job in self.jobs]
        held = []
        for text, j in zip(s.shares.tolist(), s.job.tolist(), strict=True):
            key = (text, profiles[j])
            if key not in known:
                known[key] = number.setdefault(self._held_by(*key), len(number) - 1)
            held.append(known[key])
        s.held = np.array(held, np.int64)
        for i in np.flatnonzero(s.held < 0).tolist():
            where = f"segments[{s.row[i]}].shares"
            self.findings.add("unreadable", where, f"{s.shares[i]!r} has no meaning")
        s.take(s.held >= 0)
        self.held = [shares for shares in number if shares is not None]
        self.count = np.array([len(shares) for shares in self.held], np.int64)
        self.offset = np.cumsum(self.count) - self.count
        self.shares = [share for shares in self.held for share in shares]
        place = {server.id: i for i, server in enumerate(self.cluster.servers)}
        self.server = np.array([place.get(share[0], -1) for share in self.shares], np.int64)
        amounts = [[x or 0.0 for x in share[1:]] for share in self.shares]
        self.amounts = np.array(amounts, float).reshape(-1, 3)

    def _held_by(self, text: str, profile: str | None) -> Shares | None:
        """Return what a job of a profile holds, with what its shares do not state."""
        try:
            rows = json.loads(text)
            shares = sorted((_share(*row) for row in rows), key=lambda row: row[0])
        except (TypeError, ValueError, RecursionError):
            return None
        if profile is not None:
            matrix = self.workload.matrices[profile]
            for i, (name, gpus, *stated) in enumerate(shares):
                if name in self.cluster.by_id:
                    usual = matrix.proportional(self.cluster.by_id[name], gpus)
                    pairs = zip(stated, usual, strict=True)
                    cpus, memory = (float(u) if v is None else v for v, u in pairs)
                    shares[i] = (name, gpus, cpus, memory)
        return tuple(shares)

    def _sort(self) -> None:
        s = self.segments
        s.take(np.lexsort((s.row, s.end, s.start, s.job)))
        s.first = np.diff(s.job, prepend=-1) != 0
        s.last = np.append(s.first[1:], True)[: len(s.row)]
        s.lasting = s.start < s.end
        for ending in Ending:
            setattr(s, str(ending), s.ending == str(ending))
        s.alone = np.array([name is None for name in s.sharing.tolist()], bool)
        gone = {(away.server, ticks(away.start)) for away in self.cluster.away}
        ends = zip(s.held.tolist(), s.end.tolist(), strict=True) if gone else ()
        left = [any((share[0], end) in gone for share in self.held[h]) for h, end in ends]
        s.evicted = s.preempted & np.array(left or False, bool)

    def _match_starts(self) -> None:
        """Find the decision that begins each stretch: the last one at that time for that job."""
        d, starts, s = self.decisions, self.starts, self.segments
        place = {row: i for i, row in enumerate(d.row.tolist())}
        starts.place = np.array([place.get(k, -1) for k in starts.decision.tolist()], np.int64)
        message = "there is no decision {decision} that can be read"
        self.wrong("unreadable", starts.place < 0, message, 1, starts)
        starts.take(starts.place >= 0)
        starts.time = d.time[starts.place]
        keys = zip(starts.time.tolist(), starts.job.tolist(), strict=True)
        self.begun = {key: i for i, key in enumerate(keys)}
        begins = zip(s.start.tolist(), s.job.tolist(), strict=True)
        s.begun = np.array([self.begun.get(key, -1) for key in begins], np.int64)
        same = (before(s.end) == s.start) & (before(s.held) == s.held)
        s.goes_on = ~s.first & before(s.changed) & same & (before(s.sharing, None) == s.sharing)
        begin = (s.begun >= 0) | ~s.goes_on
        s.anchor = np.maximum.accumulate(np.where(begin, np.arange(len(s.row)), 0))
        stated = s.begun[s.anchor]
        # The last entry is that of a stretch that no decision begins.
        s.stated = np.append(starts.speed, 0)[stated]
        s.pause = np.append(starts.overhead, -1)[stated]
        s.pause = np.where(s.pause < 0, self.restart[s.job], s.pause)

    def _choose_kind(self) -> None:
        s = self.segments
        self.values = np.array(list(self.speeds.values()), object)
        parts = [(abs(v.numerator), v.denominator) for v in self.speeds.values()]
        times = ("start", "end", "overhead", "work", "lost", "pause")
        longest = [getattr(s, name) for name in times] + [self.submit, self.work, self.restart]
        large = max(int(a.max(initial=1)) for a in longest) * max(max(pair) for pair in parts) * 4
        total = s.work.sum(dtype=float) + s.lost.sum(dtype=float)
        self.kind: type = np.int64 if max(large, total) < SAFE else object
        self.num, self.den = (np.array(column, self.kind) for column in zip(*parts, strict=True))
        for name in times:
            setattr(s, name, getattr(s, name).astype(self.kind))

    def shared(self, chosen: Array) -> tuple[Table, Array]:
        """Return a table with a row for each share of stretches, and the shares' positions."""
        n = self.count[self.segments.held[chosen]]
        begin = self.offset[self.segments.held[chosen]]
        share = np.repeat(begin - np.cumsum(n) + n, n) + np.arange(n.sum())
        table = Table("segments", [], vars(self.segments))
        table.take(np.repeat(chosen, n))
        ids = np.array([entry[0] for entry in self.shares], object)
        table.server = ids[share]
        return table, share


class _Words(dict[str, Any]):
    """The columns of a row, each in words when it is asked for."""

    def __init__(self, record: Record, table: Table, more: Mapping[str, Array], i: int) -> None:
        self.record, self.table, self.more, self.i = record, table, more, i

    def __missing__(self, key: str) -> Any:
        column = self.more[key] if key in self.more else getattr(self.table, key)
        value = column[self.i]
        if key == "job":
            return self.record.jobs[value].id
        if key in ("held", "held_before"):
            return words(self.record.held[value])
        if key in ("speed", "stated"):
            return self.record.values[value]
        return at(value) if key in ("start", "end", "time", "overhead", "due") else value


def before(column: Array, none: Any = 0) -> Array:
    """Return a column with each row's value in the row after it."""
    return np.append(np.array([none], column.dtype), column)[:-1]


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
    """Check times, starts, overhead and endings of all stretches."""
    s = r.segments
    message = "it starts at {start} and ends at {end}"
    r.wrong("backwards", s.end < s.start, message)
    submit = r.submit[s.job]
    message = "job {job} starts at {start}; it is submitted at {due}"
    r.wrong("early", s.start < submit, message, due=submit)
    message = "job {job} has a stretch of no length at {start}"
    r.wrong("unchanged", (s.start == s.end) & s.changed, message)
    overlap = ~s.first & (s.start < before(s.end))
    message = "job {job} is on {held} from {start}, and on {held_before} until {due}"
    r.wrong("overlap", overlap, message, held_before=before(s.held), due=before(s.end))
    undecided = (s.begun < 0) & ~s.goes_on
    r.wrong("undecided", undecided, "job {job} starts at {start} by no decision")
    # Each change rounds the work down, so that needless ones would slow a job. In a group the speed
    # may change and change back at the same time.
    same = (s.begun < 0) & s.goes_on & (before(s.speed) == s.speed) & s.alone
    r.wrong("unchanged", same, "job {job} goes on at {start} as it did before")
    begun = set(s.begun.tolist())
    for (time, j), i in r.begun.items():
        if i not in begun:
            message = f"a decision at {at(time)} starts it, and no stretch begins then"
            r.findings.add("unstarted", f"job {r.jobs[j].id}", message)
    ready = s.start[s.anchor] + s.pause
    due = np.maximum(0, np.minimum(ready, s.end) - s.start)
    message = "job {job} has an overhead of {overhead} from {start} to {end}; due are {due}"
    r.wrong("overhead", s.overhead != due, message, abs(s.overhead - due), due=due)
    follows = np.append(s.start[1:], 0)[: len(s.row)]
    message = "at {end} job {job} is to run on then, but does not"
    r.wrong("ending", s.changed & (s.last | (follows != s.end)), message)
    message = "at {end} job {job} is complete then, but runs again at {due}"
    r.wrong("ending", s.completed & ~s.last, message, due=follows)
    message = "at {end} job {job} stops because the simulation ends, which it does not then"
    r.wrong("ending", s.stopped & (s.end != r.meta["end"]), message)
    decided = np.isin(s.end.astype(np.int64), r.decisions.time)
    message = "at {end} job {job} is preempted, when nothing is decided"
    r.wrong("undecided", s.preempted & ~decided & ~s.evicted, message)


def check_places(r: Record) -> None:
    """Check gangs and workers, and that each job may use its servers."""
    s = r.segments
    gpus = np.array([sum(share[1] for share in shares) for shares in r.held], np.int64)[s.held]
    names = [{share[0] for share in shares if share[1] > 0} for shares in r.held]
    whole = np.array(list(map(len, names)), np.int64)[s.held] == r.count[s.held]
    message = (
        "job {job} holds {gpus} GPUs, its shares are {held}; each server counts once, with a GPU "
        "or more"
    )
    by = np.maximum(1, abs(gpus - s.gpus))
    r.wrong("shares", (gpus != s.gpus) | ~whole, message, by)
    least, most = (r.of_jobs(name)[s.job] for name in ("min_gpus", "max_gpus"))
    message = "job {job} runs with {gpus} GPUs; it can with {least}"
    gang, more = (gpus < least) | (gpus > most), {"gpus": gpus, "least": least, "most": most}
    r.wrong("gang", gang & (least == most), message, **more)
    r.wrong("gang", gang & (least != most), message + " to {most}", **more)
    size = r.of_jobs("gpus_per_worker")
    held, share = r.shared(np.flatnonzero(size[s.job] > 1))
    held.gpus, worker = r.amounts[share, 0].astype(np.int64), size[held.job]
    message = "job {job} has {gpus} GPUs on {server}; its workers have {worker}"
    r.wrong("worker", held.gpus % worker != 0, message, 1, held, worker=worker)
    where = eligibility(r.workload, r.cluster)
    if not where.everywhere:
        held, share = r.shared(np.arange(len(s.row)))
        place = r.server[share]
        bad = (place >= 0) & ~where.servers[where.of_job[held.job], place]
        why = np.full(len(place), None)
        for i in np.flatnonzero(bad).tolist():
            why[i] = obstacle(r.jobs[held.job[i]], r.cluster.servers[place[i]])
        message = "job {job} may not run on {server} by its {why}"
        r.wrong("place", bad, message, 1, held, why=why)
    lent = [sum(share[0] in r.pool for share in shares) for shares in r.held]
    both = np.array([0 < n < len(h) for n, h in zip(lent, r.held, strict=True)], bool)[s.held]
    message = "job {job} is on servers of both pools; it is not heterogeneous"
    r.wrong("pool", both & ~r.of_jobs("heterogeneous")[s.job], message)


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
            types[server.gpu_type if server else None] += gpus
            pools.add(server and server.pool)
        return tuple(types.items()), len(pools) > 1, frozenset(share[1:] for share in shares)

    def expected(self, j: int, held: int, partners: tuple[Stages, ...] = ()) -> Fraction | None:
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
        where, name, stated = f"segments[{s.row[i]}]", r.jobs[s.job[i]].id, r.values[s.speed[i]]
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

    These are checked by `check_groups`, where the decision does not state their speed.
    """
    s = r.segments
    given, stated = r.values[s.speed], r.values[s.stated]
    message = "job {job} runs at speed {speed} at {start}; the decision states {stated}"
    wrong = s.lasting & (s.stated > 0) & (s.speed != s.stated)
    wrong[wrong] = given[wrong] != stated[wrong]
    r.wrong("speed", wrong, message, abs(given - stated) if wrong.any() else 1)
    varies = np.array([job.goodput is not None for job in r.jobs], bool)[s.job]
    for i in np.flatnonzero(s.lasting & (s.stated == 0) & varies).tolist():
        _check_goodput(r, i)
    own = np.flatnonzero(s.lasting & (s.stated == 0) & s.alone & ~varies)
    places, values = len(speeds.places), len(r.values)
    kinds = speeds.of_job[s.job[own]] * places + speeds.of_held[s.held[own]]
    _, firsts, kind = np.unique(
        kinds * values + s.speed[own], return_index=True, return_inverse=True
    )
    bad = [speeds.expected(s.job[i], s.held[i]) != given[i] for i in own[firsts].tolist()]
    for i in own[np.array(bad, bool)[kind]].tolist():
        speeds.compare(i, (), s.start[i])


def _check_goodput(r: Record, i: int) -> None:
    """Check the speed of a stretch in each part of the training that it goes through.

    It is the goodput with all GPUs of the slowest type held, over that with what the job asks for,
    on one server of its own type.
    """
    s, job = r.segments, r.jobs[r.segments.job[i]]
    profile, given, done = job.goodput, r.values[s.speed[i]], int(r.done_before[i])
    assert profile is not None, "only such jobs are given"
    asked = [profile.samples(p, str(job.gpu_type), 1, job.gpus) for p in range(len(profile.noise))]
    held = r.held[s.held[i]]
    gpus = sum(share[1] for share in held)
    servers = [r.cluster.by_id.get(share[0]) for share in held]
    kinds = {str((server and server.gpu_type) or job.gpu_type) for server in servers}
    time = int(s.end[i] - s.start[i] - s.overhead[i])
    last = done + max(0, time - 1) * given
    until = Fraction(0)
    for part, samples in enumerate(asked):
        begin = int(until)
        until += ticks(job.work) / samples / sum(1 / each for each in asked)
        if (part and last < begin) or (part + 1 < len(asked) and done >= int(until)):
            continue
        expected = min(profile.samples(part, k, len(held), gpus) for k in kinds) / samples
        if given != expected:
            message = f"job {job.id} runs at speed {given} at {at(s.start[i])}; its goodput in part"
            message += f" {part + 1} gives {expected}"
            r.findings.add("speed", f"segments[{s.row[i]}]", message, abs(given - expected))


def check_groups(r: Record, speeds: Speeds) -> list[tuple[int, Any, Any]]:
    """Go through the moments at which somebody joins or leaves a group.

    The jobs of a group may change within a stretch, as long as its speed does not.

    Returns
    -------
    list
        Stretch, begin and end of what the groups hold, each at any time for one of its jobs.
    """
    s = r.segments
    groups: dict[str, list[tuple[Any, int, int, int]]] = defaultdict(list)
    for i in np.flatnonzero(s.lasting & ~s.alone).tolist():
        # What ends comes first.
        groups[s.sharing[i]] += [(s.start[i], 1, s.row[i], i), (s.end[i], 0, s.row[i], i)]
    spans = []
    for events in groups.values():
        present: list[int] = []
        since: Any = 0
        for time, together in itertools.groupby(sorted(events), key=lambda event: event[0]):
            for _, joins, _, i in together:
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


def _compare_held(r: Record, i: int, first: int) -> None:
    s = r.segments
    if s.held[i] != s.held[first]:
        names = f"{r.jobs[s.job[i]].id} and {r.jobs[s.job[first]].id}"
        held = f"{words(r.held[s.held[i]])} and {words(r.held[s.held[first]])}"
        message = f"jobs {names} share GPUs as {s.sharing[i]}, but hold {held}"
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


RESOURCES = {"gpus": ("GPUs", 0.0), "cpus": ("CPUs", TOLERANCE), "memory": ("GB", TOLERANCE)}
"""What servers have, by the kind of its violations: its unit, and a relative tolerance."""


def check_capacity(r: Record) -> None:
    """Add up what is held on each server, in the order of time.

    What ends at a moment is free for what starts at it. Jobs that share GPUs hold them once, in
    `Record.spans`. CPUs and memory are floats in the log, and added within a relative tolerance.
    """
    s, servers = r.segments, r.cluster.servers
    alone = np.flatnonzero(s.lasting & s.alone)
    holder = np.append(alone, np.array([i for i, *_ in r.spans], np.int64))
    held, share = r.shared(holder)
    where = r.server[share]
    r.wrong("unknown_server", where < 0, "job {job} is on {server}; there is no such", 1, held)
    times = []
    for k, column in ((1, s.start), (2, s.end)):
        of_groups = np.array([span[k] for span in r.spans], np.int64)
        time = np.append(column[alone].astype(np.int64), of_groups)
        times.append(np.repeat(time, r.count[s.held[holder]]))
    held.time = times[0]
    events = len(where)
    begins = np.repeat([True, False], events)
    order = np.lexsort((np.tile(held.row, 2), begins, np.concatenate(times), np.tile(where, 2)))
    order = order[np.tile(where, 2)[order] >= 0]
    server = where[order % events] if events else where
    amounts = r.amounts[share]
    used = np.cumsum(np.concatenate((amounts, -amounts))[order], axis=0)
    new = np.flatnonzero(np.diff(server, prepend=-1))
    earlier = np.concatenate((np.zeros((1, 3)), used))[new]
    used -= np.repeat(earlier, np.diff(np.append(new, len(server))), axis=0)
    for k, (kind, (unit, tolerance)) in enumerate(RESOURCES.items()):
        sizes = [getattr(entry, kind) for entry in servers]
        room = np.array([math.inf if x is None else float(x) for x in sizes])[server]
        over = begins[order] & (used[:, k] > room * (1 + tolerance))
        found, limit = np.zeros((2, events))
        found[order[over]], limit[order[over]] = used[over, k], room[over]
        message = "at {time} jobs hold {used:g} {unit} of {server}, which has {limit:g}"
        more = {"used": found, "limit": limit, "unit": np.full(events, unit)}
        r.wrong(kind, found > 0, message, found - limit, held, **more)


def check_loans(r: Record) -> None:
    """Compare the table of loans with what the cluster says, and with where jobs are."""
    if not r.pool and not len(r.loans.row) and not r.cluster.away:
        return
    spans = _check_away(r) | _spans(r)
    _check_schedule(r)
    held, _ = r.shared(np.arange(len(r.segments.row)))
    columns = (held.server, held.start, held.end)
    there = [
        server not in spans
        or any(begin <= start and (last is None or end <= last) for begin, last in spans[server])
        for server, start, end in zip(*(column.tolist() for column in columns), strict=True)
    ]
    message = "job {job} is on {server} from {start} to {end}, in which it is not there throughout"
    r.wrong("not_lent", ~np.array(there, bool), message, 1, held)


def _check_away(r: Record) -> dict[str, list[tuple[Any, Any]]]:
    """Compare when servers are away with the cluster's intervals; return when they are there."""
    spans: dict[str, list[tuple[Any, Any]]] = {}
    for time, goes, server in r.cluster.changes:
        own = spans.setdefault(server, [(0, None)])
        if goes:
            own[-1] = (own[-1][0], time)
        else:
            own.append((time, None))
    if not spans:
        return spans
    known = np.isin(r.loans.server, [server.id for server in r.cluster.servers])
    known &= ~np.isin(r.loans.server, list(r.pool))
    columns = (r.loans.time, r.loans.lent, r.loans.server)
    rows = list(zip(*(column[known].tolist() for column in columns), strict=True))
    left = r.cancelled[np.setdiff1d(np.arange(len(r.jobs)), r.completions.job)]
    last = max([r.meta["end"], *left[left < NEVER].tolist()])
    due = [(time, int(not goes), server) for time, goes, server in r.cluster.changes]
    if rows != [row for row in due if row[0] <= last]:
        same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(rows, due, strict=False))
        message = f"of the servers' intervals entry {len(list(same))} is not so"
        r.findings.add("away", "loans", message)
    r.loans.take(~known)
    return spans


def _spans(r: Record) -> dict[str, list[tuple[Any, Any]]]:
    """Return when each server is lent; an end of None is after the log."""
    spans: dict[str, list[tuple[Any, Any]]] = {server: [] for server in r.pool}
    come = {ticks(loan.time) for loan in r.cluster.loans}
    go = come | set(r.decisions.time.tolist())
    last = None
    columns = (r.loans.row, r.loans.time, r.loans.server, r.loans.lent)
    for row, time, server, lent in zip(*(column.tolist() for column in columns), strict=True):
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


def _check_schedule(r: Record) -> None:
    """At no moment are more servers lent than the schedule says; as many come as it says."""
    due = np.array([(ticks(loan.time), loan.servers) for loan in r.cluster.loans], np.int64)
    due = due.reshape(-1, 2)
    came = r.loans.lent == 1
    planned = due[due[:, 0] <= max(r.meta["end"], r.loans.time.max(initial=0)), 0]
    times = np.unique(np.append(r.loans.time, planned))
    come = np.searchsorted(np.sort(r.loans.time[came]), times, "right")
    gone = np.sort(r.loans.time[~came])
    present = come - np.searchsorted(gone, times, "right")
    most = come - np.searchsorted(gone, times)
    limit = np.append(0, due[:, 1])[np.searchsorted(due[:, 0], times, "right")]
    few = np.isin(times, planned) & (most < limit)
    for i in np.flatnonzero(few | (present > limit)).tolist():
        if few[i]:
            message = (
                f"at {at(times[i])} {limit[i]} servers are on loan, only {most[i]} of them come"
            )
            r.findings.add("loan", "loans", message, int(limit[i] - most[i]))
        if present[i] > limit[i]:
            message = f"at {at(times[i])} {present[i]} servers are lent, the loan has {limit[i]}"
            r.findings.add("over_loan", "loans", message, int(present[i] - limit[i]))


def check_work(r: Record) -> None:
    """Check work and loss of all stretches, and that a job is complete exactly when it is done.

    The work is the floor of time times speed, and the rest in a job's last stretch. A job whose
    work is done is complete at once: another stretch ends before that.
    """
    s = r.segments
    total: Array = r.work.astype(r.kind)[s.job]
    left = total - r.done_before
    time = s.end - s.start - s.overhead
    num, den = r.num[s.speed], r.den[s.speed]
    moves = num > 0
    able = np.maximum(0, time) * num // den
    needed = -(-left * den // np.where(moves, num, 1))
    more = {"time": time, "able": able, "left": left, "total": total}
    message = (
        "job {job} is complete at {end}; in {time} at speed {speed} it does {able} of the {left} "
        "that were left"
    )
    short = s.completed & (~moves | (time < needed))
    r.wrong("unfinished", short, message, abs(left - able), **more)
    late = moves & (time >= np.where(s.completed, needed + 1, np.maximum(1, needed)))
    message = "job {job} is done at {due}, but runs on until {end}"
    r.wrong("late", late, message, time - needed, due=s.start + s.overhead + needed)
    more["due_work"] = work = np.where(late | s.completed, np.minimum(able, left), able)
    message = "job {job} does {work} from {start} to {end}; {time} at speed {speed} are {due_work}"
    r.wrong("work", s.work != work, message, abs(s.work - work), **more)
    after = left - s.work
    more["due_loss"] = lost = np.where(
        s.preempted & ~r.of_jobs("checkpoints")[s.job], total - after, 0
    )
    message = "job {job} loses {lost} of its work at {end}; it is {due_loss}"
    r.wrong("lost", s.lost != lost, message, abs(s.lost - lost), **more)
    message = (
        "job {job} is complete at {end}; of its work of {total} there were {left} left, and {work} "
        "is done then"
    )
    rest = after + s.lost
    r.wrong("unfinished", s.completed & (rest != 0), message, abs(rest), **more)


def check_completions(r: Record) -> None:
    """Check that every job is complete once, after all that it does, and when the log ends."""
    s, c, n = r.segments, r.completions, len(r.jobs)
    last = np.full(n, -1)
    last[s.job] = np.arange(len(s.row))
    done = np.full(n, NEVER)
    done[c.job] = c.time
    times = np.bincount(c.job, minlength=n)
    # Without a stretch the position is -1, that of what is appended.
    stopped = np.append(s.stopped, False)[last]
    # It waits at that moment if it does not hold GPUs then, on which it started before.
    holds = np.zeros(n, bool)
    at_once = r.cancelled[s.job]
    holding = (s.start < at_once) & (s.end >= at_once) & ~(s.evicted & (s.end == at_once))
    holds[s.job[holding]] = True
    withdrawn = (r.cancelled < NEVER) & ~holds & (done >= r.cancelled)
    message = "job {job} runs from {start}; it waited at {due}, when it was withdrawn"
    late = withdrawn[s.job] & (s.end > at_once)
    r.wrong("withdrawn", late, message, due=at_once)
    for j in np.flatnonzero((times == 0) & ~stopped & ~withdrawn).tolist():
        r.findings.add("not_completed", f"job {r.jobs[j].id}", "it has no completion")
    row = np.full(n, -1)
    row[c.job] = np.arange(len(c.row))
    latest = row[c.job] == np.arange(len(c.row))
    moments = np.full(len(c.row), None)
    for i in np.flatnonzero(latest & (times[c.job] > 1)).tolist():
        moments[i] = " and ".join(at(time) for time in c.time[c.job == c.job[i]].tolist())
    message = "job {job} is complete at {moments}"
    r.wrong("completed_twice", latest & (times[c.job] > 1), message, 1, c, moments=moments)
    place = last[c.job]
    ended = np.append(s.completed, False)[place] & (np.append(s.end, -1)[place] == c.time)
    more = {"due": np.append(s.end, 0)[place], "ending": np.append(s.ending, [None])[place]}
    message = "job {job} ends at {time}; its last stretch ends at {due} as {ending}"
    r.wrong("completion", latest & ~ended & (place >= 0), message, 1, c, **more)
    never = latest & (place < 0)
    r.wrong("completion", never, "job {job} ends at {time}; it never ran", 1, c)
    message = "job {job} runs until {end}; it ends at {due}"
    r.wrong("after_end", s.end > done[s.job], message, due=done[s.job])
    end = c.time.max(initial=-1)
    if len(c.row) and r.meta["end"] != end:
        message = f"the log ends at {at(r.meta['end'])}, the last completion is at {at(end)}"
        r.findings.add("end", "meta.end", message)
    ends = Table("segments", s.row, {"time": s.end})
    ends.take(np.argsort(s.row))
    for table in (c, ends):
        message = "it ends at {time}, the one before at {due}"
        earlier = before(table.time)
        r.wrong("order", table.time < earlier, message, 1, table, due=earlier)


CAUSES = ("arrival", "completion", "round", "wake", "loan", "away", "cancellation")


def check_decisions(r: Record) -> None:
    """Recount the jobs at every decision.

    Of several at the same time, waiting and running jobs are recounted for the first; for a later
    one, what the one before changed is added, unless a job is preempted and started again then.
    Preempted jobs are recounted for all together. A job that ends at once is gone at the next.
    """
    s, d = r.segments, r.decisions
    earlier = before(d.time, -1)
    first = d.time != earlier
    message = "it is at {time}, the one before at {due}"
    r.wrong("order", d.time < earlier, message, 1, d, due=earlier)
    start, end = s.start.astype(np.int64), s.end.astype(np.int64)
    instant = s.completed & (start == end)
    complete, at_once = np.sort(end[s.lasting & s.completed]), np.sort(end[instant])

    def until(times: Array, side: Any = "left") -> Array:
        return np.searchsorted(np.sort(times), d.time, side)

    gone = until(complete, "right")
    running = until(start[s.lasting]) - until(end[s.lasting]) - gone + until(complete)
    evicted = end[s.evicted & s.lasting]
    running -= until(evicted, "right") - until(evicted)
    left = np.setdiff1d(np.flatnonzero(r.cancelled < NEVER), r.completions.job)
    withdrawn = until(r.cancelled[left], "right")
    waiting = until(r.submit, "right") - gone - until(at_once) - running - withdrawn
    stopped = end[s.preempted & ~s.evicted]
    groups = np.cumsum(first) - 1
    preempted = np.bincount(groups, d.preempted).astype(np.int64)[groups]
    _expect(r, "running", first, d.running, running)
    _expect(r, "waiting", first, d.waiting, waiting)
    _expect(r, "preempted", first, preempted, until(stopped, "right") - until(stopped))
    started = np.bincount(r.starts.place, minlength=len(d.row))
    _expect(r, "started", np.ones(len(d.row), bool), d.started, started)
    loans = [ticks(loan.time) for loan in r.cluster.loans]
    happens = {"arrival": r.submit, "completion": complete, "loan": np.array(loans, np.int64)}
    happens["away"] = np.array([time for time, *_ in r.cluster.changes], np.int64)
    happens["cancellation"] = r.cancelled
    _check_causes(r, first, np.isin(d.time, at_once), happens)
    if first.all():
        return
    known: list[dict[int, set[int]]] = []
    for mask in (s.changed & s.lasting, instant, s.preempted & ~s.evicted):
        known.append(defaultdict(set))
        for time, j in zip(end[mask].tolist(), s.job[mask].tolist(), strict=True):
            known[-1][time].add(j)
    edges = np.append(np.flatnonzero(first), len(d.row))
    for k in np.flatnonzero(np.diff(edges) > 1).tolist():
        _check_later(r, range(edges[k], edges[k + 1]), *(jobs[d.time[edges[k]]] for jobs in known))


def _expect(r: Record, kind: str, which: Array, stated: Array, counted: Array) -> None:
    wrong = which & (stated != counted)
    message = "at {time} {is_said} jobs are {kind}, the log has {is_so}"
    more = {"kind": np.full(len(which), kind), "is_said": stated, "is_so": counted}
    r.wrong(kind, wrong, message, abs(stated - counted), r.decisions, **more)


def _check_later(
    r: Record, decisions: range, running: set[int], instant: set[int], stopped: set[int]
) -> None:
    """Check the decisions after the first one at a time, each against the one before.

    Given are the jobs that run on, that end at once, and that are preempted at that time.
    """
    d = r.decisions
    jobs: dict[int, set[int]] = {i: set() for i in decisions}
    for k in np.flatnonzero(np.isin(r.starts.place, decisions)).tolist():
        jobs[int(r.starts.place[k])].add(int(r.starts.job[k]))
    last = {j: i for i in decisions for j in jobs[i]}
    running = set(running)
    row = np.arange(len(d.row))
    for i in decisions[:-1]:
        if jobs[i] & stopped:
            return
        waiting = d.waiting[i] - len(jobs[i] - running) + d.preempted[i]
        running |= jobs[i]
        _expect(r, "waiting", row == i + 1, d.waiting, np.full(len(row), waiting))
        gone = sum(last[j] == i for j in jobs[i] & instant)
        present = d.waiting[i] + d.running[i] - gone
        _expect(r, "running", row == i + 1, d.running, np.full(len(row), present - waiting))


def _check_causes(r: Record, first: Array, instant: Array, happens: Mapping[str, Array]) -> None:
    """Check the causes against what happened; after the first decision jobs can only end."""
    d = r.decisions
    number: dict[str, int] = {}
    code = np.array([number.setdefault(cause, len(number)) for cause in d.cause.tolist()], np.int64)
    parts = [cause.split("+") for cause in number]
    odd = np.array([part != [cause for cause in CAUSES if cause in part] for part in parts], bool)
    message = f"{{cause!r}} is not made of {', '.join(CAUSES)}, in this order"
    r.wrong("cause", odd[code], message, 1, d)
    again = ~first & ~((d.cause == "completion") & instant)
    r.wrong("cause", again, "at {time} it is decided again, because of {cause}", 1, d)
    for cause, times in happens.items():
        did, says = np.isin(d.time, times), np.array([cause in part for part in parts], bool)[code]
        message = "its cause is {cause}; at {time} there is "
        r.wrong("cause", first & did & ~says, f"{message}one more: {cause}", 1, d)
        r.wrong("cause", first & ~did & says, f"{message}no {cause}", 1, d)


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
    s, c, n = r.segments, r.completions, len(r.completions.row)
    had: Array = np.zeros(len(r.jobs), r.kind)
    np.add.at(had, s.job, s.end - s.start)
    jct: Array = c.time.astype(r.kind) - r.submit[c.job]
    result: dict[str, Any] = {"jobs": len(r.jobs), "completed": n}
    if not n:
        return result
    for name, times in (("jct", jct), ("queueing", jct - had[c.job])):
        values = sorted(times.tolist())
        result[f"mean_{name}"] = Fraction(sum(values), n * TICKS)
        result[f"median_{name}"] = Fraction(median(values)) / TICKS
        result[f"p95_{name}"] = Fraction(values[95 * n // 100], TICKS)
        result[f"p99_{name}"] = Fraction(values[99 * n // 100], TICKS)
    last = int(c.time.max())
    result["makespan"] = Fraction(last, TICKS)
    # Jobs that share GPUs hold them once.
    held = int(((s.end - s.start).astype(object) * s.gpus)[s.alone].sum())
    held += sum(int(end - begin) * int(s.gpus[i]) for i, begin, end in r.spans)
    result["utilization"] = Fraction(held, r.cluster.gpus * last) if last else 0
    result["preemptions"] = int(s.preempted.sum())
    result["decisions"] = len(r.decisions.row)
    return result
