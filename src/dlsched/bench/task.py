"""A task: one run of a sweep, as plain data, with a key that tells whether it was done."""

from __future__ import annotations

import hashlib
import importlib.util
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import dlsched
from dlsched.bench.case import Case
from dlsched.bench.machine import versions

_DECISIVE = ("api", "judge", "problem", "result", "run", "schema")
"""Modules beside the problem's room and the solvers that a result depends on."""


@dataclass(frozen=True)
class Limits:
    """What a run may use.

    Attributes
    ----------
    time_limit
        Seconds that the method is told, and minds by itself.
    wall_limit
        Seconds after which the process is killed.
    memory_limit_gib
        GiB of resident memory at which the process is killed; by default 90 % of the machine's,
        shared evenly by the runs at work.
    gap, threads, solver
        As for `dlsched.solve`.
    """

    time_limit: float | None = None
    wall_limit: float = 3600.0
    memory_limit_gib: float | None = None
    gap: float = 0.0
    threads: int = 1
    solver: str = "highs"

    def for_solve(self) -> dict[str, Any]:
        """Return what `dlsched.solve` is told."""
        return {
            "time_limit": self.time_limit,
            "gap": self.gap,
            "threads": self.threads,
            "solver": self.solver,
        }


@dataclass(frozen=True)
class Task:
    """One run: a case, a method with options and seed, limits; ``repetition`` counts from 0.

    ``folder`` is where modules of the user's own are looked for.
    """

    case: Case
    method: str
    options: Mapping[str, Any]
    seed: int
    repetition: int
    limits: Limits
    folder: str

    @cached_property
    def key(self) -> str:
        """Digest of all that the row depends on, the code included, and of nothing else."""
        whole = {
            "problem": self.case.problem,
            "case": self.case.identity,
            "method": self.method,
            "options": dict(self.options),
            "seed": self.seed,
            "repetition": self.repetition,
            "limits": asdict(self.limits),
            "code": _code_of(self.case.problem),
            "own": _own_code(self.method, self.folder) if ":" in self.method else "",
            "versions": versions(),
        }
        return hashlib.sha256(json.dumps(whole, sort_keys=True, default=str).encode()).hexdigest()


@cache
def _code_of(problem: str) -> str:
    """Return the digest of the code that a result of this problem depends on."""
    root = Path(dlsched.__file__).parent
    files = [root / f"{name}.py" for name in _DECISIVE]
    files += sorted((root / "solvers").glob("*.py"))
    files += sorted((root / "problems" / problem).glob("*.py"))
    return _digest(files)


@cache
def _own_code(method: str, folder: str) -> str:
    """Return the digest of the file that ``module:function`` is written in."""
    module = method.partition(":")[0]
    beside = Path(folder, *module.split(".")).with_suffix(".py")
    if beside.is_file():
        return _digest([beside])
    found = importlib.util.find_spec(module)
    return _digest([Path(found.origin)]) if found and found.origin else ""


def _digest(files: Iterable[Path]) -> str:
    total = hashlib.sha256()
    for file in files:
        total.update(file.name.encode() + b"\0" + file.read_bytes())
    return total.hexdigest()
