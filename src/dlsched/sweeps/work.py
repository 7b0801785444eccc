"""What a worker does: it makes a run in a process of its own, with limits; and its row."""

import contextlib
import gzip
import hashlib
import importlib
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

from dlsched import registry
from dlsched.api.comparing import attempt
from dlsched.display.table import Failure, Row, run_columns
from dlsched.errors import describe, plain
from dlsched.execution import guard
from dlsched.execution.executors import DASK_WORKER
from dlsched.extras import require
from dlsched.registry import names
from dlsched.registry.layout import method_modules
from dlsched.results.result import Result
from dlsched.schema.files import json_text
from dlsched.schema.quantities import to_json
from dlsched.simulation.policies import find_policy
from dlsched.sweeps import specs
from dlsched.sweeps.simulations import run_simulation
from dlsched.sweeps.specs import BOUND, SIMULATION, InstanceSpec, WorkloadSpec
from dlsched.sweeps.task import Task, differences, machine, versions
from dlsched.variants import VariantProblem

SHARE = 0.9
"""What runs may take of the memory; the rest is for the system and the workers themselves."""
_GROUPS = (names.METHODS_GROUP, names.PROBLEMS_GROUP)
GROUPS, ROOT = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
_OF_SIMULATIONS = ("pandas", "scipy.optimize")
"""What reads traces and computes bounds: a process takes ten times a small simulation to import."""
_TEXTS = ("reason", "solver_message", "solver", "solver_version")
_GIB, _MIB = 2**30, 2**20


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run: the row of the store, and the solution's file or a simulation's log."""

    row: Row
    solution: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Refused:
    """A run that a worker cannot make as it was planned, as it has other code: who, and why."""

    worker: str
    reason: str


@dataclass(frozen=True)
class Job:
    """What all runs of a sweep have in common.

    Attributes
    ----------
    engine
        What makes them, for the rows.
    modules
        What they import.
    sharing
        Runs at a time that share the memory of this machine; None if only the worker knows.
    stop, on_stage
        For workers of this process: ends current runs; gets a thread and which run it makes.
    """

    engine: str
    modules: tuple[str, ...]
    sharing: int | None = None
    stop: threading.Event | None = None
    on_stage: Callable[[object, str | None], None] | None = None

    def make(self, task: Task) -> Outcome | Refused:
        """Make a run in a process of its own; refuse it if the code is not the planned one."""
        if (found := task.code_here(age=1)) != task.code:
            return Refused(_worker(), f"it has other code: {differences(task.code, found)}")
        started, thread = now(), threading.get_ident()
        if self.on_stage is not None:
            self.on_stage(thread, f"{task.instance.name} {task.method}")
        stated = task.limits.memory_limit_gib
        try:
            guard.start_server(*self.modules)
            ended = guard.guarded(
                *(execute, task, {group: tuple(names.entries(group)) for group in _GROUPS}),
                wall=task.limits.wall_limit,
                memory=memory_share(self.sharing) if stated is None else int(stated * _GIB),
                stop=self.stop,
            )
        except OSError as error:
            return Refused(_worker(), f"no process can be started: {describe(error)}")
        if self.on_stage is not None:
            self.on_stage(thread, None)
        outcome = self._outcome(task, ended, started)
        if isinstance(outcome, Outcome) and (found := task.code_here()) != task.code:
            return Refused(_worker(), f"it has other code: {differences(task.code, found)}")
        return outcome

    def _outcome(self, task: Task, ended: guard.Ended, started: str) -> Outcome | Refused:
        if ended.status == "done" and isinstance(ended.value, str):
            return Refused(_worker(), ended.value)
        if ended.status == "done":
            made: Outcome = ended.value
        else:
            status, reason = ended.status, ended.reason
            if status == "raised":
                status, reason = "crashed", describe(ended.value)
            elif status == "stopped":
                status = "killed"
            elif status == "memory" and task.limits.memory_limit_gib is None:
                where = "this machine's share for a run; its suite states no memory_limit_gib"
                status, reason = "killed", f"{reason}, {where}"
            made = Outcome(blank_row(task, status, reason, started))
            made.row["peak_memory_bytes"] = ended.peak
        made.row.update(versions=json.dumps(versions()), machine=machine())
        made.row.update(engine=self.engine, node=node())
        return made


def modules_of(tasks: Sequence[Task]) -> tuple[str, ...]:
    """Return what these tasks import, but for the user's modules: processes have it when forked."""
    modules = dict.fromkeys(("dlsched.sweeps.work", "highspy"))
    for problem, name in {(task.instance.problem, task.method) for task in tasks}:
        with contextlib.suppress(Exception):  # the run fails with it
            for module in _needed(problem, name):
                modules[module] = None
    return (*modules, "dlsched.sweeps.forked")


