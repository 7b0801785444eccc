"""A task: one run of a sweep as plain data, with a key that identifies it in the store."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import dlsched
from dlsched import registry
from dlsched.bench import sources
from dlsched.bench.instance_spec import InstanceSpec
from dlsched.bench.machine import versions
from dlsched.bench.workload_spec import SIMULATION, WorkloadSpec
from dlsched.errors import UnknownName
from dlsched.simulation.policies import find_policy

_HARMLESS = ("__init__", "figures", "submission", "table", "records", "files")
"""Modules beside the package's `__init__.py` that no result depends on."""
_PACKAGES = ("api", "registry", "schema", "solvers")
"""Packages, apart from the problem's own, that every result depends on."""
_OF_SIMULATIONS = ("simulation", "traces", "problems")
"""Packages that the result of a simulation depends on, too."""


@dataclass(frozen=True)
class Limits:
    """Limits of a run.

    Attributes
    ----------
    time_limit
        Seconds for the method, which ends by itself.
    wall_limit
        Seconds after which the worker process is killed. Making the instance and compiling the
        method's loops do not count.
    memory_limit_gib
        GiB of resident memory at which the worker process is killed; by default 90 % of the
        machine's memory, divided by the number of worker processes.
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
        """Return the keyword arguments for `dlsched.solve`."""
        return {
            "time_limit": self.time_limit,
            "gap": self.gap,
            "threads": self.threads,
            "solver": self.solver,
        }


@dataclass(frozen=True)
class Task:
    """One run: an instance, a method with options and seed, limits; ``repetition`` counts from 0.

    A simulation has a workload as its instance and a policy as its method; its options are the
    keyword arguments of `dlsched.simulation.simulate`, ``method`` and ``variant`` among them.
    ``folder`` is where the user's own modules are looked for.
    """

    instance: InstanceSpec | WorkloadSpec
    method: str
    options: Mapping[str, Any]
    seed: int
    repetition: int
    limits: Limits
    folder: str

    @cached_property
    def key(self) -> str:
        """Digest of everything that the row depends on, code and versions included."""
        whole = {
            "problem": self.instance.problem,
            "instance": self.instance.identity,
            "method": self.method,
            "options": dict(self.options),
            "seed": self.seed,
            "repetition": self.repetition,
            "limits": asdict(self.limits),
            "code": _code_of(self.instance.problem),
            "own": self._own_code(),
            "versions": versions(),
        }
        return hashlib.sha256(json.dumps(whole, sort_keys=True, default=str).encode()).hexdigest()

    def _own_code(self) -> str:
        if self.instance.problem != SIMULATION:
            return _own_code(self.instance.problem, self.method, self.folder)
        return _policy_code(self.method, str(self.options.get("method") or ""), self.folder)


@cache
def _code_of(problem: str) -> str:
    """Return the digest of dlsched's own code that a result of this problem depends on."""
    root = Path(dlsched.__file__).parent
    files = [file for file in root.glob("*.py") if file.stem not in _HARMLESS]
    more = _OF_SIMULATIONS if problem == SIMULATION else (f"problems/{problem}",)
    for folder in (*_PACKAGES, *more):
        files += (root / folder).rglob("*.py")
    return _digest(sorted(files))


def _own_code(problem: str, method: str, folder: str) -> str:
    """Return the digest of a method's code; "" for a method of dlsched."""
    module = method.partition(":")[0]
    if ":" not in method:
        try:
            module = registry.problem(problem).method(method).home
        except UnknownName:  # the run fails with this error
            return ""
        if module.partition(".")[0] == "dlsched":
            return ""
    return sources.digest_of(module, folder)


def _policy_code(policy: str, method: str, folder: str) -> str:
    """Return the digest of the code of a policy and of its method, unless they are of dlsched."""
    home = policy.partition(":")[0]
    if ":" not in policy:
        try:
            home = find_policy(policy).__module__
        except UnknownName:  # one of the published simulators, or the run fails with this error
            home = "dlsched"
    homes = [home, *([method.partition(":")[0]] if ":" in method else [])]
    own = [each for each in homes if each.partition(".")[0] != "dlsched"]
    return " ".join(sources.digest_of(each, folder) for each in own)


def _digest(files: Iterable[Path]) -> str:
    total = hashlib.sha256()
    for file in files:
        total.update(file.name.encode() + b"\0" + file.read_bytes())
    return total.hexdigest()
