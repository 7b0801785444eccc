"""A plan: the tasks of a sweep and the user's modules, frozen in a folder.

``DIR/plan`` has three parts: ``tasks.sqlite`` with the tasks in chunks of about a minute,
``code/`` with a copy of the user's own modules that they name, which every worker imports, and
``plan.json`` for readers. Nothing writes there again, so that any number of processes, on any
file system, can read it at once.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import pickle
import secrets
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dlsched.errors import InstanceError, describe
from dlsched.execution.sources import MODULE, own_files
from dlsched.schema.files import make_folder
from dlsched.sweeps.code_identity import LIBRARY, Code, differences, users_modules
from dlsched.sweeps.execution import now
from dlsched.sweeps.machine import versions
from dlsched.sweeps.suite import Suite, read_suite
from dlsched.sweeps.task import Task

FOLDER = "plan"
VERSION = 1
CHUNK_SECONDS = 60.0
"""What the runs of a chunk take at most, by their time limits."""
UNLIMITED_SECONDS = 1.0
"""What a run counts for that has no time limit: most of these are heuristics."""
MOST_OF_CHUNK = 0.001
"""A chunk has at most this share of the runs, so that hundreds of shards get equal parts."""
_TABLES = (
    "about (name TEXT PRIMARY KEY, value TEXT)",
    "chunks (number INTEGER PRIMARY KEY, rank TEXT, content BLOB)",
    "tasks (position INTEGER PRIMARY KEY, key TEXT UNIQUE, chunk INTEGER)",
)


class Plan:
    """A plan that was written; it is only read.

    Parameters
    ----------
    folder
        The sweep's folder.

    Raises
    ------
    InstanceError
        If there is no plan, or it is of another version. Every method raises it if the plan is
        damaged.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.file = file = self.folder / FOLDER / "tasks.sqlite"
        if not file.is_file():
            remedy = "write one: dlsched bench SUITE -o DIR --plan"
            raise InstanceError(str(self.folder), "", "has no plan", remedy)
        uri = f"{file.resolve().as_uri()}?mode=ro&immutable=1"  # without locks
        with self._clear_errors():
            self.base = sqlite3.connect(uri, uri=True)
        self.about = dict(self._rows("SELECT name, value FROM about"))
        if self.about.get("version") != str(VERSION):
            remedy = "use the version that wrote it, or plan again in another folder"
            raise InstanceError(str(file), "", "is a plan of another version", remedy)

    @contextlib.contextmanager
    def _clear_errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.DatabaseError, UnicodeError) as error:
            raise self._damaged(str(error)) from None

    def _damaged(self, how: str) -> InstanceError:
        remedy = "plan the suite again, in another folder; what shards have made is kept"
        return InstanceError(str(self.file), "", f"is damaged ({how})", remedy)

    def _rows(self, sql: str, *values: Any) -> list[Any]:
        with self._clear_errors():
            return self.base.execute(sql, values).fetchall()

    @property
    def code(self) -> Path:
        """The folder with the user's modules."""
        return (self.folder / FOLDER / "code").resolve()

    @property
    def keys(self) -> list[str]:
        """The keys of all runs, in order."""
        sql = "SELECT key FROM tasks ORDER BY position"
        return [key for (key,) in self._rows(sql)]

    def shard_of(self, n: int) -> dict[str, int]:
        """Return the shard, of `n`, of each key, in order of the plan.

        The chunks are dealt out in the order of a digest of their first key: shards differ by at
        most one chunk, and neighbouring chunks, which may be alike, are far apart.
        """
        ranked = self._rows("SELECT number FROM chunks ORDER BY rank, number")
        shard = {number: position % n for position, (number,) in enumerate(ranked)}
        rows = self._rows("SELECT key, chunk FROM tasks ORDER BY position")
        return {key: shard[chunk] for key, chunk in rows}

    def tasks(self, k: int = 0, n: int = 1) -> Iterator[Task]:
        """Yield the tasks of a shard in order, with the folder of the frozen modules.

        Raises
        ------
        InstanceError
            If this process has another version of dlsched than the plan.
        """
        self._validate_versions()
        ranked = self._rows("SELECT number FROM chunks ORDER BY rank, number")
        mine = sorted(number for (number,) in ranked[k::n])
        for number in mine:
            for task in self._chunk(number):
                yield replace(task, folder=str(self.code))

    def _chunk(self, number: int) -> list[Task]:
        """Return the tasks of a chunk, whose keys are computed anew and compared."""
        ((content,),) = self._rows("SELECT content FROM chunks WHERE number = ?", number)
        keys = self._rows("SELECT key FROM tasks WHERE chunk = ? ORDER BY position", number)
        try:
            tasks: list[Task] = pickle.loads(content)
            same = [(task.key,) for task in tasks] == keys
        except Exception as error:  # damaged pickles raise anything
            raise self._damaged(describe(error)) from None
        if not same:
            raise self._damaged(f"the runs of chunk {number} are others")
        return tasks

    def _validate_versions(self) -> None:
        found = differences(json.loads(self.about["versions"]), versions())
        if found:
            remedy = "use the environment that planned it, or plan again in another folder"
            raise InstanceError(str(self.folder), "", f"is a plan for others: {found}", remedy)


