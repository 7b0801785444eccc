"""One run, from a task to a row of the store."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import resource
import sys
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import psutil

from dlsched import api
from dlsched import problem as catalogue
from dlsched.bench.machine import machine, versions
from dlsched.bench.methods import find_method
from dlsched.bench.task import Task
from dlsched.files import spell
from dlsched.records import result_to_data
from dlsched.result import Result
from dlsched.table import Failure, row

_RESET_PEAK = "5"


@dataclass(frozen=True)
class Outcome:
    """A row of the store, by column, the solution's file, gzipped, and what the worker holds."""

    row: dict[str, Any]
    solution: bytes | None = field(default=None, repr=False)
    resident_bytes: int = 0


def now() -> str:
    """Return the moment, as a row states it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def blank_row(task: Task, status: str, reason: str, started: str) -> dict[str, Any]:
    """Return the row of a run of which nothing else is known."""
    return {
        "key": task.key,
        "instance": task.case.name,
        "problem": task.case.problem,
        "source": task.case.source,
        "method": task.method,
        "options": json.dumps(dict(task.options), sort_keys=True, default=str),
        "seed": task.seed,
        "repetition": task.repetition,
        "status": status,
        "reason": reason,
        "versions": json.dumps(versions()),
        "machine": machine(),
        "started": started,
    }


def execute(task: Task) -> Outcome:
    """Make one run and return its row, whatever happens in it."""
    flat = blank_row(task, "error", "", now())
    began = time.perf_counter()
    _reset_peak()
    solution = None
    try:
        solution = _run(task, flat)
    except MemoryError as error:
        flat |= {"status": "memory", "reason": f"MemoryError: {error}"}
    except Exception as error:  # an instance or a method may raise anything; the row says what
        flat["reason"] = f"{type(error).__name__}: {error}"
    flat["run_seconds"] = time.perf_counter() - began
    flat["peak_memory_bytes"] = _peak_bytes()
    return Outcome(flat, solution, psutil.Process().memory_info().rss)


def _run(task: Task, flat: dict[str, Any]) -> bytes | None:
    if task.folder not in sys.path:
        sys.path.insert(0, task.folder)
    owner = catalogue.problem(task.case.problem)
    instance = task.case.make()
    flat["instance_sha256"] = instance.sha256
    flat["size"] = len(getattr(instance, owner.size))
    method = find_method(task.case.problem, task.method)
    limits = task.limits.for_solve()
    answer = api.attempt(instance, method, seed=task.seed, **limits, **task.options)
    if isinstance(answer, Failure):
        flat |= {"status": answer.status, "reason": answer.reason}
        return None
    return _fill(flat, answer)


def _fill(flat: dict[str, Any], result: Result) -> bytes | None:
    """Put what a result says into the row; return its solution."""
    said, record = row(result), result_to_data(result)
    content = None
    if result.solution is not None:
        text = spell(record.pop("solution")).encode()
        content = gzip.compress(text, compresslevel=6, mtime=0)
        flat["solution_sha256"] = hashlib.sha256(text).hexdigest()
    levels = [level.name for level in result.bound.levels]
    values = {name: said[name] for name in levels}
    bounds = {name: said[f"{name}_bound"] for name in levels}
    flat |= {
        "solved_by": result.method,
        "kind": str(result.kind),
        "status": str(result.status),
        "reason": result.reason,
        "objective": json.dumps(values) if result.objective is not None else None,
        "bound": json.dumps(bounds),
        "bound_kind": said["bound_kind"],
        "gap": said["gap"],
        "gap_level": said["gap_level"],
        "build_seconds": result.seconds.build,
        "solve_seconds": result.seconds.solve,
        "check_seconds": result.seconds.check,
        "total_seconds": result.seconds.total,
        "record": json.dumps(record, allow_nan=False, default=str),
    }
    return content


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
