"""Programs over types of jobs: the variables, objectives and rows that do not know the servers.

Jobs alike in all fields are one type with a count. What the servers can hold is added by the
modules ``program`` and ``arc_program``. Both programs have the same functions as the module
``model``, so that the levels are solved the same way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

from dlsched.problems.workers.definition.schema import KINDS, POOLS, Instance, Kind, Pool, Solution
from dlsched.problems.workers.structures.patterns import (
    Demand,
    Group,
    JobType,
    ServerClass,
    group_of,
    job_types,
    server_classes,
    sizes_by_group,
)
from dlsched.problems.workers.structures.placement_counts import Share, divide, fill, shares_of
from dlsched.schema import granularity


class TypeProgram(ABC):
    """A program over types of jobs of one instance.

    Attributes
    ----------
    types, classes
        Types of jobs and classes of servers.
    sizes
        Sizes of workers, largest first, that each pool and group may have to hold.
    opened
        Numbers of empty servers that are used, after `build`.
    """

    opened: list[Any]

    def __init__(self, instance: Instance) -> None:
        self.sizes = sizes_by_group(instance)
        self.types: list[JobType] = job_types(instance)
        self.classes: list[ServerClass] = server_classes(instance)

    def build(self, instance: Instance) -> Any:
        """Return the Pyomo model."""
        import pyomo.environ as pyo

        m = pyo.ConcreteModel(instance.name)
        self._variables(m)
        workers = {
            (t, p, kind): self.workers(m, t, p, kind)
            for t, entry in enumerate(self.types)
            for p in entry.job.pools
            for kind in KINDS
            if kind == "base" or entry.job.flexible
        }
        self._objectives(m, workers)
        self._gangs(m)
        wanted: dict[Demand, list[Any]] = {
            Demand(*key, k): [] for key, found in self.sizes.items() for k in found
        }
        for (t, p, kind), count in workers.items():
            size = self.types[t].job.gpus_per_worker
            wanted[Demand(p, group_of(instance, p, kind), size)].append(count)
        self.supply(m, {key: pyo.quicksum(counts) for key, counts in wanted.items()})
        return m

    @abstractmethod
    def servers(self, m: Any) -> Iterator[Any]:
        """Declare variables of servers, and yield the numbers of empty servers that are used."""

    @abstractmethod
    def supply(self, m: Any, wanted: Mapping[Demand, Any]) -> None:
        """Give the workers of each pool, group and size as many places on servers."""

    @abstractmethod
    def slots(self, m: Any) -> Iterator[tuple[int, Group, int, int]]:
        """Yield the places on servers as `fill` takes them; those of empty servers come last."""

    @abstractmethod
    def assign_servers(self, instance: Instance, m: Any, solution: Solution) -> None:
        """Set the variables of servers, which are 0, to the values that the solution gives them."""

    def _variables(self, m: Any) -> None:
        """Declare the variables: jobs of each type, their workers, and those of servers."""
        import pyomo.environ as pyo

        types, whole = self.types, pyo.NonNegativeIntegers
        options = [(t, p) for t, entry in enumerate(types) for p in entry.job.pools]
        jobs = [len(entry.jobs) for entry in types]
        m.y = pyo.Var(range(len(types)), domain=whole, bounds=lambda m, t: (0, jobs[t]))
        m.u = pyo.Var(
            [key for key in options if self.one_pool(key[0])],
            domain=whole,
            bounds=lambda m, t, p: (0, jobs[t]),
        )
        m.b = pyo.Var(
            [key for key in options if not self.one_pool(key[0])],
            domain=whole,
            bounds=lambda m, t, p: (0, types[t].job.base * jobs[t]),
        )
        m.f = pyo.Var(
            [key for key in options if types[key[0]].job.flexible],
            domain=whole,
            bounds=lambda m, t, p: (0, types[t].job.flexible * jobs[t]),
        )
        self.opened = list(self.servers(m))

    def _objectives(self, m: Any, workers: Mapping[tuple[int, Pool, Kind], Any]) -> None:
        """Declare the levels, and of what their values are multiples."""
        import pyomo.environ as pyo

        job = {t: entry.job for t, entry in enumerate(self.types)}
        away = [key for key in workers if key[1] != job[key[0]].pools[0]]
        m.placed = pyo.Objective(expr=pyo.quicksum(m.y.values()), sense=pyo.maximize)
        m.flexible = pyo.Objective(expr=pyo.quicksum(m.f.values()), sense=pyo.maximize)
        m.off_preference = pyo.Objective(
            expr=pyo.quicksum(job[key[0]].gpus_per_worker * workers[key] for key in away)
        )
        m.opened = pyo.Objective(expr=pyo.quicksum(self.opened))
        m.GRANULARITY = {"placed": 1, "flexible": 1, "opened": 1}
        m.GRANULARITY["off_preference"] = granularity(job[t].gpus_per_worker for t, _, _ in away)

    def _gangs(self, m: Any) -> None:
        """Give each placed job all base workers, and at most its flexible ones."""
        import pyomo.environ as pyo

        m.gang = pyo.ConstraintList()
        m.scale = pyo.ConstraintList()
        for t, entry in enumerate(self.types):
            job, pools = entry.job, entry.job.pools
            counts, each = (m.u, 1) if self.one_pool(t) else (m.b, job.base)
            m.gang.add(sum(counts[t, p] for p in pools) == each * m.y[t])
            if job.flexible and self.one_pool(t):
                for p in pools:
                    m.scale.add(m.f[t, p] <= job.flexible * m.u[t, p])
            elif job.flexible:
                m.scale.add(sum(m.f[t, p] for p in pools) <= job.flexible * m.y[t])

    def one_pool(self, t: int) -> bool:
        """Whether the workers of each job of a type are in one pool."""
        return not self.types[t].job.heterogeneous

    def workers(self, m: Any, t: int, p: Pool, kind: Kind) -> Any:
        """Return the number of workers of a kind that a type has in a pool."""
        job = self.types[t].job
        if kind == "flexible":
            return m.f[t, p]
        return job.base * m.u[t, p] if self.one_pool(t) else m.b[t, p]

    def read(self, instance: Instance, m: Any) -> Solution:
        """Return a solution: workers go to places on servers."""
        shares: dict[int, Share] = {}
        for t in range(len(self.types)):
            shares |= dict(self.shares(m, t))
        return fill(instance, self.slots(m), shares)

    def shares(self, m: Any, t: int) -> Iterator[tuple[int, Share]]:
        """Yield the jobs of a type that are placed, with their workers by pool and kind."""
        job, left = self.types[t].job, iter(self.types[t].jobs)
        groups: list[tuple[int, Mapping[Pool, int], Mapping[Pool, int]]] = []
        flexible = {p: value_of(m.f[t, p]) if job.flexible else 0 for p in job.pools}
        if self.one_pool(t):
            for p in job.pools:
                count = value_of(m.u[t, p])
                groups.append((count, {p: count * job.base}, {p: flexible[p]}))
        else:
            base = {p: value_of(m.b[t, p]) for p in job.pools}
            groups.append((value_of(m.y[t]), base, flexible))
        for count, bases, more in groups:
            pairs = zip(
                divide(bases, job.base, count), divide(more, job.flexible, count), strict=True
            )
            for own_base, own_flexible in pairs:
                share: dict[tuple[Pool, Kind], int] = {}
                for p in POOLS:
                    share[p, "base"] = own_base[p]
                    share[p, "flexible"] = own_flexible[p]
                yield next(left), share

    def assign(self, instance: Instance, m: Any, solution: Solution) -> None:
        """Set every variable to the value that the solution gives it."""
        import pyomo.environ as pyo

        for variable in m.component_data_objects(pyo.Var):
            variable.set_value(0, skip_validation=True)
        by_job = shares_of(instance, solution)
        for t, entry in enumerate(self.types):
            placed = [by_job[j] for j in entry.jobs if j in by_job]
            add_to(m.y[t], len(placed))
            for share in placed:
                for (pool, kind), count in share.items():
                    if not count:
                        continue
                    if kind == "flexible":
                        add_to(m.f[t, pool], count)
                    elif self.one_pool(t):
                        add_to(m.u[t, pool], count // entry.job.base)
                    else:
                        add_to(m.b[t, pool], count)
        self.assign_servers(instance, m, solution)


def value_of(variable: Any) -> int:
    """Return the value of an integer variable; 0 if it has none."""
    return round(variable.value or 0)


def add_to(variable: Any, amount: int) -> None:
    """Add to the value of an integer variable."""
    variable.set_value((variable.value or 0) + amount, skip_validation=True)
