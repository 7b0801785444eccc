"""The pattern program: classes of servers, maximal patterns and types of jobs, with counts.

It has the same functions as the module ``model``, so that the levels are solved the same way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from dlsched.problems.workers.patterns import (
    Demand,
    Group,
    JobType,
    Pattern,
    ServerClass,
    group_of,
    job_types,
    maximal_patterns,
    server_classes,
    sizes_by_group,
)
from dlsched.problems.workers.schema import KINDS, POOLS, Instance, Kind, Pool, Solution
from dlsched.problems.workers.slots import Share, divide, fill, held_by, shares_of
from dlsched.schema import granularity


class Program:
    """The pattern program of one instance.

    Attributes
    ----------
    types, classes
        Types of jobs and classes of servers.
    patterns
        For each class, by position, and group the patterns that one of its servers may hold.
    """

    def __init__(self, instance: Instance) -> None:
        sizes = sizes_by_group(instance)
        self.types: list[JobType] = job_types(instance)
        self.classes: list[ServerClass] = server_classes(instance)
        self.patterns: dict[tuple[int, Group], list[Pattern]] = {
            (c, group): list(maximal_patterns(sizes.get((entry.pool, group), ()), entry.free))
            for c, entry in enumerate(self.classes)
            for group in entry.groups
        }
        self.demands = [Demand(*key, k) for key, found in sizes.items() for k in found]

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
        self._supply(instance, m, workers)
        return m

    def _variables(self, m: Any) -> None:
        """Declare the variables: jobs of each type, their workers, and servers with a pattern."""
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
        m.z = pyo.Var(
            [(c, g, i) for (c, g), found in self.patterns.items() for i in range(len(found))],
            domain=whole,
            bounds=lambda m, c, g, i: (0, len(self.classes[c].servers)),
        )

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
        m.opened = pyo.Objective(
            expr=pyo.quicksum(m.z[key] for key in m.z if self.classes[key[0]].empty)
        )
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

    def _supply(
        self, instance: Instance, m: Any, workers: Mapping[tuple[int, Pool, Kind], Any]
    ) -> None:
        """Give the workers of each pool, group and size as many places in chosen patterns."""
        import pyomo.environ as pyo

        wanted: dict[Demand, list[Any]] = {key: [] for key in self.demands}
        held: dict[Demand, list[Any]] = {key: [] for key in self.demands}
        of_class: dict[int, list[Any]] = {}
        for (t, p, kind), count in workers.items():
            size = self.types[t].job.gpus_per_worker
            wanted[Demand(p, group_of(instance, p, kind), size)].append(count)
        for (c, g, i), column in m.z.items():
            of_class.setdefault(c, []).append(column)
            for size, count in self.patterns[c, g][i].items():
                held[Demand(self.classes[c].pool, g, size)].append(count * column)
        m.supply = pyo.ConstraintList()
        for key in self.demands:
            m.supply.add(pyo.quicksum(held[key]) >= pyo.quicksum(wanted[key]))
        m.servers = pyo.ConstraintList()
        for c, columns in of_class.items():
            m.servers.add(pyo.quicksum(columns) <= len(self.classes[c].servers))

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
        """Return a solution: patterns to the servers of a class, and workers to the patterns."""
        shares: dict[int, Share] = {}
        for t in range(len(self.types)):
            shares |= dict(self.shares(m, t))
        return fill(instance, self.slots(m), shares)

    def shares(self, m: Any, t: int) -> Iterator[tuple[int, Share]]:
        """Yield the jobs of a type that are placed, with their workers by pool and kind."""
        job, left = self.types[t].job, iter(self.types[t].jobs)
        groups: list[tuple[int, Mapping[Pool, int], Mapping[Pool, int]]] = []
        flexible = {p: _value(m.f[t, p]) if job.flexible else 0 for p in job.pools}
        if self.one_pool(t):
            for p in job.pools:
                count = _value(m.u[t, p])
                groups.append((count, {p: count * job.base}, {p: flexible[p]}))
        else:
            base = {p: _value(m.b[t, p]) for p in job.pools}
            groups.append((_value(m.y[t]), base, flexible))
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

    def slots(self, m: Any) -> Iterator[tuple[int, Group, int, int]]:
        """Yield the slots of the chosen patterns; those of empty servers come last."""
        for c, entry in enumerate(self.classes):
            servers = iter(entry.servers)
            for group in entry.groups:
                for i, pattern in enumerate(self.patterns[c, group]):
                    for _ in range(_value(m.z[c, group, i])):
                        s = next(servers)
                        yield from ((s, group, size, n) for size, n in pattern.items())

    def assign(self, instance: Instance, m: Any, solution: Solution) -> None:
        """Set every variable to the value that the solution gives it."""
        import pyomo.environ as pyo

        for variable in m.component_data_objects(pyo.Var):
            variable.set_value(0, skip_validation=True)
        by_job = shares_of(instance, solution)
        for t, entry in enumerate(self.types):
            placed = [by_job[j] for j in entry.jobs if j in by_job]
            _add(m.y[t], len(placed))
            for share in placed:
                for (pool, kind), count in share.items():
                    if not count:
                        continue
                    if kind == "flexible":
                        _add(m.f[t, pool], count)
                    elif self.one_pool(t):
                        _add(m.u[t, pool], count // entry.job.base)
                    else:
                        _add(m.b[t, pool], count)
        held: dict[int, Counter[int]] = {}
        group_at: dict[int, Group] = {}
        for (s, group, size), count in held_by(instance, solution).items():
            held.setdefault(s, Counter())[size] += count
            group_at[s] = group
        for c, alike in enumerate(self.classes):
            for s in alike.servers:
                if s in held:
                    found = self.patterns[c, group_at[s]]
                    i = next(i for i, pattern in enumerate(found) if _covers(pattern, held[s]))
                    _add(m.z[c, group_at[s], i], 1)


def _value(variable: Any) -> int:
    return round(variable.value or 0)


def _add(variable: Any, amount: int) -> None:
    variable.set_value((variable.value or 0) + amount, skip_validation=True)


def _covers(pattern: Pattern, workers: Mapping[int, int]) -> bool:
    return all(pattern.get(size, 0) >= count for size, count in workers.items())