def _needed(problem: str, name: str) -> Iterator[str]:
    if problem == SIMULATION:
        yield from _OF_SIMULATIONS
        if name != BOUND and ":" not in name:
            yield find_policy(name).__module__
    elif ":" not in name:
        owner = registry.problem(problem)
        method = owner.resolve(name)
        yield from (owner.package, *method_modules(owner.package), method.home, *method.preload)
        yield owner.module("generate").__name__


def now() -> str:
    """Return the current time (UTC) in ISO format."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def node() -> str:
    """Return the name of this machine."""
    return socket.gethostname().partition(".")[0]


def _worker() -> str:
    """Return what a message calls this worker."""
    dask = _dask_worker()
    return f"{DASK_WORKER} {dask.address}" if dask else f"process {os.getpid()} of {node()}"


def _dask_worker() -> Any:
    """Return the Dask worker that this thread belongs to, if it does to any."""
    with contextlib.suppress(ImportError, AttributeError, ValueError):
        return sys.modules["distributed"].get_worker() if "distributed" in sys.modules else None
    return None


def blank_row(task: Task, status: str | None, reason: str, started: str) -> Row:
    """Return the row of a run without a result."""
    variant = task.instance.variant if isinstance(task.instance, InstanceSpec) else None
    return {
        "key": task.key,
        "variant": variant and variant.name,
        "variant_sha256": variant and variant.sha256,
        "instance": task.instance.name,
        "instance_sha256": task.instance.sha256,
        "problem": task.instance.problem,
        "source": plain(task.instance.source),
        "method": task.method,
        "options": json.dumps(dict(task.options), sort_keys=True, default=str),
        "seed": task.seed,
        "repetition": task.repetition,
        "status": status,
        "reason": plain(reason),
        "started": started,
    }


def execute(task: Task, entries: Mapping[str, Iterable[EntryPoint]]) -> Outcome | str:
    """Execute a task in this process; exceptions become a row.

    Return why it cannot be prepared, if so: the sweep was planned with what it needs. `entries` are
    the entry points of installed packages, which are the same for all runs.
    """
    names.known_entries.update(entries)
    sys.path[:0] = [task.folder, os.getcwd()]
    try:
        if ":" in task.method:
            importlib.import_module(task.method.partition(":")[0])
        elif isinstance(task.instance, InstanceSpec) and task.instance.variant is None:
            registry.problem(task.instance.problem).method(task.method)
    except (Exception, SystemExit) as error:  # importing runs the user's code
        return f"it cannot be prepared: {describe(error)}"
    columns = blank_row(task, "error", "", now())
    began = time.perf_counter()
    _reset_peak()
    solution = None
    try:
        solution = _run(task, columns)
    except specs.Changed as error:
        columns |= {"status": "changed", "reason": plain(str(error))}
    except MemoryError as error:
        columns |= {"status": "memory", "reason": describe(error)}
    except Exception as error:  # a generator or a method may raise anything
        columns["reason"] = describe(error)
    columns["run_seconds"] = time.perf_counter() - began
    columns["peak_memory_bytes"] = _peak_bytes()
    return Outcome(columns, solution)


def _run(task: Task, columns: Row) -> bytes | None:
    if isinstance(task.instance, WorkloadSpec):
        return run_simulation(task, task.instance, columns, guard.begin)
    owner = task.instance.owner
    instance = task.instance.make()
    columns["instance_sha256"] = instance.sha256
    columns["size"] = len(getattr(instance, owner.size))
    method = owner.resolve(task.method, instance)
    method.load()
    guard.begin()
    limits = task.limits.for_solve()
    changed = owner if isinstance(owner, VariantProblem) else None
    again = method if changed is None else task.method
    answer = attempt(instance, again, variant=changed, seed=task.seed, **limits, **task.options)
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
        "record": json.dumps(record, allow_nan=False, default=str),
    }
    return content


def _reset_peak() -> None:
    """Begin a new peak of resident memory, where the system can."""
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def _peak_bytes() -> int:
    with contextlib.suppress(OSError), open("/proc/self/status") as file:
        for line in file:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    memory = require("psutil", "dlsched bench").Process().memory_info()
    return int(getattr(memory, "peak_wset", memory.rss))


def memory_share(sharing: int | None) -> int:
    """Return the bytes that a run may take if its suite states no limit.

    It is 90 % of the least of: the machine's memory, that of each control group (cgroup, version 2)
    that this process is in, and that of a Slurm job, each divided by the runs that share it; and
    the limit of the Dask worker, divided by the number of its threads (`sharing` is None).
    """
    dask = _dask_worker()
    shared = [_machine_bytes(), *group_limits("memory.max")]
    shared += filter(None, [slurm_memory(), dask and dask.memory_manager.memory_limit])
    return int(SHARE * min(shared) / (sharing or (dask and dask.state.nthreads) or 1))


@cache
def _machine_bytes() -> int:
    total: int = require("psutil", "dlsched bench").virtual_memory().total
    return total


def slurm_memory(environment: Mapping[str, str] = os.environ) -> int | None:
    """Return the bytes of memory of this node's part of a Slurm job; ``None`` if none is stated."""
    if "SLURM_JOB_ID" not in environment:
        return None
    if whole := _number(environment, "SLURM_MEM_PER_NODE"):
        return whole * _MIB
    of_cpu = _number(environment, "SLURM_MEM_PER_CPU")
    return (of_cpu or 0) * (_number(environment, "SLURM_CPUS_ON_NODE") or 1) * _MIB or None


