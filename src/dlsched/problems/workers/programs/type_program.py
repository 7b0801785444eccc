"""Programs over types of jobs: the variables, objectives and rows that do not know the servers.

Jobs alike in all fields are one type with a count. What the servers can hold is added by the module
``arc_program``. The program has the same functions as the module ``model``, so that the levels are
solved the same way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from dlsched.problems.workers.definition.schema import KINDS, POOLS, Instance, Kind, Pool, Solution
from dlsched.problems.workers.structures.classes import (
    Demand,
    Group,
    JobType,
    ServerClass,
    group_of,
    job_types,
    server_classes,
    sizes_by_group,
)
from dlsched.problems.workers.structures.placement_counts import (
    Share,
    Slot,
    divide,
    fill,
    held_by,
    shares_of,
)
from dlsched.schema import granularity


class TypeWorkers(NamedTuple):
    """The workers of a kind that the jobs of a type have in a pool."""

    type: int
    """Its position."""
    pool: Pool
    kind: Kind


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
        import pyomo.core as pyo

        m = pyo.ConcreteModel(instance.name)
        self._variables(m)
        workers = {
            TypeWorkers(t, pool, kind): self.workers(m, t, pool, kind)
            for t, entry in enumerate(self.types)
            for pool in entry.job.pools
            for kind in KINDS
            if kind == "base" or entry.job.flexible
        }
        self._objectives(m, workers)
        self._gangs(m)
        wanted: dict[Demand, list[Any]] = {
            Demand(*key, size): [] for key, sizes in self.sizes.items() for size in sizes
        }
        for key, count in workers.items():
            group = group_of(instance, key.pool, key.kind)
            size = self.types[key.type].job.gpus_per_worker
            wanted[Demand(key.pool, group, size)].append(count)
        self.supply(m, {demand: pyo.quicksum(counts) for demand, counts in wanted.items()})
        return m

    @abstractmethod
    def servers(self, m: Any) -> Iterator[Any]:
        """Declare variables of servers, and yield the numbers of empty servers that are used."""

    @abstractmethod
    def supply(self, m: Any, wanted: Mapping[Demand, Any]) -> None:
        """Give the workers of each pool, group and size as many places on servers."""

    @abstractmethod
    def slots(self, m: Any) -> Iterator[Slot]:
        """Yield the places on servers as `fill` takes them; those of empty servers come last."""

    @abstractmethod
    def assign_server(self, m: Any, c: int, group: Group, workers: Counter[int]) -> None:
        """Count a server of a class in the variables: it holds workers of a group, by size."""

    def limit_servers(self, m: Any, used: Mapping[int, Sequence[Any]]) -> None:
        """Use no more servers of each class than there are."""
        import pyomo.core as pyo

        m.servers = pyo.ConstraintList()
        for c, columns in used.items():
            m.servers.add(pyo.quicksum(columns) <= len(self.classes[c].servers))

    def _variables(self, m: Any) -> None:
        """Declare the variables: jobs of each type, their workers, and those of servers."""
        import pyomo.core as pyo

        types = self.types
        options = [(t, pool) for t, entry in enumerate(types) for pool in entry.job.pools]
        one_pool = [key for key in options if self.one_pool(key[0])]
        divided = [key for key in options if not self.one_pool(key[0])]
        scaled = [key for key in options if types[key[0]].job.flexible]

        def jobs(m: Any, t: int, *pool: Pool) -> tuple[int, int]:
            return 0, len(types[t].jobs)

        def base(m: Any, t: int, pool: Pool) -> tuple[int, int]:
            return 0, len(types[t].jobs) * types[t].job.base

        def flexible(m: Any, t: int, pool: Pool) -> tuple[int, int]:
            return 0, len(types[t].jobs) * types[t].job.flexible

        m.y = pyo.Var(range(len(types)), domain=pyo.NonNegativeIntegers, bounds=jobs)
        m.u = pyo.Var(one_pool, domain=pyo.NonNegativeIntegers, bounds=jobs)
        m.b = pyo.Var(divided, domain=pyo.NonNegativeIntegers, bounds=base)
        m.f = pyo.Var(scaled, domain=pyo.NonNegativeIntegers, bounds=flexible)
        self.opened = list(self.servers(m))

    def _objectives(self, m: Any, workers: Mapping[TypeWorkers, Any]) -> None:
        """Declare the levels, and of what their values are multiples."""
        import pyomo.core as pyo

        away = []
        sizes = []
        for key, count in workers.items():
            job = self.types[key.type].job
            if key.pool != job.pools[0]:
                away.append(job.gpus_per_worker * count)
                sizes.append(job.gpus_per_worker)
        m.placed = pyo.Objective(expr=pyo.quicksum(m.y.values()), sense=pyo.maximize)
        m.flexible = pyo.Objective(expr=pyo.quicksum(m.f.values()), sense=pyo.maximize)
        m.off_preference = pyo.Objective(expr=pyo.quicksum(away))
        m.opened = pyo.Objective(expr=pyo.quicksum(self.opened))
        m.GRANULARITY = {"placed": 1, "flexible": 1, "opened": 1}
        m.GRANULARITY["off_preference"] = granularity(sizes)

    def _gangs(self, m: Any) -> None:
        """Give each placed job all base workers, and at most its flexible ones."""
        import pyomo.core as pyo

        m.gang = pyo.ConstraintList()
        m.scale = pyo.ConstraintList()
        for t, entry in enumerate(self.types):
            job = entry.job
            base = sum(m.u[t, p] if self.one_pool(t) else m.b[t, p] for p in job.pools)
            m.gang.add(base == (1 if self.one_pool(t) else job.base) * m.y[t])
            if job.flexible and self.one_pool(t):
                for p in job.pools:
                    m.scale.add(m.f[t, p] <= job.flexible * m.u[t, p])
            elif job.flexible:
                m.scale.add(sum(m.f[t, p] for p in job.pools) <= job.flexible * m.y[t])

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
        jobs = iter(self.types[t].jobs)
        placed = {self.types[t].job.pools: m.y[t]}
        if self.one_pool(t):
            placed = {(pool,): m.u[t, pool] for pool in self.types[t].job.pools}
        for pools, count in placed.items():
            for share in self._divided(m, t, pools, value_of(count)):
                yield next(jobs), share

    def _divided(self, m: Any, t: int, pools: Sequence[Pool], jobs: int) -> Iterator[Share]:
        """Yield the workers of each of some jobs of a type, which are in these pools only."""
        job = self.types[t].job
        base: dict[Pool, int] = {}
        flexible: dict[Pool, int] = {}
        for pool in pools:
            base[pool] = job.base * jobs if self.one_pool(t) else value_of(m.b[t, pool])
            flexible[pool] = value_of(m.f[t, pool]) if job.flexible else 0
        bases = divide(base, job.base, jobs)
        extras = divide(flexible, job.flexible, jobs)
        for job_base, job_flexible in zip(bases, extras, strict=True):
            share: dict[tuple[Pool, Kind], int] = {}
            for pool in POOLS:
                share[pool, "base"] = job_base[pool]
                share[pool, "flexible"] = job_flexible[pool]
            yield share

    def assign(self, instance: Instance, m: Any, solution: Solution) -> None:
        """Set every variable to the value that the solution gives it."""
        import pyomo.core as pyo

        for variable in m.component_data_objects(pyo.Var):
            variable.set_value(0, skip_validation=True)
        by_job = shares_of(instance, solution)
        for t, entry in enumerate(self.types):
            for share in [by_job[j] for j in entry.jobs if j in by_job]:
                add_to(m.y[t], 1)
                for (pool, kind), count in share.items():
                    if kind == "flexible":
                        add_to(m.f[t, pool], count)
                    elif self.one_pool(t):
                        add_to(m.u[t, pool], count // entry.job.base)
                    else:
                        add_to(m.b[t, pool], count)
        workers: dict[tuple[int, Group], Counter[int]] = defaultdict(Counter)
        for held, count in held_by(instance, solution).items():
            workers[held.server, held.group][held.size] += count
        class_of = {s: c for c, alike in enumerate(self.classes) for s in alike.servers}
        for (s, group), sizes in workers.items():
            self.assign_server(m, class_of[s], group, sizes)


def value_of(variable: Any) -> int:
    """Return the value of an integer variable; 0 if it has none."""
    return round(variable.value or 0)


def add_to(variable: Any, amount: int) -> None:
    """Add to the value of an integer variable."""
    variable.set_value((variable.value or 0) + amount, skip_validation=True)
