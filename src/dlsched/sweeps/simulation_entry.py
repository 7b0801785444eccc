"""The ``[[simulation]]`` entries of a suite.

.. code-block:: toml

    [[simulation]]
    trace = "sample-philly"
    servers = 4
    gpus = 8
    policies = ["srtf", { policy = "muri_s", method = "exact" }]
    bounds = true

    [[simulation]]
    generate = "lyra"
    workload_seeds = [0, 1, 2]
    grid = { servers = [4, 8], load = [0.8, 0.95], wrong = [0, 0.3] }
    parameters = { days = 1 }
    policies = ["fifo", "lyra"]
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Self

from pydantic import Field, field_validator, model_validator

from dlsched.errors import DlschedError, UnknownName
from dlsched.schema.document import Document
from dlsched.schema.fields import Amount, Count, Id, PositiveCount
from dlsched.schema.flaws import Flaw
from dlsched.simulation import Cluster
from dlsched.simulation.engine.policy import interval_ticks
from dlsched.simulation.policies import find_policy, make_policy, policy_options
from dlsched.simulation.workload.cluster import TRAINING, Loan
from dlsched.simulation.workload.profiles import validate_options
from dlsched.sweeps.simulation_jobs import GRID, cluster_of, plain, validate_jobs
from dlsched.sweeps.simulations import bounds_for

_UNIFORM = ("servers", "gpus", "cpus", "memory")
"""Fields that say what all servers have."""
_GROUPING = "interleaving"
"""The problem of policies that make jobs share GPUs."""


class ServerKind(Document):
    """Servers that are alike: the fields of `dlsched.simulation.Server`, and how many."""

    gpus: PositiveCount
    count: PositiveCount = 1
    gpu_type: str | None = None
    cpus: Amount | None = None
    memory: Amount | None = None
    pool: str = TRAINING
    region: str | None = None


class PolicyEntry(Document):
    """A policy of a simulation.

    Attributes
    ----------
    policy
        A policy's name, or ``module:class``.
    method
        What solves its problem, as in `dlsched.simulation.simulate`; by default the paper's own.
    options
        Options of the policy.
    """

    policy: Id
    method: Id | None = None
    options: dict[str, Any] = Field(default_factory=dict)

    def arguments(self) -> dict[str, Any]:
        """Return the keyword arguments of `simulate` that differ from the defaults."""
        method = {} if self.method is None else {"method": self.method}
        return method | plain(self.options)


class SimulationEntry(Document):
    """Jobs on a cluster, and the policies that are simulated on it.

    Attributes
    ----------
    trace
        A file's path, relative to the suite, or the name of a trace that comes with dlsched.
    generate
        Instead of a trace, what draws jobs and servers: hadar, lyra, mast or synergy
        (`dlsched.simulation.workload.generators`).
    parameters
        Parameters of the generator.
    grid
        ``{parameter: values}``: all combinations. Of the generator's parameters, ``servers`` for
        the number of servers whatever it calls it, and ``wrong``; for a trace of `GRID`.
    workload_seeds
        Seeds of the generator, and of the drawing of wrong estimates; for each the same policies.
    wrong
        Share of the jobs whose running time policies are told wrongly, by up to 25 %.
    profiles, profile_options
        A set of profiles, and its options, as in `Workload.from_trace`; paths among these are
        relative to the suite.
    together
        Whether all jobs count as submitted at the start.
    limit
        The first jobs only.
    servers, gpus
        Number of servers, and of GPUs on each; 8 by default.
    cpus, memory
        CPUs and GB of memory of each server, for policies that ask.
    kinds
        Several kinds of servers, instead.
    loans
        How many servers of the pool ``loan`` are lent, by time: tables with ``time``, ``servers``.
        The generator of ``lyra`` has its own.
    policies
        Names, or tables with ``policy``, ``method``, ``options``.
    seeds
        Random seeds; one run for each.
    bounds
        Whether lower bounds over all policies are computed, too.
    """

    policies: tuple[PolicyEntry, ...]
    trace: Id | None = None
    generate: Id | None = None
    parameters: dict[str, Any] = Field(default_factory=dict)
    grid: dict[str, tuple[Any, ...]] = Field(default_factory=dict)
    workload_seeds: tuple[Count, ...] = ()
    wrong: Amount = 0
    profiles: Id | None = None
    profile_options: dict[str, Any] = Field(default_factory=dict)
    together: bool = False
    limit: PositiveCount | None = None
    servers: PositiveCount = 8
    gpus: PositiveCount = 8
    cpus: PositiveCount | None = None
    memory: PositiveCount | None = None
    kinds: tuple[ServerKind, ...] = ()
    loans: tuple[Loan, ...] = ()
    seeds: tuple[Count, ...] = (0,)
    bounds: bool = False

    @field_validator("policies", mode="before")
    @classmethod
    def _names_are_policies(cls, value: Any) -> Any:
        if not isinstance(value, list | tuple):
            return value
        return [{"policy": policy} if isinstance(policy, str) else policy for policy in value]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if not self.policies:
            raise Flaw(("policies",), "is empty", "name at least one policy")
        validate_jobs(self)
        beside = [name for name in _UNIFORM if name in self.model_fields_set]
        if self.kinds and beside:
            raise Flaw(("kinds",), f"stands beside {beside[0]}", "remove one of them")
        try:
            validate_options(self.profiles, self.profile_options)
        except UnknownName as error:
            raise Flaw(("profiles",), str(error), "see Workload.from_trace") from None
        except DlschedError as error:
            raise Flaw(("profile_options",), str(error), "see Workload.from_trace") from None
        if not self.seeds:
            raise Flaw(("seeds",), "is empty", "give one, or leave it out")
        for i, entry in enumerate(self.policies):
            self._validate(entry, i)
        return self

    def _validate(self, entry: PolicyEntry, i: int) -> None:
        """Refuse a policy or an option that there is not."""
        if ":" in entry.policy:
            return
        try:
            kind = find_policy(entry.policy)
        except DlschedError as error:
            raise Flaw(
                ("policies", i, "policy"), str(error), "see: dlsched list policies"
            ) from None
        known = policy_options(kind)
        for name in entry.options:
            if name not in known:
                field = ("policies", i, "options", name)
                raise Flaw(field, "is no option of it", f"it has: {', '.join(known) or 'none'}")
        try:
            interval_ticks(make_policy(entry.policy, entry.method, **plain(entry.options)))
        except DlschedError as error:
            raise Flaw(("policies", i), "cannot be used", str(error)) from None

    @property
    def cluster(self) -> Cluster:
        """The servers, where a trace is simulated on one cluster."""
        return cluster_of(self, {name: getattr(self, name) for name in GRID})

    @property
    def workloads(self) -> int:
        """Number of workloads: what `dlsched.sweeps.simulation_jobs.workload_specs` yields."""
        return math.prod(map(len, self.grid.values())) * max(1, len(self.workload_seeds))

    def runs(self) -> Iterator[tuple[PolicyEntry, int]]:
        """Yield policies and seeds in order."""
        for entry in self.policies:
            for seed in self.seeds:
                yield entry, seed

    def bound_runs(self) -> list[dict[str, Any]]:
        """Return the options of the bounds that the policies are compared with, each once."""
        if not self.bounds:
            return []
        found: dict[str, dict[str, Any]] = {}
        for entry in self.policies:
            shares = None if self.profiles == "muri" else False
            if ":" not in entry.policy:
                kind = find_policy(entry.policy)
                shares = getattr(kind, "problem", None) == _GROUPING
            for options in bounds_for(shares):
                found[repr(options)] = options
        return list(found.values())
