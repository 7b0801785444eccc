"""A task: one run of a sweep as plain data, with a key that identifies it in the store."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from dlsched.registry.methods import Options
from dlsched.sweeps.code_identity import Code, code_of
from dlsched.sweeps.instance_spec import InstanceSpec
from dlsched.sweeps.workload_spec import WorkloadSpec


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
        GiB of resident memory at which the worker process is killed; by default as in
        `dlsched.sweeps.memory`.
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
    ``folder`` is where the user's own modules are looked for. ``code`` is the identity of the code
    that the run was planned with; see `dlsched.sweeps.code_identity`.
    """

    instance: InstanceSpec | WorkloadSpec
    method: str
    options: Options
    seed: int
    repetition: int
    limits: Limits
    folder: str
    code: Code

    @classmethod
    def planned(
        cls,
        instance: InstanceSpec | WorkloadSpec,
        method: str,
        options: Options,
        seed: int,
        repetition: int,
        limits: Limits,
        folder: str,
    ) -> Task:
        """Return a task that is to be made by the code as it is now."""
        code = code_of(instance.problem, method, options, folder, limits.solver)
        return cls(instance, method, options, seed, repetition, limits, folder, code)

    @cached_property
    def key(self) -> str:
        """Digest of everything that the row depends on, planned code and versions included."""
        whole = {
            "problem": self.instance.problem,
            "instance": self.instance.identity,
            "method": self.method,
            "options": dict(self.options),
            "seed": self.seed,
            "repetition": self.repetition,
            "limits": asdict(self.limits),
            "code": dict(self.code),
        }
        return hashlib.sha256(json.dumps(whole, sort_keys=True, default=repr).encode()).hexdigest()
