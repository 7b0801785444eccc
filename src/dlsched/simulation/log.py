"""The log of a simulation: an SQLite file, or a database in memory, written as the simulation goes.

Everything that the auditor and the metrics need is in it. Times are whole microseconds
(``clock`` is ``"microseconds"``). Tables:

``meta``
    ``key``, ``value``: version, clock, workload and cluster as JSON, policy, method, options,
    variant (``"paper"``), seed; ``state`` is what a simulation needs to go on from here; ``end`` is
    the time of the last completion once the simulation is complete.
``segments``
    One row per stretch of time in which a job holds the same GPUs at the same speed: ``job`` (its
    position in the workload), ``start``, ``end``, ``gpus``, ``shares`` (JSON: ``[server, GPUs]`` or
    ``[server, GPUs, CPUs, GB]`` each),
    ``sharing`` (name of the group that holds these GPUs together, or null), ``speed`` (text: work
    per unit of time, as "p/q"), ``overhead`` (time without progress, within the
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
    job's own restart overhead), ``speed`` (text; null where it follows from the job's profile).
``loans``
    ``time``, ``server``, ``lent`` (1 if it comes, 0 if it goes).
``timings``
    ``decision`` (row number), ``seconds``: what depends on the machine. It is in no comparison.

The tables are ``STRICT``, and each column has the check of `COLUMNS`: a row that breaks one is
never written. Logs of earlier versions have the same columns without these; they are read as well.
"""

import json
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from dlsched.errors import OptionError

VERSION: Final = 1
APPLICATION: Final = int.from_bytes(b"dlsc")
"""SQLite's `application_id` of a log."""
PATIENCE: Final = 1.0
"""Seconds for which a file that another process has is waited for."""


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
    start: int
    end: int
    gpus: int
    shares: str
    sharing: str | None
    speed: str
    overhead: int
    work: int
    lost: int
    ending: Ending


class Column(NamedTuple):
    """What a column of a table holds: its type, and the check of a value ``{0}``, both in SQL."""

    kind: str
    check: str
    nullable: bool = False

    def definition(self, name: str) -> str:
        """Return the column's definition in a ``STRICT`` table."""
        return f"{name} {self.kind} CHECK ({self.holds(name)})"

    def holds(self, name: str) -> str:
        """Return the check, which is 0 for a value of another type, whatever the table is."""
        types = {"INTEGER": "'integer'", "TEXT": "'text'", "REAL": "'real', 'integer'"}[self.kind]
        check = f"typeof({name}) IN ({types}) AND {self.check.format(name)}"
        return f"({name} IS NULL OR {check})" if self.nullable else f"({check})"


_COUNT = Column("INTEGER", "{0} >= 0")
_TEXT = Column("TEXT", "1")
_SPEED = Column(
    "TEXT",
    "{0} GLOB '[0-9]*' AND {0} NOT GLOB '*[^0-9/]*' AND {0} NOT GLOB '*/*/*' "
    "AND {0} NOT GLOB '*/' AND {0} NOT GLOB '*/0*' AND length({0}) < 4000",
)
"""A whole number, or two with a slash between, the second not 0, as long as Python reads."""
_JSON = "CASE WHEN json_valid({0}) THEN json_type({0}) = '?' ELSE 0 END"
_ENDING = Column("TEXT", f"{{0}} IN ({', '.join(repr(str(ending)) for ending in Ending)})")
COLUMNS: Final[Mapping[str, Mapping[str, Column]]] = {
    "segments": {
        **{name: _COUNT for name in ("job", "start", "end", "gpus")},
        "shares": Column("TEXT", _JSON.replace("?", "array")),
        "sharing": _TEXT._replace(nullable=True),
        "speed": _SPEED,
        **{name: _COUNT for name in ("overhead", "work", "lost")},
        "ending": _ENDING,
    },
    "completions": {"job": _COUNT, "time": _COUNT},
    "decisions": {
        "time": _COUNT,
        "cause": _TEXT,
        **{name: _COUNT for name in ("waiting", "running", "started", "preempted")},
        "solved": Column("TEXT", _JSON.replace("?", "object")),
    },
    "starts": {
        "decision": _COUNT,
        "job": _COUNT,
        "overhead": _COUNT._replace(nullable=True),
        "speed": _SPEED._replace(nullable=True),
    },
    "loans": {"time": _COUNT, "server": _TEXT, "lent": Column("INTEGER", "{0} IN (0, 1)")},
    "timings": {"decision": _COUNT, "seconds": Column("REAL", "{0} >= 0 AND {0} < 9e999")},
}
"""The columns of each table. No check can look into the shares, as it may have no subquery."""
TABLES: Final[Mapping[str, tuple[str, ...]]] = {
    name: tuple(columns) for name, columns in COLUMNS.items()
}


class LogError(OptionError):
    """A log cannot be used: it is no log, damaged, not writable, or of another simulation."""


