"""The store of a sweep: one SQLite file, with a row for every run.

``results.sqlite`` has a table ``runs``, whose rows have their key (the digest of everything that a
run depends on), and, once the run is made, its solution or log. Rows of the current sweep have a
position; those of an earlier one in the folder are kept without. A row is written in a transaction
of its own. What the sweep says of itself is in the table ``about``.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from dlsched.display.table import Row
from dlsched.errors import InstanceError, plain
from dlsched.extras import require
from dlsched.registry.labels import distinguish
from dlsched.schema.files import make_folder
from dlsched.sweeps.specs import SIMULATION
from dlsched.sweeps.work import Outcome

if TYPE_CHECKING:
    import filelock
    import pandas

_NAMES = (
    "key position instance instance_sha256 problem variant variant_sha256 size source method "
    "resolved_method kind options seed repetition status termination reason objective bound gap "
    "gap_level bound_kind seconds build_seconds solve_seconds check_seconds run_seconds "
    "peak_memory_bytes versions machine engine node started solution_sha256 record solution"
)
_COLUMNS = _NAMES.split()
_KINDS = {
    **dict.fromkeys(("position", "size", "seed", "repetition", "peak_memory_bytes"), "INTEGER"),
    **{name: "REAL" for name in _COLUMNS if name == "gap" or name.endswith("seconds")},
    **{"key": "TEXT PRIMARY KEY", "solution": "BLOB"},
}
TYPES = {name: _KINDS.get(name, "TEXT") for name in _COLUMNS}
"""The columns of ``runs`` with their SQL types; `dlsched.display.table.COLUMNS` has their meaning.
``status`` is null of a run that is not made. ``record`` is the result as JSON: the trajectory,
certified bounds, exact fractions. ``solution`` is its file, or the log of a simulation, gzipped."""
_READ = ", ".join(name for name in TYPES if name not in ("position", "solution"))
_MADE = "position IS NOT NULL AND status IS NOT NULL"
"""Of the rows of the current sweep, those that are made."""
_PLANNED = ["key", "position", "instance", "problem", "source", "method", "options"]
_PLANNED += ["seed", "repetition"]
AGAIN = ("killed", "changed")
"""Statuses with a cause outside the run: such a run is made again by the next sweep."""
FILE = "results.sqlite"
VERSION = 4
"""Version of the tables."""
REMEDY = "finished runs are kept: remove the cause, then continue with --resume"
_NETWORK = (
    *("nfs", "cifs", "smb", "afs", "lustre", "gpfs", "beegfs", "ceph", "glusterfs", "fhgfs"),
    *("fuse.", "9p", "wekafs", "panfs", "orangefs", "pvfs"),
)
"""How the names of file systems begin that other machines may write to."""


class Store:
    """The rows in a folder, or in another file of the same form.

    Parameters
    ----------
    place
        The folder, or a file ``.sqlite``; it is created when opened for writing.
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

    def __init__(self, place: str | Path, write: bool = False, remedy: str = REMEDY) -> None:
        place = Path(place)
        self.file = place if place.suffix == ".sqlite" else place / FILE
        self.folder, self.remedy = self.file.parent, remedy
        if not write and not self.file.is_file():
            remedy = "give the folder that dlsched bench wrote"
            raise InstanceError(str(self.file), "", "is not there", remedy)
        self.lock = self._locked() if write and place is not self.file else None
        try:
            with self.clear_errors():
                if write:
                    self.folder.mkdir(parents=True, exist_ok=True)
                uri = f"{self.file.resolve().as_uri()}?mode={'rwc' if write else 'ro'}"
                self.base = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=60)
                self.base.row_factory = sqlite3.Row
                self._validate_version((0, VERSION) if write else (VERSION,))
                if write:
                    self._make()
        except InstanceError:
            self._release()
            raise

    def _locked(self) -> filelock.BaseFileLock:
        """Create the folder and take its lock."""
        library = require("filelock", "dlsched bench")
        lock: filelock.BaseFileLock = library.FileLock(self.folder / ".lock")
        try:
            with self.clear_errors():
                make_folder(self.folder)
                lock.acquire(blocking=False)
        except library.Timeout:
            what = "another sweep is writing there"
            raise InstanceError(str(self.folder), "", what, "wait, or use another folder") from None
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
            raise InstanceError(str(self.file), "", what, remedy)

    def _make(self) -> None:
        """Create the tables that are missing, in one transaction."""
        verdict = self.base.execute("PRAGMA quick_check(1)").fetchone()[0]
        if verdict != "ok":
            raise sqlite3.DatabaseError(verdict.partition("\n")[2] or verdict)
        if is_on_network(self.folder):  # a write-ahead log needs memory that all readers share
            self.base.execute("PRAGMA journal_mode = DELETE")
        else:
            self.base.execute("PRAGMA journal_mode = WAL")  # readers see whole rows at any time
            self.base.execute("PRAGMA synchronous = NORMAL")
        columns = ", ".join(f"{name} {kind}" for name, kind in TYPES.items())
        with self._transaction():
            self.base.execute(f"CREATE TABLE IF NOT EXISTS runs ({columns})")
            self.base.execute("CREATE INDEX IF NOT EXISTS planned ON runs (position)")
            self.base.execute(
                "CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT)"
            )
            self.base.execute(f"PRAGMA user_version = {VERSION}")

    def __enter__(self) -> Self:
        """Return the store; leaving the block closes it."""
        return self

    def __exit__(self, *raised: object) -> None:
        """Close the store; a writer merges the write-ahead log into the file."""
        if self.lock:
            with contextlib.suppress(sqlite3.Error):  # there is a reader, or it is damaged
                self.base.execute("PRAGMA journal_mode = DELETE")
        self._release()

    @contextmanager
    def clear_errors(self) -> Iterator[None]:
        """Turn errors of SQLite and of the disk into one that says what is kept."""
        try:
            yield
        except (sqlite3.OperationalError, OSError) as error:  # disk full, no permission, a lock
            if isinstance(error, TimeoutError):
                raise
            told = getattr(error, "strerror", None) or str(error)
            what = f"cannot be used ({told.lower()})"
            raise InstanceError(str(self.file), "", what, self.remedy) from None
        except (sqlite3.DatabaseError, UnicodeError) as error:
            what = f"is damaged ({' '.join(plain(str(error)).split())})"
            remedy = f"sqlite3 {self.file} .recover reads the rest; run it again, in another folder"
            raise InstanceError(str(self.file), "", what, remedy) from None

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self.base:
            self.base.execute("BEGIN")
            yield

    def plan(self, rows: Iterable[Row], about: Mapping[str, str]) -> None:
        """Store the runs of a sweep in their order; runs that are there stay as they are."""
        marks = ", ".join("?" * len(_PLANNED))
        sql = f"INSERT INTO runs ({', '.join(_PLANNED)}) VALUES ({marks})"
        sql += " ON CONFLICT (key) DO UPDATE SET position = excluded.position"
        numbered = (row | {"position": i} for i, row in enumerate(rows))
        with self.clear_errors(), self._transaction():
            self.base.execute("UPDATE runs SET position = NULL WHERE position IS NOT NULL")
            self.base.executemany(sql, ([row[name] for name in _PLANNED] for row in numbered))
            self.base.execute("DELETE FROM runs WHERE position IS NULL AND status IS NULL")
            self.base.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", about.items())

    def fill(self, outcomes: Iterable[Outcome]) -> None:
        """Store runs, which replace rows of the same keys: all of them or none."""
        with self.clear_errors(), self._transaction():
            for outcome in outcomes:
                row = outcome.row | {"solution": outcome.solution}
                names, marks = ", ".join(row), ", ".join("?" * len(row))
                new = ", ".join(
                    f"{name} = excluded.{name}" for name in TYPES if name not in ("key", "position")
                )
                sql = f"INSERT INTO runs ({names}) VALUES ({marks}) ON CONFLICT (key) DO UPDATE SET"
                self.base.execute(f"{sql} {new}", list(row.values()))

    def statuses(self) -> dict[str, str | None]:
        """Return the status of each run of the sweep by key, in order; None if it is not made."""
        rows = self._select("key, status", "position IS NOT NULL ORDER BY position")
        return {row["key"]: row["status"] for row in rows}

    def finished(self) -> set[str]:
        """Return the keys of the runs that need not be made again."""
        statuses = self.statuses().items()
        return {key for key, status in statuses if status and status not in AGAIN}

    def row(self, key: str) -> Row | None:
        """Return the row of a run; ``None`` if it is not made."""
        return next(self._select(_READ, "key = ? AND status IS NOT NULL", key), None)

    def outcomes(self) -> Iterator[Outcome]:
        """Yield all runs that are made, with their solutions, in the order of their arrival."""
        for row in self._select(f"{_READ}, solution", "status IS NOT NULL ORDER BY rowid"):
            solution = row.pop("solution")
            yield Outcome(row, solution)

    def counted(self) -> Iterator[Row]:
        """Return key, status, engine and node of all runs that are made."""
        return self._select("key, status, engine, node", "status IS NOT NULL")

    def content(self, row: Mapping[str, Any]) -> bytes:
        """Return a run's solution as a gzipped file, or the log of a simulation.

        Raises
        ------
        OSError
            If it is not there.
        """
        for found in self._select("solution", "key = ? AND solution IS NOT NULL", row["key"]):
            return bytes(found["solution"])
        raise FileNotFoundError(f"{row['key']} has no solution")

    @property
    def planned(self) -> int:
        """Number of runs of the sweep."""
        return int(next(self._select("COUNT(*) AS runs", "position IS NOT NULL"))["runs"])

    @property
    def about(self) -> dict[str, str]:
        """The name and the notes of the suite, and where the user's modules were copied."""
        with self.clear_errors():
            return dict(tuple(row) for row in self.base.execute("SELECT name, value FROM about"))

    def rows(self) -> list[Row]:
        """Return the runs that are made, in the order of the sweep, without simulations.

        Different instances with one name have 8 digits of their digest added to it.
        """
        which = f"{_MADE} AND problem != ? ORDER BY position"
        return distinguish(list(self._select(_READ, which, SIMULATION)))

    def simulations(self) -> list[Row]:
        """Return the simulations so far, in the same way."""
        which = f"{_MADE} AND problem = ? ORDER BY position"
        return distinguish(list(self._select(_READ, which, SIMULATION)))

    def by_instance(self) -> Iterator[Row]:
        """Yield the runs that are made with their position, those of an instance in sequence."""
        which = f"{_MADE} AND problem != ? ORDER BY instance_sha256, position"
        return self._select(f"{_READ}, position", which, SIMULATION)

    def _select(self, columns: str, which: str, *values: str) -> Iterator[Row]:
        """Yield columns of some rows of ``runs``."""
        with self.clear_errors():
            sql = f"SELECT {columns} FROM runs WHERE {which}"
            yield from map(dict, self.base.execute(sql, values))


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Turn an error of the disk into one that names the folder and the remedy."""
    try:
        yield
    except OSError as error:
        what = f"cannot be written ({(error.strerror or str(error)).lower()})"
        raise InstanceError(str(folder), "", what, "remove the cause, then begin again") from None


def is_empty(file: Path) -> bool:
    """Whether a file has no tables yet: who began it was killed at once, or is at it."""
    with contextlib.suppress(sqlite3.Error):
        uri = f"{file.resolve().as_uri()}?mode=ro"
        with contextlib.closing(sqlite3.connect(uri, uri=True)) as base:
            return not base.execute("PRAGMA user_version").fetchone()[0]
    return False


def new_plan(folder: Path, rows: Iterable[Row], about: Mapping[str, str]) -> None:
    """Make the store of a sweep whose shards several processes begin: the first one's counts.

    Raises
    ------
    InstanceError
        If it cannot be written.
    """
    draft = folder / f".{secrets.token_hex(8)}.sqlite"
    try:
        with Store(draft, write=True) as store:
            store.plan(rows, about)
            with store.clear_errors():
                store.base.execute("PRAGMA journal_mode = DELETE")
        with store.clear_errors(), contextlib.suppress(FileExistsError):
            os.link(draft, folder / FILE)
    finally:
        draft.unlink(missing_ok=True)


def read_rows(out: str | Path) -> pandas.DataFrame:
    """Return the rows of a sweep that are made, in its order: one for each run.

    Columns are those of `dlsched.display.table.COLUMNS`: ``key``, ``instance``, ``problem``,
    ``method``, ``seed``, ``status``, ``objective`` and ``bound`` (JSON), ``gap``, the digests
    ``instance_sha256`` and ``solution_sha256``, ``seconds``, ``node``, ``engine`` and others; and
    ``record``, the whole result without its solution, as JSON. A sweep may be running.

    Raises
    ------
    InstanceError
        If there are no results, or they are damaged.
    """
    import pandas as pd

    with Store(out) as store:
        rows = store.rows() + store.simulations()
    return pd.DataFrame(rows, columns=_READ.split(", "))


def is_on_network(folder: Path) -> bool:
    """Whether a folder, or where it would be made, is on a file system over the network."""
    psutil = require("psutil", "dlsched bench")
    kinds = {Path(disk.mountpoint): disk.fstype for disk in psutil.disk_partitions(all=True)}
    for above in (folder.resolve(), *folder.resolve().parents):
        if above in kinds:
            return bool(kinds[above].startswith(_NETWORK))
    return False
