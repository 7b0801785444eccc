"""The log as the auditor reads it: rows with their types checked, by job."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from typing import Any, Final, NamedTuple

from dlsched.errors import InstanceError
from dlsched.schema import Number
from dlsched.simulation.audit.findings import Findings
from dlsched.simulation.log import (
    TABLES,
    VERSION,
    DecisionRow,
    Ending,
    Log,
    LogError,
    Segment,
)
from dlsched.simulation.workload.cluster import LOAN, Cluster
from dlsched.simulation.workload.workload import Workload

TOLERANCE: Final = 1e-9
"""Of CPUs, memory and metrics, relative; times and work are compared exactly."""
BROKEN: Final = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What an entry of another kind than its place is for may raise, beyond what is looked for."""

COLUMNS: Final = {
    "segments": (
        *("count", "time", "time", "count", "text", "anything", "text"),
        *("time", "time", "time", "text"),
    ),
    "completions": ("count", "time"),
    "decisions": ("time", "text", "count", "count", "count", "count", "text"),
    "starts": ("count", "count", "count or null", "text or null"),
    "loans": ("time", "text", "count"),
    "timings": ("count", "seconds"),
}
"""What the columns of each table hold."""

Shares = tuple[tuple[str, int, float | None, float | None], ...]
"""Server, GPUs, CPUs, GB; sorted by server."""


class Stretch(NamedTuple):
    """A readable row of the table ``segments``."""

    row: int
    job: int
    start: Any
    end: Any
    gpus: int
    shares: Shares
    sharing: str | None
    speed: Any
    overhead: Any
    work: Any
    lost: Any
    ending: Ending

    @property
    def where(self) -> str:
        """The row's place in the log."""
        return f"segments[{self.row}]"


class Start(NamedTuple):
    """What a decision states for a job: overhead and speed, each null if it states none."""

    overhead: int | None
    speed: Fraction | None


