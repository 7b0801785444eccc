"""The log of a simulation: an SQLite file, or a database in memory, written as the simulation goes.

Everything that the auditor and the metrics need is in it. Times are whole microseconds
(``clock = "microseconds"``), or seconds as floats in the published variants (``clock = "float
seconds"``). Tables:

``meta``
    ``key``, ``value``: version, clock, workload and cluster as JSON, policy, method, options,
    variant, seed; ``state`` is what a simulation needs to go on from here; ``end`` is the time of
    the last completion once the simulation is complete. A published variant may add ``unit``
    (``"iterations"``, its default, or ``"seconds"``: what a job's work is counted in), ``slack``
    (seconds within which it takes two events as one). ``layers`` is ``"priority"`` where jobs of
    priority 0 and all others hold GPUs beside each other: each kind holds a GPU at most once.
``segments``
    One row per stretch of time in which a job holds the same GPUs at the same speed: ``job`` (its
    position in the workload), ``start``, ``end``, ``gpus``, ``shares`` (JSON: ``[server, GPUs]`` or
    ``[server, GPUs, CPUs, GB]`` each; with layers a list of the GPUs' numbers is the fifth),
    ``sharing`` (name of the group that holds these GPUs together, or null), ``speed`` (text: work
    per unit of time, as "p/q" or a float), ``overhead`` (time without progress, within the
    stretch), ``work`` (done in it), ``lost`` (work done before, lost at its end), ``ending`` (a
    value of `Ending`).
``completions``
    ``job``, ``time``.
``decisions``
    ``time``, ``cause``, ``waiting`` and ``running`` (jobs before the decision), ``started`` (jobs
    that start, or get another allocation), ``preempted``, ``solved`` (JSON).
``starts``
    One row per job that a decision starts, or gives another allocation: ``decision`` (its row, from
    0), ``job``, ``overhead`` (time without progress that the decision states; null where it is the
    job's own restart overhead), ``speed`` (text; null where it follows from the job's profile). The
    published variants, which state all speeds, leave this table empty.
``loans``
    ``time``, ``server``, ``lent`` (1 if it comes, 0 if it goes).
``timings``
    ``decision`` (row number), ``seconds``: what depends on the machine. It is in no comparison.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from dlsched.errors import OptionError

VERSION: Final = 1
BATCH: Final = 2000
"""Rows of a table that are kept in memory before they are written."""

Time = int | float
"""Microseconds as an int, or seconds as a float in a published variant."""


class Ending(StrEnum):
    """Why a segment ends."""

    COMPLETED = "completed"
    PREEMPTED = "preempted"
    CHANGED = "changed"
    """The job runs on with another allocation or at another speed."""
    STOPPED = "stopped"
    """The simulation was ended before the job."""


class Segment(NamedTuple):
    """A row of the table ``segments``."""

    job: int
    start: Time
    end: Time
    gpus: int
    shares: str
    sharing: str | None
    speed: str
    overhead: Time
    work: Time
    lost: Time
    ending: Ending


class DecisionRow(NamedTuple):
    """A row of the table ``decisions``."""

    time: Time
    cause: str
    waiting: int
    running: int
    started: int
    preempted: int
    solved: str


TABLES: Final[Mapping[str, tuple[str, ...]]] = {
    "segments": Segment._fields,
    "completions": ("job", "time"),
    "decisions": DecisionRow._fields,
    "starts": ("decision", "job", "overhead", "speed"),
    "loans": ("time", "server", "lent"),
    "timings": ("decision", "seconds"),
}
COMPARED: Final = ("segments", "completions", "decisions", "starts", "loans")
"""Tables that are the same whenever the same simulation is run."""


class LogError(OptionError):
    """A log cannot be used: it is no log, damaged, not writable, or of another simulation."""


class Log:
    """A log that is open for writing and reading."""

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = None if path is None else Path(path)
        self._rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in TABLES}
        with self._usable("cannot be used as a log", "name another file"):
            self.database = sqlite3.connect(":memory:" if path is None else str(path))
            self._create()

    @contextmanager
    def _usable(self, problem: str, remedy: str) -> Iterator[None]:
        """Name the file in an error of the database."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise LogError(f"{self.path}: {problem} ({error}); {remedy}") from None

    def _create(self) -> None:
        with self.database as database:
            found = {row[0] for row in database.execute("SELECT name FROM sqlite_master")}
            if found and "meta" not in found:
                raise sqlite3.DatabaseError("it is a database of something else")
            database.execute("CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT)")
            for name, columns in TABLES.items():
                database.execute(f"CREATE TABLE IF NOT EXISTS {name} ({', '.join(columns)})")
                database.execute(f"SELECT {', '.join(columns)} FROM {name} LIMIT 0")

    def __enter__(self) -> Self:
        """Return the log itself."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Close the database; what was not committed is gone."""
        self.close()

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    def to_bytes(self) -> bytes:
        """Return what a file of the committed log would contain."""
        return self.database.serialize()

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Return a log in memory with this content, which `to_bytes` returned."""
        made = cls()
        made.database.deserialize(content)
        return made

    @contextmanager
    def _written(self) -> Iterator[sqlite3.Connection]:
        remedy = "what was written before is whole; make it writable, then resume"
        with self._usable("cannot be written", remedy), self.database as database:
            yield database

    def clear(self) -> None:
        """Remove all rows; the header stays."""
        with self._written() as database:
            for name in TABLES:
                database.execute(f"DELETE FROM {name}")

    def begin(self, meta: Mapping[str, Any]) -> None:
        """Write the header of a new simulation; values are stored as JSON."""
        with self._written() as database:
            rows = ({"version": VERSION} | dict(meta)).items()
            database.executemany(
                "INSERT INTO meta VALUES (?, ?)", [(key, json.dumps(value)) for key, value in rows]
            )

    def meta(self) -> dict[str, Any]:
        """Return the header.

        Raises
        ------
        LogError
            If it cannot be read.
        """
        with self._usable("cannot be read", "name another file"):
            rows = self.database.execute("SELECT key, value FROM meta").fetchall()
        try:
            return {key: json.loads(value) for key, value in rows}
        except (TypeError, ValueError) as error:
            raise LogError(
                f"{self.path}: its header cannot be read ({error}); name another file"
            ) from None

    def add(self, table: str, row: tuple[Any, ...]) -> None:
        """Add a row; it is on disk after the next `commit`."""
        self._rows[table].append(row)

    @property
    def pending(self) -> int:
        """Rows added since the last commit."""
        return sum(map(len, self._rows.values()))

    def commit(self, **meta: Any) -> None:
        """Write the rows added so far and entries of the header, all of them or none.

        Raises
        ------
        LogError
            If the file cannot be written, as when the disk is full; it stays as it was.
        """
        with self._written() as database:
            for name, rows in self._rows.items():
                marks = ", ".join("?" * len(TABLES[name]))
                database.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
            database.executemany(
                "INSERT OR REPLACE INTO meta VALUES (?, ?)",
                [(key, json.dumps(value)) for key, value in meta.items()],
            )
        for rows in self._rows.values():
            rows.clear()

    def rows(self, table: str) -> list[tuple[Any, ...]]:
        """Return the committed rows of a table in the order in which they were added.

        Raises
        ------
        LogError
            If they cannot be read.
        """
        columns = ", ".join(TABLES[table])
        query = f"SELECT {columns} FROM {table} ORDER BY rowid"
        with self._usable("cannot be read", "name another file"):
            return self.database.execute(query).fetchall()
