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

from dlsched.errors import DlschedError
from dlsched.schema.document import Document
from dlsched.schema.fields import Id
from dlsched.schema.flaws import Flaw
from dlsched.simulation import Cluster
from dlsched.simulation.engine.policy import interval_ticks
from dlsched.simulation.policies import find_policy, make_policy, policy_options
from dlsched.sweeps.simulation_jobs import GRID, JobsEntry, Seeds, cluster_of, plain, validate_jobs
from dlsched.sweeps.simulations import bounds_for

_GROUPING = "interleaving"
"""The problem of policies that make jobs share GPUs."""


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


class SimulationEntry(JobsEntry):
    """Jobs on a cluster, and the policies that are simulated on it.

    Attributes
    ----------
    policies
        Names, or tables with ``policy``, ``method``, ``options``.
    seeds
        Random seeds; one run for each.
    bounds
        Whether lower bounds over all policies are computed, too.
    """

    policies: tuple[PolicyEntry, ...]
    seeds: Seeds = (0,)
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
