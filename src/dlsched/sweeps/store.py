"""The store of a sweep: rows in a SQLite file, and solutions as files beside it.

``results.sqlite`` has two tables. ``runs`` has a row for every run ever made in the folder, under
its key (the digest of everything that it depends on). ``plan`` has the keys of the current sweep,
in order; the view ``results`` has the runs of the plan. ``solutions/`` has each solution once,
under its digest, ``logs/`` each simulation's log. A row is written after its solution or log, in a
transaction of its own. What ``dlsched merge`` takes from shards is in one transaction, and their
solutions and logs are in a table ``packed`` instead of a file each.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from dlsched.display.table import Row
from dlsched.errors import InstanceError, plain
from dlsched.extras import require
from dlsched.registry.labels import distinguish
from dlsched.schema.files import make_folder, replace_file
from dlsched.sweeps.execution import Outcome
from dlsched.sweeps.file_systems import is_on_network
from dlsched.sweeps.safe_csv import csv_bytes
from dlsched.sweeps.salvage import FILE, salvage
from dlsched.sweeps.store_columns import TYPES
from dlsched.sweeps.workload_spec import SIMULATION

if TYPE_CHECKING:
    import filelock
    import pandas

AGAIN = ("killed", "changed")
"""Statuses with a cause outside the run: ``--resume`` repeats these runs."""
TABLE = "results.csv"
VERSION = 3
"""Version of the tables."""
REMEDY = "finished runs are kept: remove the cause, then continue with --resume"
_MOST_ASKED = 500
"""Rows that are asked for at once; SQLite allows at least 999 parameters."""
_BUSY = "another sweep is writing there"


class Store:
    """The results in a folder.

    Parameters
    ----------
    folder
        The folder; it is created when opened for writing.
    write
        Whether runs will be added, which one process at a time can do. Any number of processes can
        read meanwhile.
    remedy
        What the message says to do if the database cannot be used or written.

    Raises
    ------
    InstanceError
        If there are no results to read, or another sweep is writing to the folder. Every method
        raises it if the database is damaged or cannot be written; the message says what is kept.
    """

    def __init__(self, folder: str | Path, write: bool = False, remedy: str = REMEDY) -> None:
        self.folder = Path(folder)
        self.remedy = remedy
        file = self.folder / FILE
        self.lock = self._locked() if write else None
        if not write and not file.is_file():
            remedy = "give the folder that dlsched bench wrote"
            raise InstanceError(str(file), "", "is not there", remedy)
        try:
            with self._clear_errors():
                uri = f"{file.resolve().as_uri()}?mode={'rwc' if write else 'ro'}"
                self.base = sqlite3.connect(uri, uri=True, isolation_level=None)
                self.base.row_factory = sqlite3.Row
                self._make() if write else self._validate_version((VERSION,))
        except InstanceError:
            self._release()
            raise

    def _locked(self) -> filelock.BaseFileLock:
        """Create the folder and take its lock."""
        library = require("filelock", "dlsched bench")
        lock: filelock.BaseFileLock = library.FileLock(self.folder / ".lock")
        try:
            with self._clear_write_errors(self.folder):
                make_folder(self.folder)
                lock.acquire(blocking=False)
        except library.Timeout:
            raise InstanceError(
                str(self.folder), "", _BUSY, "wait, or use another folder"
            ) from None
        return lock

    def _release(self) -> None:
        if hasattr(self, "base"):
            self.base.close()
        if self.lock:
            self.lock.release()

    def _validate_version(self, known: Sequence[int]) -> None:
        """Raise if the version of the tables is unknown."""
        try:
            version: int = self.base.execute("PRAGMA user_version").fetchone()[0]
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_NOTADB:
                raise
            version = -1
        if version not in known:
            what = "is not what this version of dlsched writes"
            remedy = "run the suite again, in another folder"
            raise InstanceError(str(self.folder / FILE), "", what, remedy)

    def _make(self) -> None:
        """Create the tables that are missing, in one transaction."""
        self._validate_version((0, VERSION))
        verdict = self.base.execute("PRAGMA quick_check(1)").fetchone()[0]
        if verdict != "ok":
            raise sqlite3.DatabaseError(verdict.partition("\n")[2] or verdict)
        if is_on_network(self.folder):  # a write-ahead log needs memory that all readers share
            self.base.execute("PRAGMA journal_mode = DELETE")
        else:
            self.base.execute("PRAGMA journal_mode = WAL")  # readers see whole rows at any time
            self.base.execute("PRAGMA synchronous = NORMAL")
        columns = ", ".join(f"{name} {kind}" for name, kind in TYPES.items())
        with self.base:
            self.base.execute("BEGIN")
            for statement in (
                f"TABLE IF NOT EXISTS runs ({columns})",
                "TABLE IF NOT EXISTS plan (position INTEGER PRIMARY KEY, key TEXT)",
                "TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT)",
                "TABLE IF NOT EXISTS packed (sha256 TEXT PRIMARY KEY, content BLOB)",
                "VIEW IF NOT EXISTS results AS SELECT runs.* FROM plan JOIN runs USING (key)"
                " ORDER BY position",
            ):
                self.base.execute(f"CREATE {statement}")
            known = {row["name"] for row in self.base.execute("PRAGMA table_info(runs)")}
            for name in TYPES.keys() - known:  # of a sweep that an earlier version began
                self.base.execute(f"ALTER TABLE runs ADD COLUMN {name} {TYPES[name]}")
            self.base.execute(f"PRAGMA user_version = {VERSION}")

    def _insert(self, row: Mapping[str, Any]) -> None:
        names, marks = ", ".join(row), ", ".join("?" * len(row))
        sql = f"INSERT OR REPLACE INTO runs ({names}) VALUES ({marks})"
        self.base.execute(sql, list(row.values()))

    def __enter__(self) -> Self:
        """Return the store; leaving the block closes it."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the store, and merge the write-ahead log into the database file."""
        if self.lock:
            with contextlib.suppress(sqlite3.Error):  # there is a reader, or it is damaged
                self.base.execute("PRAGMA journal_mode = DELETE")
        self._release()

    @contextmanager
    def _clear_errors(self) -> Iterator[None]:
        """Turn errors of SQLite into an `InstanceError` that says what is kept."""
        try:
            yield
        except sqlite3.OperationalError as error:  # disk full, no permission, a lock
            what = f"cannot be used ({error})"
            raise InstanceError(str(self.folder / FILE), "", what, self.remedy) from None
        except (sqlite3.DatabaseError, UnicodeError) as error:
            what = f"is damaged ({' '.join(plain(str(error)).split())})"
            remedy = f"{salvage(self.folder)}; run the suite again, in another folder"
            raise InstanceError(str(self.folder / FILE), "", what, remedy) from None

    @contextmanager
    def _clear_write_errors(self, file: Path) -> Iterator[None]:
        """Turn an error of the file system into an `InstanceError` that says what is kept."""
        try:
            yield
        except OSError as error:  # disk full, no permission
            if isinstance(error, TimeoutError):
                raise
            what = f"cannot be written ({(error.strerror or str(error)).lower()})"
            raise InstanceError(str(file), "", what, self.remedy) from None

    def write_table(self, frame: pandas.DataFrame) -> pandas.DataFrame:
        """Write all rows to ``results.csv``, and return them."""
        with self._clear_write_errors(self.folder / TABLE):
            replace_file(self.folder / TABLE, csv_bytes(frame))
        return frame

    def plan(self, keys: Sequence[str], about: Mapping[str, str]) -> set[str]:
        """Store the keys of a sweep; return those that need not be run again."""
        with self._clear_errors(), self._transaction():
            self._plan(keys, about)
        return self.finished()

    def _plan(self, keys: Sequence[str], about: Mapping[str, str]) -> None:
        self.base.execute("DELETE FROM plan")
        self.base.executemany("INSERT INTO plan VALUES (?, ?)", enumerate(keys))
        self.base.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", about.items())

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self.base:
            self.base.execute("BEGIN")
            yield

    def finished(self) -> set[str]:
        """Return the keys of the sweep that need not be run again."""
        marks = ", ".join("?" * len(AGAIN))
        sql = f"SELECT key FROM results WHERE status NOT IN ({marks})"
        with self._clear_errors():
            return {row["key"] for row in self.base.execute(sql, AGAIN)}

    def fill(
        self, keys: Sequence[str], about: Mapping[str, str], outcomes: Iterable[Outcome]
    ) -> None:
        """Store a sweep and many of its runs, their solutions packed; all of it or nothing."""
        with self._clear_errors(), self._transaction():
            self._plan(keys, about)
            for outcome in outcomes:
                if outcome.solution is not None:
                    digest = outcome.row["solution_sha256"]
                    sql = "INSERT OR IGNORE INTO packed VALUES (?, ?)"
                    self.base.execute(sql, (digest, outcome.solution))
                self._insert(outcome.row)

    def row(self, key: str) -> Row | None:
        """Return the row of a run; ``None`` if there is none."""
        with self._clear_errors():
            row = self.base.execute("SELECT * FROM runs WHERE key = ?", (key,)).fetchone()
        return None if row is None else dict(row)

    def add(self, outcome: Outcome) -> None:
        """Store a run: its solution, then its row, which replaces one with the same key."""
        if outcome.solution is not None:
            simulated = outcome.row["problem"] == SIMULATION
            place = self.log_file if simulated else self.solution_file
            file = place(outcome.row["solution_sha256"])
            if not file.exists():
                with self._clear_write_errors(file):
                    file.parent.mkdir(parents=True, exist_ok=True)
                    replace_file(file, outcome.solution)
        with self._clear_errors():
            self._insert(outcome.row)

    def solution_file(self, sha256: str) -> Path:
        """Return the path of the solution with this digest."""
        return self.folder / "solutions" / sha256[:2] / f"{sha256}.sol.json.gz"

    def log_file(self, sha256: str) -> Path:
        """Return the path of the simulation's log with this digest."""
        return self.folder / "logs" / sha256[:2] / f"{sha256}.sqlite.gz"

    def content(self, row: Mapping[str, Any]) -> bytes:
        """Return a run's solution as a gzipped file, or the log of a simulation.

        Raises
        ------
        OSError
            If it is not there.
        """
        digest = row["solution_sha256"]
        place = self.log_file if row["problem"] == SIMULATION else self.solution_file
        with contextlib.suppress(sqlite3.OperationalError):  # a store of before has no such table
            sql = "SELECT content FROM packed WHERE sha256 = ?"
            packed = self.base.execute(sql, (digest,)).fetchone()
            if packed is not None:
                return bytes(packed[0])
        return place(digest).read_bytes()

    @property
    def planned(self) -> int:
        """Number of runs in the plan."""
        with self._clear_errors():
            return int(self.base.execute("SELECT COUNT(*) FROM plan").fetchone()[0])

    @property
    def about(self) -> dict[str, str]:
        """The name and the notes of the suite."""
        with self._clear_errors():
            return dict(tuple(row) for row in self.base.execute("SELECT name, value FROM about"))

    def places(self) -> list[Row]:
        """Return key, instance, its digest and source of all runs but simulations, in order."""
        sql = "SELECT key, instance, instance_sha256, source FROM results WHERE problem != ?"
        with self._clear_errors():
            return [dict(row) for row in self.base.execute(sql, (SIMULATION,))]

    def rows_of(self, keys: Sequence[str]) -> list[Row]:
        """Return the rows of some runs, in their order."""
        found: dict[str, Row] = {}
        for begin in range(0, len(keys), _MOST_ASKED):
            part = keys[begin : begin + _MOST_ASKED]
            sql = f"SELECT * FROM runs WHERE key IN ({', '.join('?' * len(part))})"
            with self._clear_errors():
                found |= {row["key"]: dict(row) for row in self.base.execute(sql, part)}
        return [found[key] for key in keys]

    def rows(self) -> list[Row]:
        """Return the results so far, in the order of the plan, without simulations.

        Different instances with one name have 8 digits of their digest added to it.
        """
        return self._results("problem != ?")

    def simulations(self) -> list[Row]:
        """Return the simulations so far, in the same way."""
        return self._results("problem = ?")

    def _results(self, which: str) -> list[Row]:
        sql = f"SELECT * FROM results WHERE {which}"
        with self._clear_errors():
            return distinguish([dict(row) for row in self.base.execute(sql, (SIMULATION,))])
