"""One run, from a task to a row of the store."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import psutil

from dlsched import api, registry
from dlsched.bench import case
from dlsched.bench.machine import machine, versions
from dlsched.bench.methods import find_method
from dlsched.bench.task import Task
from dlsched.errors import describe, plain
from dlsched.files import spell
from dlsched.result import Result
from dlsched.table import Failure, row

MOST_RECORD = 64 * 2**20
"""The longest record that is kept, in characters; of a longer one the trajectory is thinned out."""
MOST_POINTS = 1000
"""What is then kept of the trajectory."""
_RESET_PEAK = "5"
_TEXTS = ("reason", "solver_message", "solver", "solver_version")


FAILED = ("error", "rejected", "overrun", "memory", "crashed", "killed", "changed")
"""The statuses of runs that returned no result."""


@dataclass(frozen=True)
class Outcome:
    """A row of the store, by column, the solution's file, gzipped, and the worker's condition.

    Attributes
    ----------
    resident_bytes
        What the worker holds after the run.
    unclean
        Whether the run has left processes or threads behind.
    """

    row: dict[str, Any]
    solution: bytes | None = field(default=None, repr=False)
    resident_bytes: int = 0
    unclean: bool = False


def now() -> str:
    """Return the moment, as a row states it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def blank_row(task: Task, status: str, reason: str, started: str) -> dict[str, Any]:
    """Return the row of a run of which nothing else is known."""
    return {
        "key": task.key,
        "instance": task.case.name,
        "instance_sha256": task.case.sha256,
        "problem": task.case.problem,
        "source": task.case.source,
        "method": task.method,
        "options": json.dumps(dict(task.options), sort_keys=True, default=str),
        "seed": task.seed,
        "repetition": task.repetition,
        "status": status,
        "reason": plain(reason),
        "versions": json.dumps(versions()),
        "machine": machine(),
        "started": started,
    }


def execute(task: Task, begin: Callable[[], None] = lambda: None) -> Outcome:
    """Make one run and return its row, whatever happens in it.

    Parameters
    ----------
    task
        The run.
    begin
        Called when the instance is made and loops are compiled: limits count from here.
    """
    flat = blank_row(task, "error", "", now())
    began = time.perf_counter()
    _reset_peak()
    solution = None
    try:
        solution = _run(task, flat, begin)
    except case.Changed as error:
        flat |= {"status": "changed", "reason": plain(str(error))}
    except MemoryError as error:
        flat |= {"status": "memory", "reason": describe(error)}
    except Exception as error:  # an instance or a method may raise anything; the row says what
        flat["reason"] = describe(error)
    if flat["status"] in FAILED:
        case.forget()
    flat["run_seconds"] = time.perf_counter() - began
    flat["peak_memory_bytes"] = _peak_bytes()
    return Outcome(flat, solution, psutil.Process().memory_info().rss)


def _run(task: Task, flat: dict[str, Any], begin: Callable[[], None]) -> bytes | None:
    if task.folder not in sys.path:
        sys.path.insert(0, task.folder)
    owner = registry.problem(task.case.problem)
    instance = task.case.make()
    flat["instance_sha256"] = instance.sha256
    flat["size"] = len(getattr(instance, owner.size))
    method = find_method(task.case.problem, task.method)
    if isinstance(method, str):
        owner.method(method, instance).prepare(owner.package)
    begin()
    limits = task.limits.for_solve()
    answer = api.attempt(instance, method, seed=task.seed, **limits, **task.options)
    if isinstance(answer, Failure):
        flat |= {"status": answer.status, "reason": plain(answer.reason)}
        flat["resolved_method"] = answer.resolved_method
        return None
    return _fill(flat, answer)


def _fill(flat: dict[str, Any], result: Result) -> bytes | None:
    """Put what a result says into the row; return its solution."""
    said, record = row(result), result.to_data()
    for name in _TEXTS:  # methods write these, at any length
        record[name] = record[name] and plain(record[name])
    content = None
    if result.solution is not None:
        text = spell(record.pop("solution")).encode()
        content = gzip.compress(text, compresslevel=6, mtime=0)
        flat["solution_sha256"] = hashlib.sha256(text).hexdigest()
    levels = [level.name for level in result.bound.levels]
    values = {name: said[name] for name in levels}
    bounds = {name: said[f"{name}_bound"] for name in levels}
    flat |= {
        "resolved_method": result.method,
        "kind": str(result.kind),
        "status": str(result.status),
        "reason": plain(result.reason),
        "objective": json.dumps(values) if result.objective is not None else None,
        "bound": json.dumps(bounds),
        "bound_kind": said["bound_kind"],
        "gap": said["gap"],
        "gap_level": said["gap_level"],
        "build_seconds": result.seconds.build,
        "solve_seconds": result.seconds.solve,
        "check_seconds": result.seconds.check,
        "total_seconds": result.seconds.total,
        "record": _record_text(record),
    }
    return content


def _record_text(record: dict[str, Any]) -> str:
    text = json.dumps(record, allow_nan=False, default=str)
    if len(text) > MOST_RECORD:
        points = record["trajectory"]
        record["trajectory"] = points[:: -(-len(points) // MOST_POINTS) or 1]
        text = json.dumps(record, allow_nan=False, default=str)
    return text


def _reset_peak() -> None:
    """Begin a new peak of resident memory, where the system can."""
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as file:
        file.write(_RESET_PEAK)


def _peak_bytes() -> int:
    with contextlib.suppress(OSError), open("/proc/self/status") as file:
        for line in file:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