def write_plan(suite: Suite | str | Path, folder: str | Path) -> Plan:
    """Plan a sweep, and freeze the plan with the user's modules in ``folder/plan``.

    Parameters
    ----------
    suite
        A suite, or its file.
    folder
        The sweep's folder; it is created.

    Raises
    ------
    InstanceError
        If the suite cannot be used, the folder has a plan already or cannot be written, a module
        changes while it is copied, or another process plans another suite there meanwhile.
    """
    place = Path(folder) / FOLDER
    if place.exists():
        remedy = "continue it with --planned, or choose another folder"
        raise InstanceError(str(folder), "", "has a plan", remedy)
    chosen = suite if isinstance(suite, Suite) else read_suite(suite)
    tasks = chosen.tasks()
    draft = Path(folder) / f".plan-{secrets.token_hex(8)}"
    try:
        make_folder(Path(folder))
        (draft / "code").mkdir(parents=True)
        _copy_modules(tasks, draft / "code")
        about = _about(chosen, tasks)
        _write_tasks(draft / "tasks.sqlite", tasks, about)
        summary = {name: _data(value) for name, value in about.items()}
        (draft / "plan.json").write_text(json.dumps(summary, indent=2) + "\n")
        try:
            os.rename(draft, place)
        except OSError:
            if not place.exists():
                raise  # else another process was first; its plan counts
    except OSError as error:
        what = f"cannot be written ({(error.strerror or str(error)).lower()})"
        raise InstanceError(str(folder), "", what, "remove the cause, then plan again") from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    plan = Plan(folder)
    if plan.keys != [task.key for task in tasks]:
        raise others(folder)
    return plan


def others(folder: str | Path) -> InstanceError:
    """Return the error of a folder that has the plan of another suite."""
    remedy = "continue it with --planned, or choose another folder"
    return InstanceError(str(folder), "", "has a plan of other runs", remedy)


def _data(value: str) -> object:
    try:
        return json.loads(value)
    except ValueError:
        return value


def _about(suite: Suite, tasks: Sequence[Task]) -> dict[str, str]:
    """Return what the plan says of itself: texts, and JSON."""
    libraries = {task.instance.problem: task.code[LIBRARY] for task in tasks}
    modules: dict[str, str] = {}
    for code in _distinct_codes(tasks):
        modules |= {name: digest for name, digest in code.items() if name.startswith(MODULE)}
    return {
        "version": str(VERSION),
        "suite": suite.name,
        "notes": suite.notes or "",
        "runs": str(len(tasks)),
        "threads": str(max((task.limits.threads for task in tasks), default=1)),
        "planned": now(),
        "versions": json.dumps(versions()),
        "library": json.dumps(libraries),
        "modules": json.dumps(modules),
    }


def _distinct_codes(tasks: Sequence[Task]) -> list[Code]:
    """Return the codes of tasks, each once; equal ones of a plan are mostly the same object."""
    return list({id(task.code): task.code for task in tasks}.values())


def _copy_modules(tasks: Sequence[Task], target: Path) -> None:
    """Copy the user's modules that tasks name, with all that these import."""
    copied: dict[str, Path] = {}
    # A task's code has an entry for each module; those without any have nothing to copy.
    own = {id(c): any(name.startswith(MODULE) for name in c) for c in _distinct_codes(tasks)}
    for task in tasks:
        if not own[id(task.code)]:
            continue
        for module in users_modules(task.instance.problem, task.method, task.options):
            for name, path in own_files(module, task.folder).items():
                if name not in copied:
                    copied[name] = path
                    _copy(name, path, target, task.code)


def _copy(name: str, path: Path, target: Path, code: Code) -> None:
    parts = name.split(".")
    if path.stem == "__init__":
        parts.append("__init__")
    ending = path.name[path.name.index(".") :]  # of an extension module all of it
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != code[f"{MODULE}{name}"]:
        raise InstanceError(str(path), "", "changed while it was planned", "plan again")
    file = target.joinpath(*parts[:-1], parts[-1] + ending)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)


def _write_tasks(file: Path, tasks: Sequence[Task], about: dict[str, str]) -> None:
    with contextlib.closing(sqlite3.connect(file)) as base, base:
        for table in _TABLES:
            base.execute(f"CREATE TABLE {table}")
        base.executemany("INSERT INTO about VALUES (?, ?)", about.items())
        position = itertools.count()
        for number, chunk in enumerate(_chunks(tasks)):
            rank = hashlib.sha256(chunk[0].key.encode()).hexdigest()
            rows = [(next(position), task.key, number) for task in chunk]
            base.executemany("INSERT INTO tasks VALUES (?, ?, ?)", rows)
            base.execute("INSERT INTO chunks VALUES (?, ?, ?)", (number, rank, _pickled(chunk)))


def _pickled(chunk: Sequence[Task]) -> bytes:
    """Return tasks as bytes; what they share is there once."""
    return pickle.dumps([replace(task, folder="") for task in chunk])


def _chunks(tasks: Sequence[Task]) -> Iterator[list[Task]]:
    """Yield neighbouring tasks that take about a minute, so that they share their instances."""
    most = max(1, int(len(tasks) * MOST_OF_CHUNK))
    chunk: list[Task] = []
    seconds = 0.0
    for task in tasks:
        limit = task.limits.time_limit or UNLIMITED_SECONDS
        if chunk and (seconds + limit > CHUNK_SECONDS or len(chunk) == most):
            yield chunk
            chunk, seconds = [], 0.0
        chunk.append(task)
        seconds += limit
    if chunk:
        yield chunk
