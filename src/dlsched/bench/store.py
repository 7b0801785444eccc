"""Where a sweep's rows live: a SQLite file, and the solutions beside it.

``results.sqlite`` has two tables. ``runs`` has a row for every run ever made in the folder, by its
key (the digest of all that it depends on). ``plan`` lists the keys of the sweep at hand, in order;
the view ``results`` is the runs of the plan. ``solutions/`` has each solution once, under its
digest; a row is written after its solution, and each row is one transaction.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import filelock

from dlsched.bench.execution import Outcome
from dlsched.bench.safe_csv import rows_as_csv
from dlsched.errors import InstanceError, plain
from dlsched.files import replace_file
from dlsched.labels import distinguish

if TYPE_CHECKING:
    import pandas

COLUMNS: dict[str, str] = {
    "key": "TEXT PRIMARY KEY",
    "instance": "TEXT NOT NULL",
    "instance_sha256": "TEXT",
    "problem": "TEXT NOT NULL",
    "size": "INTEGER",
    "source": "TEXT NOT NULL",
    "method": "TEXT NOT NULL",
    "resolved_method": "TEXT",
    "kind": "TEXT",
    "options": "TEXT NOT NULL",
    "seed": "INTEGER NOT NULL",
    "repetition": "INTEGER NOT NULL",
    "status": "TEXT NOT NULL",
    "reason": "TEXT NOT NULL",
    "objective": "TEXT",
    "bound": "TEXT",
    "bound_kind": "TEXT",
    "gap": "REAL",
    "gap_level": "TEXT",
    "build_seconds": "REAL",
    "solve_seconds": "REAL",
    "check_seconds": "REAL",
    "total_seconds": "REAL",
    "run_seconds": "REAL",
    "peak_memory_bytes": "INTEGER",
    "versions": "TEXT NOT NULL",
    "machine": "TEXT NOT NULL",
    "started": "TEXT NOT NULL",
    "solution_sha256": "TEXT",
    "record": "TEXT",
}
"""The columns of ``runs``. ``method`` is as the suite names it, ``resolved_method`` the one that
ran (``"exact"`` stands for another). ``total_seconds`` is build, solve and check, and what is
between them; ``run_seconds`` has the making of the instance too. ``record`` is the result as JSON,
without its solution: the trajectory, certified bounds, digits that a double cannot carry."""

AGAIN = ("killed", "changed")
"""Those whose cause lies outside the run: ``--resume`` makes them again."""
FILE = "results.sqlite"
SALVAGED = "salvaged.csv"
"""Where the rows go that can still be read of a damaged database."""
VERSION = 2
"""Of the tables. In version 1 the column ``resolved_method`` was called ``solved_by``."""
_KNOWN = (1, VERSION)
_OLD = {"solved_by": "resolved_method"}
_BUSY = "another sweep is writing there"


class Store:
    """The results in a folder.

    Parameters
    ----------
    folder
        It is made if it is not there, when opened for writing.
    write
        Whether runs will be added. Only one process at a time can; any number may read meanwhile.

    Raises
    ------
    InstanceError
        If there are no results to read, or another sweep is writing to the folder; from every
        method if the database is damaged or cannot be written: it says what is kept.
    """

    def __init__(self, folder: str | Path, write: bool = False) -> None:
        self.folder = Path(folder)
        file = self.folder / FILE
        self.lock = filelock.FileLock(self.folder / ".lock") if write else None
        if self.lock:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._take_lock(self.lock)
        elif not file.is_file():
            remedy = "give the folder that dlsched bench wrote"
            raise InstanceError(str(file), "", "is not there", remedy)
        try:
            with self._clear_errors():
                uri = f"{file.resolve().as_uri()}?mode={'rwc' if write else 'ro'}"
                self.base = sqlite3.connect(uri, uri=True, isolation_level=None)
                self.base.row_factory = sqlite3.Row
                self._make() if write else self._validate_version(_KNOWN)
        except InstanceError:
            self._release()
            raise

    def _take_lock(self, lock: filelock.BaseFileLock) -> None:
        try:
            lock.acquire(blocking=False)
        except filelock.Timeout:
            raise InstanceError(
                str(self.folder), "", _BUSY, "wait, or use another folder"
            ) from None

    def _release(self) -> None:
        if hasattr(self, "base"):
            self.base.close()
        if self.lock:
            self.lock.release()

    def _validate_version(self, known: Sequence[int]) -> int:
        """Return the version of the tables, if it is one of those known."""
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
        return version

    def _make(self) -> None:
        version = self._validate_version((0, *_KNOWN))
        found = self.base.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise sqlite3.DatabaseError(found.partition("\n")[2] or found)
        columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
        self.base.execute("PRAGMA journal_mode = WAL")  # readers see whole rows at any time
        self.base.execute("PRAGMA synchronous = NORMAL")
        if version == 1:
            for old, new in _OLD.items():
                self.base.execute(f"ALTER TABLE runs RENAME COLUMN {old} TO {new}")
        self.base.execute(f"CREATE TABLE IF NOT EXISTS runs ({columns})")
        self.base.execute(
            "CREATE TABLE IF NOT EXISTS plan (position INTEGER PRIMARY KEY, key TEXT)"
        )
        self.base.execute("CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT)")
        self.base.execute(
            "CREATE VIEW IF NOT EXISTS results AS SELECT runs.* FROM plan JOIN runs USING (key)"
            " ORDER BY position"
        )
        self.base.execute(f"PRAGMA user_version = {VERSION}")

    def __enter__(self) -> Self:
        """Return the store; leaving the block closes it."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it, leaving one plain file."""
        if self.lock:
            with contextlib.suppress(sqlite3.Error):  # somebody is reading, or it is damaged
                self.base.execute("PRAGMA journal_mode = DELETE")
        self._release()

    @contextmanager
    def _clear_errors(self) -> Iterator[None]:
        """Turn SQLite's errors into one that says what is kept."""
        try:
            yield
        except sqlite3.OperationalError as error:  # no room, no permission, a lock
            remedy = "what had finished is kept: see to that, then add --resume"
            what = f"cannot be used ({error})"
            raise InstanceError(str(self.folder / FILE), "", what, remedy) from None
        except sqlite3.DatabaseError as error:
            what = f"is damaged ({' '.join(plain(str(error)).split())})"
            remedy = f"{self._salvage()}; run the suite again, in another folder"
            raise InstanceError(str(self.folder / FILE), "", what, remedy) from None

    def _salvage(self) -> str:
        """Write what can still be read of a damaged database; say what is kept."""
        found: dict[str, dict[str, Any]] = {}
        uri = f"{(self.folder / FILE).resolve().as_uri()}?mode=ro"
        for order in ("ASC", "DESC"):  # up to the damage, from both sides
            with (
                contextlib.suppress(sqlite3.Error, UnicodeError),
                contextlib.closing(sqlite3.connect(uri, uri=True)) as base,
            ):
                base.row_factory = sqlite3.Row
                for row in base.execute(f"SELECT * FROM runs ORDER BY rowid {order}"):
                    found.setdefault(str(row["key"]), _renamed(row))
        solutions = sum(1 for _ in self.folder.glob("solutions/*/*.sol.json.gz"))
        kept = [f"{solutions} solutions in {self.folder / 'solutions'}"]
        if found:
            columns = [c for c in COLUMNS if c != "record"]
            with contextlib.suppress(OSError):
                replace_file(self.folder / SALVAGED, rows_as_csv(found.values(), columns))
                kept.insert(0, f"{len(found)} rows in {self.folder / SALVAGED}")
        return f"kept are {' and '.join(kept)}"

    def plan(self, keys: Sequence[str], about: dict[str, str]) -> set[str]:
        """Say what is to be run; return the keys that need not be run again."""
        with self._clear_errors():
            with self.base:
                self.base.execute("BEGIN")
                self.base.execute("DELETE FROM plan")
                self.base.executemany("INSERT INTO plan VALUES (?, ?)", enumerate(keys))
                self.base.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", about.items())
            marks = ", ".join("?" * len(AGAIN))
            sql = f"SELECT key FROM results WHERE status NOT IN ({marks})"
            return {row["key"] for row in self.base.execute(sql, AGAIN)}

    def add(self, outcome: Outcome) -> None:
        """Keep a run: its solution, then its row, in place of an earlier one of the same key."""
        if outcome.solution is not None:
            file = self.solution_file(outcome.row["solution_sha256"])
            if not file.exists():
                replace_file(file, outcome.solution)
        names, marks = ", ".join(outcome.row), ", ".join("?" * len(outcome.row))
        sql = f"INSERT OR REPLACE INTO runs ({names}) VALUES ({marks})"
        with self._clear_errors():
            self.base.execute(sql, list(outcome.row.values()))

    def solution_file(self, sha256: str) -> Path:
        """Return where the solution with this digest is."""
        return self.folder / "solutions" / sha256[:2] / f"{sha256}.sol.json.gz"

    @property
    def planned(self) -> int:
        """Number of runs in the plan."""
        with self._clear_errors():
            return int(self.base.execute("SELECT COUNT(*) FROM plan").fetchone()[0])

    @property
    def about(self) -> dict[str, str]:
        """What is known of the sweep: its name, and the notes of its suite."""
        with self._clear_errors():
            return dict(tuple(row) for row in self.base.execute("SELECT name, value FROM about"))

    def rows(self) -> list[dict[str, Any]]:
        """Return the results so far, in the order of the plan.

        Different instances of the same name have the beginning of their digest added to it.
        """
        with self._clear_errors():
            return distinguish(
                [_renamed(row) for row in self.base.execute("SELECT * FROM results")]
            )

    def frame(self) -> pandas.DataFrame:
        """Return the results so far, without their records."""
        import pandas as pd

        return pd.DataFrame(self.rows(), columns=[c for c in COLUMNS if c != "record"])


def _renamed(row: sqlite3.Row) -> dict[str, Any]:
    """Return a row of any version with the names of this one."""
    return {_OLD.get(name, name): row[name] for name in row.keys()}  # noqa: SIM118