def _number(environment: Mapping[str, str], name: str) -> int | None:
    """Return a variable as a number; 0, by which Slurm means all, and other texts are none."""
    text = environment.get(name, "")
    return int(text) or None if text.isdecimal() else None


def cpus(
    environment: Mapping[str, str] = os.environ, groups: Path = GROUPS, root: Path = ROOT
) -> int:
    """Return the whole CPUs that a batch system or a container has given to this process, or 1.

    It is the least of what Slurm states, a task of which has one unless it asks, and the control
    groups allow.
    """
    limits = [int(share) for share in group_limits("cpu.max", groups, root)]
    if "SLURM_JOB_ID" in environment:
        limits.append(_number(environment, "SLURM_CPUS_PER_TASK") or 1)
    return max(1, min(limits, default=1))


def group_limits(file: str, groups: Path = GROUPS, root: Path = ROOT) -> Iterator[float]:
    """Yield the limits of this process's control group (version 2) and of those above.

    Parameters
    ----------
    file
        ``memory.max``, of bytes, or ``cpu.max``, of CPUs: a quota and its period.
    groups
        The list of groups, with lines ``number:controllers:path``; that of version 2 is number 0.
    root
        Where the groups are mounted. A container may see its own group there.
    """
    for line in _text(groups).splitlines():
        if line.startswith("0::"):
            group = root / line[3:].lstrip("/")
            for folder in (group, *group.parents):
                if folder.is_relative_to(root):
                    limit, _, period = _text(folder / file).partition(" ")
                    if limit.isdecimal():  # "max" is no limit
                        yield int(limit) / int(period or 1)


def _text(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:  # a system without control groups, or none of this controller
        return ""
