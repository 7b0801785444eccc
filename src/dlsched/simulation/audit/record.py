"""The log as the auditor reads it: rows with their types checked, by job."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Final, NamedTuple

from dlsched.errors import InstanceError
from dlsched.simulation.audit.findings import Findings
from dlsched.simulation.log import VERSION, DecisionRow, Ending, Log, LogError, Segment
from dlsched.simulation.workload.cluster import LOAN, Cluster
from dlsched.simulation.workload.workload import Workload

TOLERANCE: Final = 1e-9
"""Of the published variants' float seconds, relative; whole microseconds are compared exactly."""

MOST_SLACK: Final = 1e-3
"""Most seconds between two events that a published variant may state to take as one."""
BROKEN: Final = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What an entry of another kind than its place is for may raise, beyond what is looked for."""
PUBLISHED: Final = ("unit", "slack")
"""Entries of the header that only published variants have."""

Shares = tuple[tuple[str, int, float | None, float | None], ...]
"""Server, GPUs, CPUs, GB; sorted by server."""
Devices = tuple[tuple[str, int], ...]
"""Server and number of each GPU, sorted."""


class Stretch(NamedTuple):
    """A readable row of the table ``segments``; ``devices`` is empty where shares state none."""

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
    devices: Devices = ()

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
    exact
        Whether times are whole microseconds; otherwise they are float seconds of a published
        variant.
    pool
        The servers of the loan pool.
    by_job
        The stretches of each job, by position in the workload, in the order of time.
    completions
        Row, job and time of each completion.
    starts
        By time and job: what the last decision at that time states.
    started
        The jobs that each decision starts or moves, by its row; complete only if `exact`.
    slack
        Seconds within which a published variant takes two events as one.
    layered
        Whether priorities are layers, each of which holds a GPU at most once.
    """

    def __init__(self, log: Log, findings: Findings) -> None:
        self.findings = findings
        meta = log.meta()
        self.meta = meta
        self.exact = meta["clock"] == "microseconds"
        self._check_header()
        self.slack = float(meta.get("slack", 0))
        self.layered = meta.get("layers") == "priority"
        self.workload = Workload.parse(meta["workload"], "the log's workload")
        self.cluster = Cluster.parse(meta["cluster"], "the log's cluster")
        self.jobs = self.workload.jobs
        self.pool = {server.id for server in self.cluster.servers if server.pool == LOAN}
        self._shares: dict[str, tuple[Shares, Devices] | None] = {}
        self._speeds: dict[str, Any] = {}
        self.by_job: list[list[Stretch]] = [[] for _ in self.jobs]
        self.stretches = list(self._stretches(log))
        for stretch in self.stretches:
            self.by_job[stretch.job].append(stretch)
        for several in self.by_job:
            several.sort(key=lambda s: (s.start, s.end, s.row))
        self.decisions = [
            DecisionRow(*row)
            for i, row in enumerate(log.rows("decisions"))
            if self._readable(f"decisions[{i}]", row, (0,), range(2, 6), (1, 6))
            and self._is_json(f"decisions[{i}].solved", row[6])
        ]
        self.completions = [
            (i, *row)
            for i, row in enumerate(log.rows("completions"))
            if self._readable(f"completions[{i}]", row, (1,), (0,))
            and self.known(f"completions[{i}]", row[0])
        ]
        self.loans = [
            (i, *row)
            for i, row in enumerate(log.rows("loans"))
            if self._readable(f"loans[{i}]", row, (0,), (2,), (1,))
        ]
        for i, (decision, seconds) in enumerate(log.rows("timings")):
            fits = isinstance(seconds, int | float) and 0 <= seconds < math.inf
            if not fits or not isinstance(decision, int):
                row = f"{decision!r}, {seconds!r}"
                findings.add("unreadable", f"timings[{i}]", f"{row} is not what its columns hold")
        self.starts: dict[tuple[Any, int], Start] = {}
        self.started: dict[int, list[int]] = defaultdict(list)
        self._read_starts(log)

    def _check_header(self) -> None:
        """Check the version, and that entries of published variants are in their logs alone."""
        wrong = {}
        if self.meta.get("version") != VERSION:
            wrong["version"] = f"is not {VERSION}"
        if self.meta.get("variant", "paper") != ("paper" if self.exact else "published"):
            wrong["variant"] = f"does not have the clock {self.meta['clock']!r}"
        if self.exact:
            wrong |= {key: "is for published variants" for key in PUBLISHED if key in self.meta}
        elif not 0 <= self.meta.get("slack", 0) <= MOST_SLACK:
            wrong["slack"] = f"is not from 0 to {MOST_SLACK} s"
        if "end" in self.meta and not self._is_time(self.meta["end"]):
            wrong["end"] = "is no time"
        for key, problem in wrong.items():
            message = f"{self.meta.get(key)!r} {problem}"
            self.findings.add("unreadable", f"meta.{key}", message)
        if "end" in wrong:
            self.meta.pop("end")

    def same(self, first: Any, second: Any, scale: Any = 0) -> bool:
        """Return whether two values are equal: exactly, or within the tolerance.

        Parameters
        ----------
        scale
            A number that the two were computed from, if it is larger than they are.
        """
        if self.exact:
            return bool(first == second)
        return bool(abs(first - second) <= TOLERANCE * max(abs(first), abs(second), abs(scale)))

    def name(self, job: int) -> str:
        """Return a job's id."""
        return self.jobs[job].id

    def known(self, where: str, job: int) -> bool:
        """Return whether the workload has a job, and note it if not."""
        if 0 <= job < len(self.jobs):
            return True
        message = f"there is no job {job}; the workload has {len(self.jobs)}"
        self.findings.add("unknown_job", where, message)
        return False

    def _is_time(self, value: object) -> bool:
        if self.exact:
            return isinstance(value, int)
        return isinstance(value, int | float) and math.isfinite(value)

    def _readable(
        self, where: str, row: tuple[Any, ...], times: Any, counts: Any = (), texts: Any = ()
    ) -> bool:
        """Check the types of a row's values, by column."""
        wrong = [row[i] for i in times if not self._is_time(row[i])]
        wrong += [row[i] for i in counts if not (isinstance(row[i], int) and row[i] >= 0)]
        wrong += [row[i] for i in texts if not isinstance(row[i], str)]
        for value in wrong:
            self.findings.add("unreadable", where, f"{value!r} is not what its column holds")
        return not wrong

    def _is_json(self, where: str, text: str) -> bool:
        try:
            fits = text == "{}" or isinstance(json.loads(text), dict)
        except ValueError:
            fits = False
        if not fits:
            self.findings.add("unreadable", where, f"{text!r} is no JSON object")
        return fits

    def _stretches(self, log: Log) -> Iterator[Stretch]:
        endings = {str(ending): ending for ending in Ending}
        for i, row in enumerate(log.rows("segments")):
            where = f"segments[{i}]"
            segment = Segment(*row)
            if not self._readable(where, row, (1, 2, 7, 8, 9), (0, 3), (4, 6, 10)):
                continue
            if not self.known(where, segment.job):
                continue
            held, speed = self._parse_shares(segment.shares), self._parse_speed(segment.speed)
            ending = endings.get(segment.ending)
            if held is None or speed is None or ending is None:
                named = {"shares": held, "speed": speed, "ending": ending}
                column = next(name for name, value in named.items() if value is None)
                text = getattr(segment, column)
                self.findings.add("unreadable", f"{where}.{column}", f"{text!r} has no meaning")
                continue
            yield Stretch(
                i, segment.job, segment.start, segment.end, segment.gpus, held[0],
                segment.sharing, speed, segment.overhead, segment.work, segment.lost, ending,
                held[1],
            )  # fmt: skip

    def _parse_shares(self, text: str) -> tuple[Shares, Devices] | None:
        if text not in self._shares:
            try:
                rows = sorted((_share(*row) for row in json.loads(text)), key=lambda row: row[0])
                self._shares[text] = (
                    tuple(row[:4] for row in rows),
                    tuple((row[0], device) for row in rows for device in row[4]),
                )
            except (TypeError, ValueError):
                self._shares[text] = None
        return self._shares[text]

    def _parse_speed(self, text: str) -> Any:
        if text not in self._speeds:
            try:
                # No exponents where it is exact: "1e999999" is a number of a million digits.
                plain = self.exact or "/" in text
                value = Fraction(text) if plain and "e" not in text.lower() else float(text)
                fits = 0 <= value < math.inf and (isinstance(value, Fraction) or not self.exact)
                self._speeds[text] = (value if self.exact else float(value)) if fits else None
            except (ArithmeticError, ValueError):
                self._speeds[text] = None
        return self._speeds[text]

    def _read_starts(self, log: Log) -> None:
        for i, row in enumerate(log.rows("starts")):
            decision, job, overhead, speed = row
            where = f"starts[{i}]"
            counts = (0, 1) if overhead is None else (0, 1, 2)
            if not self._readable(where, row, (), counts, () if speed is None else (3,)):
                continue
            if not self.known(where, job):
                continue
            stated = None if speed is None else self._parse_speed(speed)
            if decision >= len(self.decisions) or (speed is not None and stated is None):
                self.findings.add("unreadable", where, f"{row!r} is not what its columns hold")
                continue
            self.started[decision].append(job)
            self.starts[self.decisions[decision].time, job] = Start(overhead, stated)


def _share(
    server: Any, gpus: Any, cpus: Any = None, memory: Any = None, devices: Any = ()
) -> tuple[Any, ...]:
    if not (isinstance(server, str) and isinstance(gpus, int)):
        raise TypeError
    for amount in (cpus, memory):
        if amount is not None and not (isinstance(amount, int | float) and amount >= 0):
            raise TypeError
    if not all(isinstance(device, int) for device in devices):
        raise TypeError
    return server, gpus, cpus, memory, sorted(devices)


def read(log: Log, findings: Findings) -> Record | None:
    """Return a log, read; None, with the reason among the findings, if its header is unusable."""
    try:
        return Record(log, findings)
    except (*BROKEN, InstanceError, LogError) as error:
        reason = f"no entry {error}" if isinstance(error, KeyError) else str(error)
        findings.add("unreadable", "meta", reason)
        return None