class Record:
    """A log, read.

    Attributes
    ----------
    pool
        The servers of the loan pool.
    by_job
        The stretches of each job, by position in the workload, in the order of time.
    completions
        Row, job and time of each completion.
    starts
        By time and job: what the last decision at that time states.
    started
        The jobs that each decision starts or moves, by its row.
    """

    def __init__(self, log: Log, findings: Findings) -> None:
        self.findings = findings
        meta = log.meta()
        self.meta = meta
        self._check_header()
        self._fits: dict[str, Callable[[Any], bool]] = {
            "time": lambda value: isinstance(value, int),
            "count": _is_count,
            "count or null": lambda value: value is None or _is_count(value),
            "text": lambda value: isinstance(value, str),
            "text or null": lambda value: value is None or isinstance(value, str),
            "seconds": lambda value: isinstance(value, int | float) and 0 <= value < math.inf,
            "anything": lambda value: True,
        }
        self.workload = Workload.parse(meta["workload"], "the log's workload")
        self.cluster = Cluster.parse(meta["cluster"], "the log's cluster")
        self.jobs = self.workload.jobs
        self.pool = {server.id for server in self.cluster.servers if server.pool == LOAN}
        self.by_job: list[list[Stretch]] = [[] for _ in self.jobs]
        self.stretches = list(self._stretches(log))
        for stretch in self.stretches:
            self.by_job[stretch.job].append(stretch)
        for stretches in self.by_job:
            stretches.sort(key=lambda s: (s.start, s.end, s.row))
        decisions = ((i, DecisionRow(*row)) for i, row in self._rows(log, "decisions"))
        self.decisions = [row for i, row in decisions if self._is_solved(i, row.solved)]
        self.completions = [(i, *row) for i, row in self._rows(log, "completions")]
        self.loans = [(i, *row) for i, row in self._rows(log, "loans")]
        list(self._rows(log, "timings"))
        self.starts: dict[tuple[Any, int], Start] = {}
        self.started: dict[int, list[int]] = defaultdict(list)
        self._read_starts(log)

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

    def wrong(self, kind: str, stretch: Stretch, message: str, amount: Number | float = 1) -> None:
        """Note that a stretch is wrong."""
        self.findings.add(kind, stretch.where, message, amount)

    def submit(self, job: int) -> int:
        """Return when a job is submitted, on the clock of the log."""
        return self.jobs[job].submit_ticks

    def name(self, job: int) -> str:
        """Return a job's id."""
        return self.jobs[job].id

    def _rows(self, log: Log, table: str) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """Yield the rows of a table, numbered, that can be read; note what is wrong with others."""
        columns = TABLES[table]
        fits = [self._fits[name] for name in COLUMNS[table]]
        at = columns.index("job") if "job" in columns else None
        for i, row in enumerate(log.rows(table)):
            wrong = [value for value, good in zip(row, fits, strict=True) if not good(value)]
            if not wrong and (at is None or row[at] < len(self.jobs)):
                yield i, row
                continue
            where = f"{table}[{i}]"
            for value in wrong:
                self.findings.add("unreadable", where, f"{value!r} is not what its column holds")
            if not wrong and at is not None:
                message = f"there is no job {row[at]}; the workload has {len(self.jobs)}"
                self.findings.add("unknown_job", where, message)

    def _is_solved(self, row: int, text: str) -> bool:
        try:
            fits = text == "{}" or isinstance(json.loads(text), dict)
        except ValueError:
            fits = False
        if not fits:
            where = f"decisions[{row}].solved"
            self.findings.add("unreadable", where, f"{text!r} is no JSON object")
        return fits

    def _stretches(self, log: Log) -> Iterator[Stretch]:
        endings = {str(ending): ending for ending in Ending}
        parse_shares = cache(_parse_shares)
        parse_speed = cache(_parse_speed)
        held_by = cache(self._held_by)
        for i, row in self._rows(log, "segments"):
            segment = Segment(*row)
            held = parse_shares(segment.shares)
            speed = parse_speed(segment.speed)
            ending = endings.get(segment.ending)
            if held is not None and speed is not None and ending is not None:
                yield Stretch(
                    row=i,
                    job=segment.job,
                    start=segment.start,
                    end=segment.end,
                    gpus=segment.gpus,
                    shares=held_by(self.jobs[segment.job].profile, held),
                    sharing=segment.sharing,
                    speed=speed,
                    overhead=segment.overhead,
                    work=segment.work,
                    lost=segment.lost,
                    ending=ending,
                )
                continue
            parsed = {"shares": held, "speed": speed, "ending": ending}
            unknown = next(column for column, value in parsed.items() if value is None)
            message = f"{getattr(segment, unknown)!r} has no meaning"
            self.findings.add("unreadable", f"segments[{i}].{unknown}", message)

    def _held_by(self, profile: str | None, shares: Shares) -> Shares:
        """Return what a job of a profile holds, with what its shares do not state."""
        if profile is None:
            return shares
        matrix = self.workload.matrices[profile]
        held = []
        for share in shares:
            name, gpus, cpus, memory = share
            server = self.cluster.by_id.get(name)
            if server is None:
                held.append(share)
                continue
            usual = matrix.proportional(server, gpus)
            held_cpus = float(usual[0]) if cpus is None else cpus
            held_memory = float(usual[1]) if memory is None else memory
            held.append((name, gpus, held_cpus, held_memory))
        return tuple(held)

    def _read_starts(self, log: Log) -> None:
        for i, row in self._rows(log, "starts"):
            decision, job, overhead, speed = row
            stated = None if speed is None else _parse_speed(speed)
            if decision >= len(self.decisions) or (speed is not None and stated is None):
                message = f"{row!r} is not what its columns hold"
                self.findings.add("unreadable", f"starts[{i}]", message)
                continue
            self.started[decision].append(job)
            self.starts[self.decisions[decision].time, job] = Start(overhead, stated)


def _parse_speed(text: str) -> Fraction | None:
    """Return a speed; not one with an exponent: "1e999999" is a number of a million digits."""
    try:
        value = Fraction("" if "e" in text.lower() else text)
    except (ArithmeticError, ValueError):
        return None
    return value if value >= 0 else None


def _parse_shares(text: str) -> Shares | None:
    try:
        return tuple(sorted((_share(*row) for row in json.loads(text)), key=lambda row: row[0]))
    except (TypeError, ValueError):
        return None


def _is_count(value: object) -> bool:
    return isinstance(value, int) and value >= 0


def _share(
    server: Any, gpus: Any, cpus: Any = None, memory: Any = None
) -> tuple[str, int, float | None, float | None]:
    if not (isinstance(server, str) and isinstance(gpus, int)):
        raise TypeError
    for amount in (cpus, memory):
        if amount is not None and not (isinstance(amount, int | float) and amount >= 0):
            raise TypeError
    return server, gpus, cpus, memory


def read(log: Log, findings: Findings) -> Record | None:
    """Return a log, read; None, with the reason among the findings, if its header is unusable."""
    try:
        return Record(log, findings)
    except (*BROKEN, InstanceError, LogError) as error:
        reason = f"no entry {error}" if isinstance(error, KeyError) else str(error)
        findings.add("unreadable", "meta", reason)
        return None