class Log:
    """A log that is open for writing and reading.

    Attributes
    ----------
    pending
        Rows added since the last commit.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = None if path is None else Path(path)
        self._rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in TABLES}
        self.pending = 0
        self._header: dict[str, str] = {}
        self._turn = threading.RLock()
        with self._usable("cannot be used as a log", "name another file"):
            # Threads may share it, as they take turns.
            self.database = sqlite3.connect(
                ":memory:" if path is None else str(path),
                timeout=PATIENCE,
                check_same_thread=False,
            )
            try:
                self.empty = self._require_own()
            except sqlite3.DatabaseError:
                self.database.close()
                raise
            if path is None:
                self._create()
                self.empty = False

    @contextmanager
    def _usable(self, problem: str, remedy: str) -> Iterator[None]:
        """Use the database, one thread at a time; name the file in an error of it."""
        try:
            with self._turn:
                yield
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            if "locked" in str(error):
                problem = "is in use"
                remedy = (
                    "another simulation may be writing it: wait until it ends, or name another file"
                )
            raise LogError(f"{self.path}: {problem} ({error}); {remedy}") from None

    def _require_own(self) -> bool:
        """Refuse a database of something else, to which nothing is written; return if it is new."""
        stated = self.database.execute("PRAGMA application_id").fetchone()[0]
        names = {row[0] for row in self.database.execute("SELECT name FROM sqlite_master")}
        if not names and not stated:
            return True
        for name, columns in {"meta": ("key", "value"), **TABLES}.items():
            rows = self.database.execute(f"PRAGMA table_info({name})")
            if tuple(row[1] for row in rows) != columns or stated not in (0, APPLICATION):
                raise sqlite3.DatabaseError("it is a database of something else")
        clock = None
        with suppress(sqlite3.DatabaseError):  # a file that is damaged is read as far as it can be
            clock = self.database.execute("SELECT value FROM meta WHERE key = 'clock'").fetchone()
        if clock == ('"float seconds"',):
            raise sqlite3.DatabaseError("it is of a published simulator, in floats")
        return False

    def _create(self) -> None:
        self.database.execute(f"PRAGMA application_id = {APPLICATION}")
        self.database.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT) STRICT")
        for name, columns in COLUMNS.items():
            definitions = [column.definition(key) for key, column in columns.items()]
            self.database.execute(f"CREATE TABLE {name} ({', '.join(definitions)}) STRICT")

    def lock(self) -> None:
        """Keep other processes from this file until `unlock`: two that write it would mix rows.

        Raises
        ------
        LogError
            If another one has it.
        """
        if self.path is None:
            return
        with self._usable("cannot be locked", "name another file"):
            self.database.execute("PRAGMA locking_mode = EXCLUSIVE")
            self.database.execute("BEGIN EXCLUSIVE")
            self.database.execute("COMMIT")
            self.empty = self._require_own()

    def unlock(self) -> None:
        """Let other processes read the file; remove it if nothing was ever written to it."""
        if self.path is None:
            return
        if self.empty:
            self.close()
            self.path.unlink(missing_ok=True)
            return
        with self._usable("cannot be read", "name another file"):
            self.database.execute("PRAGMA locking_mode = NORMAL")
            # The lock is given back when the file is read for the next time.
            self.database.execute("SELECT count(*) FROM meta").fetchone()

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    def to_bytes(self) -> bytes:
        """Return what a file of the committed log would contain."""
        with self._usable("cannot be read", "name another file"):
            return self.database.serialize()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what is committed: the copy is in memory, as its file may be on no other host."""
        return type(self).from_bytes, (self.to_bytes(),)

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Return a log in memory with this content, which `to_bytes` returned."""
        log = cls()
        with log._usable("cannot be read as a log", "give what dlsched.save wrote"):
            log.database.deserialize(content)
            log._require_own()
        return log

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

    def begin(self, header: Mapping[str, str]) -> None:
        """State the header of a new simulation, as JSON; it is written with the first rows."""
        self._header = dict(header)

    def meta(self, *keys: str) -> dict[str, Any]:
        """Return the header, or of it the entries that are named, as far as it has them.

        A header has the whole workload: to read all of it takes time.

        Raises
        ------
        LogError
            If it cannot be read.
        """
        texts = {key: self._header[key] for key in keys or self._header if key in self._header}
        query = "SELECT key, value FROM meta"
        if keys:
            query += f" WHERE key IN ({', '.join('?' * len(keys))})"
        if not self.empty:
            with self._usable("cannot be read", "name another file"):
                texts = dict(self.database.execute(query, keys).fetchall()) | texts
        try:
            return {key: json.loads(value) for key, value in texts.items()}
        except (TypeError, ValueError, RecursionError) as error:
            raise LogError(
                f"{self.path}: its header cannot be read ({error}); name another file"
            ) from None

    def add(self, table: str, row: tuple[Any, ...]) -> None:
        """Add a row; it is on disk after the next `commit`."""
        self._rows[table].append(row)
        self.pending += 1

    def commit(self, **meta: Any) -> None:
        """Write the rows added so far and entries of the header, all of them or none.

        Raises
        ------
        LogError
            If the file cannot be written, as when the disk is full; it stays as it was.
        """
        with self._written() as database:
            database.execute("BEGIN")
            if self.empty:
                self._create()
            for name, rows in self._rows.items():
                marks = ", ".join("?" * len(TABLES[name]))
                database.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
            database.executemany(
                "INSERT OR REPLACE INTO meta VALUES (?, ?)",
                [*self._header.items(), *((key, json.dumps(value)) for key, value in meta.items())],
            )
        self._header, self.empty = {}, False
        for rows in self._rows.values():
            rows.clear()
        self.pending = 0

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

    def broken(self, table: str) -> dict[int, list[str]]:
        """Return which columns break their checks, by the number of the row from 0.

        They can where the file is of an earlier version, or its checks were passed by.

        Raises
        ------
        LogError
            If they cannot be read.
        """
        holds = [column.holds(name) for name, column in COLUMNS[table].items()]
        found = f"SELECT EXISTS (SELECT 1 FROM {table} WHERE NOT ({' AND '.join(holds)}))"
        with self._usable("cannot be read", "name another file"):
            if not self.database.execute(found).fetchone()[0]:
                return {}
            each = self.database.execute(f"SELECT {', '.join(holds)} FROM {table} ORDER BY rowid")
            wrong = {
                i: [name for name, good in zip(TABLES[table], row, strict=True) if not good]
                for i, row in enumerate(each)
            }
        return {i: names for i, names in wrong.items() if names}
