"""Where a sweep's rows live: a SQLite file, and the solutions beside it.

``results.sqlite`` has two tables. ``runs`` has a row for every run ever made in the folder, by its
key (the digest of all that it depends on). ``plan`` lists the keys of the sweep at hand, in order;
the view ``results`` is the runs of the plan. ``solutions/`` has each solution once, under its
digest; a row is written after its solution, and each row is one transaction.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import filelock

from dlsched.bench.execution import Outcome
from dlsched.errors import InstanceError
from dlsched.files import replace_file

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
    "solved_by": "TEXT",
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
"""The columns of ``runs``. ``total_seconds`` is build, solve and check, and what is between them;
``run_seconds`` has the making of the instance too. ``record`` is the result as JSON, without its
solution: the trajectory, certified bounds, digits that a double cannot carry."""

FAILED = ("error", "rejected", "overrun", "memory", "crashed", "killed")
"""The statuses of runs that returned no result."""
AGAIN = ("killed",)
"""Those whose cause lies outside the run: ``--resume`` makes them again."""
FILE = "results.sqlite"
VERSION = 1
"""Of the tables."""
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
        If there are no results to read, or another sweep is writing to the folder.
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
        uri = f"{file.resolve().as_uri()}?mode={'rwc' if write else 'ro'}"
        self.base = sqlite3.connect(uri, uri=True, isolation_level=None)
        self.base.row_factory = sqlite3.Row
        self._make() if write else self._refuse_strange(file)

    def _take_lock(self, lock: filelock.BaseFileLock) -> None:
        try:
            lock.acquire(blocking=False)
        except filelock.Timeout:
            raise InstanceError(
                str(self.folder), "", _BUSY, "wait, or use another folder"
            ) from None

    def _refuse_strange(self, file: Path) -> None:
        try:
            version = self.base.execute("PRAGMA user_version").fetchone()[0]
        except sqlite3.DatabaseError:
            version = None
        if version != VERSION:
            self.base.close()
            what = "is not what this version of dlsched writes"
            raise InstanceError(str(file), "", what, "run the suite again, in another folder")

    def _make(self) -> None:
        version = self.base.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, VERSION):
            self._refuse_strange(self.folder / FILE)
        columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
        self.base.execute("PRAGMA journal_mode = WAL")  # readers see whole rows at any time
        self.base.execute("PRAGMA synchronous = NORMAL")
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
            with contextlib.suppress(sqlite3.OperationalError):  # somebody is reading
                self.base.execute("PRAGMA journal_mode = DELETE")
        self.base.close()
        if self.lock:
            self.lock.release()

    def plan(self, keys: Sequence[str], about: dict[str, str]) -> set[str]:
        """Say what is to be run; return the keys that need not be run again."""
        with self.base:
            self.base.execute("BEGIN")
            self.base.execute("DELETE FROM plan")
            self.base.executemany("INSERT INTO plan VALUES (?, ?)", enumerate(keys))
            self.base.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", about.items())
        marks = ", ".join("?" * len(AGAIN))
        done = self.base.execute(f"SELECT key FROM results WHERE status NOT IN ({marks})", AGAIN)
        return {row["key"] for row in done}

    def add(self, outcome: Outcome) -> None:
        """Keep a run: its solution, then its row, in place of an earlier one of the same key."""
        if outcome.solution is not None:
            file = self.solution_file(outcome.row["solution_sha256"])
            if not file.exists():
                replace_file(file, outcome.solution)
        names, marks = ", ".join(outcome.row), ", ".join("?" * len(outcome.row))
        sql = f"INSERT OR REPLACE INTO runs ({names}) VALUES ({marks})"
        self.base.execute(sql, list(outcome.row.values()))

    def solution_file(self, sha256: str) -> Path:
        """Return where the solution with this digest is."""
        return self.folder / "solutions" / sha256[:2] / f"{sha256}.sol.json.gz"

    @property
    def planned(self) -> int:
        """Number of runs in the plan."""
        return int(self.base.execute("SELECT COUNT(*) FROM plan").fetchone()[0])

    @property
    def about(self) -> dict[str, str]:
        """What is known of the sweep: its name, and the notes of its suite."""
        return dict(tuple(row) for row in self.base.execute("SELECT name, value FROM about"))

    def rows(self) -> list[dict[str, Any]]:
        """Return the results so far, in the order of the plan."""
        return [dict(row) for row in self.base.execute("SELECT * FROM results")]

    def frame(self) -> pandas.DataFrame:
        """Return the results so far, without their records."""
        import pandas as pd

        return pd.DataFrame(self.rows(), columns=[c for c in COLUMNS if c != "record"])
