"""The execution of one task: from a task to a row of the store."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import importlib
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from dlsched import api, registry
from dlsched.display.table import Failure, Row, run_columns
from dlsched.errors import describe, plain
from dlsched.results.result import Result
from dlsched.results.status import FAILED
from dlsched.schema.files import json_text
from dlsched.schema.quantities import to_json
from dlsched.sweeps import instance_spec
from dlsched.sweeps.code_identity import Code, code_of
from dlsched.sweeps.instance_spec import InstanceSpec
from dlsched.sweeps.machine import machine, versions
from dlsched.sweeps.simulations import run_simulation
from dlsched.sweeps.task import Task
from dlsched.sweeps.workload_spec import WorkloadSpec
from dlsched.variants import VariantProblem

MOST_RECORD = 64 * 2**20
"""The longest record that is stored, in characters; a longer one loses points of the trajectory."""
MOST_POINTS = 1000
"""Points of the trajectory that are then stored."""
_RESET_PEAK = "5"
_TEXTS = ("reason", "solver_message", "solver", "solver_version")


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run.

    Attributes
    ----------
    row
        The row of the store, by column.
    solution
        The solution's file, gzipped, or a simulation's log; ``None`` without a solution.
    resident_bytes
        Resident memory of the worker process after the run.
    unclean
        Whether the run has left processes or threads.
    code
        Identity of the code that made the run; see `dlsched.sweeps.code_identity`.
    """

    row: Row
    solution: bytes | None = field(default=None, repr=False)
    resident_bytes: int = 0
    unclean: bool = False
    code: Code = field(default_factory=dict, repr=False)


def now() -> str:
    """Return the current time (UTC) in ISO format."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def blank_row(task: Task, status: str, reason: str, started: str) -> Row:
    """Return the row of a run without a result."""
    variant = task.instance.variant if isinstance(task.instance, InstanceSpec) else None
    return {
        "key": task.key,
        "variant": variant and variant.name,
        "variant_sha256": variant and variant.sha256,
        "instance": task.instance.name,
        "instance_sha256": task.instance.sha256,
        "problem": task.instance.problem,
        "source": task.instance.source,
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
    """Execute a task and return its outcome; exceptions become a row.

    Parameters
    ----------
    task
        The task.
    begin
        Called when the instance is made and loops are compiled: time limits start here.
    """
    import psutil

    columns = blank_row(task, "error", "", now())
    began = time.perf_counter()
    _reset_peak()
    solution = None
    try:
        solution = _run(task, columns, begin)
    except instance_spec.Changed as error:
        columns |= {"status": "changed", "reason": plain(str(error))}
    except MemoryError as error:
        columns |= {"status": "memory", "reason": describe(error)}
    except Exception as error:  # a generator or a method may raise anything
        columns["reason"] = describe(error)
    if columns["status"] in FAILED:
        instance_spec.forget()
    columns["run_seconds"] = time.perf_counter() - began
    columns["peak_memory_bytes"] = _peak_bytes()
    return Outcome(columns, solution, psutil.Process().memory_info().rss)


def set_up(task: Task) -> Code:
    """Prepare this process for a task; return the identity of the code that it has.

    The modules that the task names are imported if their code is the planned one. Whatever this
    raises is a failure of the process's surroundings, since the sweep was planned with them.
    """
    if task.folder not in sys.path:
        sys.path.insert(0, task.folder)
    problem, solver = task.instance.problem, task.limits.solver
    code = code_of(problem, task.method, task.options, task.folder, solver)
    if code != task.code:
        return code
    if ":" in task.method:
        importlib.import_module(task.method.partition(":")[0])
    elif isinstance(task.instance, InstanceSpec) and task.instance.variant is None:
        registry.problem(problem).method(task.method)
    return code


def _run(task: Task, columns: Row, begin: Callable[[], None]) -> bytes | None:
    if isinstance(task.instance, WorkloadSpec):
        return run_simulation(task, task.instance, columns, begin)
    owner = task.instance.owner
    instance = task.instance.make()
    columns["instance_sha256"] = instance.sha256
    columns["size"] = len(getattr(instance, owner.size))
    method = owner.resolve(task.method, instance)
    method.load()
    begin()
    limits = task.limits.for_solve()
    changed = owner if isinstance(owner, VariantProblem) else None
    again = method if changed is None else task.method
    answer = api.attempt(instance, again, variant=changed, seed=task.seed, **limits, **task.options)
    if isinstance(answer, Failure):
        columns |= {"status": answer.status, "reason": plain(answer.reason)}
        columns["resolved_method"] = answer.resolved_method
        return None
    return _fill(columns, answer)


def _fill(columns: Row, result: Result) -> bytes | None:
    """Add a result's columns to the row; return its solution's file, gzipped."""
    record = result.to_data()
    for name in _TEXTS:  # methods write these, at any length
        record[name] = record[name] and plain(record[name])
    content = None
    if result.solution is not None:
        text = json_text(record.pop("solution")).encode()
        content = gzip.compress(text, compresslevel=6, mtime=0)
        columns["solution_sha256"] = hashlib.sha256(text).hexdigest()
    values, bounds = result.objective, result.bound.map(lambda b: b and to_json(b.value))
    columns |= run_columns(result) | {
        "objective": None if values is None else json.dumps(values.map(to_json).as_dict()),
        "bound": json.dumps(bounds.as_dict()),
        "record": _record_text(record),
    }
    return content


def _record_text(record: Row) -> str:
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
    import psutil

    with contextlib.suppress(OSError), open("/proc/self/status") as file:
        for line in file:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    try:
        resource = importlib.import_module("resource")
    except ImportError:  # Windows
        memory = psutil.Process().memory_info()
        return int(getattr(memory, "peak_wset", memory.rss))
    peak: int = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
