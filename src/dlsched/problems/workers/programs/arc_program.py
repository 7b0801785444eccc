"""The flow program: servers with workers are paths on which free GPUs fall worker by worker.

For each pool and group there is a network whose nodes are numbers of free GPUs. A server with f
free GPUs starts at node f; a worker of k GPUs is an arc from a node r to r - k; a path may end
anywhere. Its size grows with free GPUs times sizes of workers, not with the number of patterns.
Jobs alike in all fields are one type with a count. The rows, and the ways from a placement to their
values and back, are one class, as they share types, classes and nodes.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from dlsched.problems.workers.definition.schema import KINDS, POOLS, Instance, Kind, Pool, Solution
from dlsched.problems.workers.structures.classes import (
    Demand,
    Group,
    Held,
    JobType,
    ServerClass,
    Share,
    divide,
    fill,
    group_of,
    held_by,
    job_types,
    server_classes,
    shares_of,
    sizes_by_group,
)
from dlsched.schema import granularity

MOST_ARCS = 100_000
"""With more arcs, the program takes too long to build."""


class Node(NamedTuple):
    """A number of free GPUs in the network of a pool and group."""

    pool: Pool
    group: Group
    free: int

    def after(self, size: int) -> Node:
        """Return the node after a worker of some GPUs."""
        return Node(self.pool, self.group, self.free - size)


class ArcProgram:
    """The flow program of one instance, with the functions of the module ``model``.

    Attributes
    ----------
    types, classes
        Types of jobs and classes of servers.
    sizes
        Sizes of workers, largest first, that each pool and group may have to hold.
    starts
        Classes of servers, by position, and groups, with the node at which their servers start.
    arcs
        The sizes of workers that may be placed at each node, nodes with more free GPUs first.
    """

    def __init__(self, instance: Instance) -> None:
        self.sizes = sizes_by_group(instance)
        self.types: list[JobType] = job_types(instance)
        self.classes: list[ServerClass] = server_classes(instance)
        self.starts = {
            (c, group): Node(entry.pool, group, entry.free)
            for c, entry in enumerate(self.classes)
            for group in entry.groups
            if entry.free >= min(self.sizes.get((entry.pool, group), ()), default=entry.free + 1)
        }
        self.arcs: dict[Node, list[int]] = {}
        reached = set(self.starts.values())
        for (pool, group), sizes in self.sizes.items():
            most = max((n.free for n in reached if n[:2] == (pool, group)), default=0)
            for free in range(most, 0, -1):
                node = Node(pool, group, free)
                fitting = [size for size in sizes if size <= free]
                if node in reached and fitting:
                    self.arcs[node] = fitting
                    reached.update(node.after(size) for size in fitting)

    def build(self, instance: Instance) -> Any:
        """Return the Pyomo model."""
        import pyomo.core as pyo

        m = pyo.ConcreteModel(instance.name)
        self._variables(m)
        workers = {
            (t, pool, kind): self.workers(m, t, pool, kind)
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
        for (t, pool, kind), count in workers.items():
            size = self.types[t].job.gpus_per_worker
            wanted[Demand(pool, group_of(instance, pool, kind), size)].append(count)
        self._supply(m, {demand: pyo.quicksum(counts) for demand, counts in wanted.items()})
        return m

    def _variables(self, m: Any) -> None:
        """Declare jobs of each type, their workers, servers by group, and workers by arc."""
        import pyomo.core as pyo

        types = self.types
        options = [(t, pool) for t, entry in enumerate(types) for pool in entry.job.pools]
        one_pool = [key for key in options if self.one_pool(key[0])]
        divided = [key for key in options if not self.one_pool(key[0])]
        scaled = [key for key in options if types[key[0]].job.flexible]

        whole = pyo.NonNegativeIntegers
        jobs = [len(entry.jobs) for entry in types]
        base = [len(entry.jobs) * entry.job.base for entry in types]
        flexible = [len(entry.jobs) * entry.job.flexible for entry in types]
        servers = [len(entry.servers) for entry in self.classes]
        m.y = pyo.Var(range(len(types)), domain=whole, bounds=lambda m, t: (0, jobs[t]))
        m.u = pyo.Var(one_pool, domain=whole, bounds=lambda m, t, p: (0, jobs[t]))
        m.b = pyo.Var(divided, domain=whole, bounds=lambda m, t, p: (0, base[t]))
        m.f = pyo.Var(scaled, domain=whole, bounds=lambda m, t, p: (0, flexible[t]))
        m.z = pyo.Var(list(self.starts), domain=whole, bounds=lambda m, c, g: (0, servers[c]))
        most = {
            node: sum(
                servers[c]
                for (c, _), start in self.starts.items()
                if start[:2] == node[:2] and start.free >= node.free
            )
            for node in self.arcs
        }
        m.a = pyo.Var(
            [(*node, size) for node, sizes in self.arcs.items() for size in sizes],
            domain=whole,
            bounds=lambda m, p, g, r, k: (0, most[Node(p, g, r)]),
        )

    def _objectives(self, m: Any, workers: Mapping[tuple[int, Pool, Kind], Any]) -> None:
        """Declare the levels, and of what their values are multiples."""
        import pyomo.core as pyo

        away = []
        sizes = []
        for (t, pool, _), count in workers.items():
            job = self.types[t].job
            if pool != job.pools[0]:
                away.append(job.gpus_per_worker * count)
                sizes.append(job.gpus_per_worker)
        m.placed = pyo.Objective(expr=pyo.quicksum(m.y.values()), sense=pyo.maximize)
        m.flexible = pyo.Objective(expr=pyo.quicksum(m.f.values()), sense=pyo.maximize)
        m.off_preference = pyo.Objective(expr=pyo.quicksum(away))
        opened = [m.z[c, g] for c, g in self.starts if self.classes[c].empty]
        m.opened = pyo.Objective(expr=pyo.quicksum(opened))
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

    def _supply(self, m: Any, wanted: Mapping[Demand, Any]) -> None:
        """Balance the nodes, and give the workers of each pool, group and size as many arcs."""
        import pyomo.core as pyo

        held: dict[Demand, list[Any]] = defaultdict(list)
        into: dict[Node, list[Any]] = defaultdict(list)
        of_class: dict[int, list[Any]] = defaultdict(list)
        for (c, g), node in self.starts.items():
            into[node].append(m.z[c, g])
            of_class[c].append(m.z[c, g])
        m.flow = pyo.ConstraintList()
        for node, sizes in self.arcs.items():  # what leads to a node comes before it
            m.flow.add(
                pyo.quicksum(into[node]) >= pyo.quicksum(m.a[(*node, size)] for size in sizes)
            )
            for size in sizes:
                workers = m.a[(*node, size)]
                into[node.after(size)].append(workers)
                held[Demand(node.pool, node.group, size)].append(workers)
        m.supply = pyo.ConstraintList()
        for key, count in wanted.items():
            m.supply.add(pyo.quicksum(held[key]) >= count)
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
        """Return a solution: workers go to places on servers."""
        shares: dict[int, Share] = {}
        for t in range(len(self.types)):
            shares |= dict(self.shares(m, t))
        return fill(instance, self.places(m), shares)

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
        for of_job in zip(bases, extras, strict=True):
            parts = dict(zip(KINDS, of_job, strict=True))
            yield {(pool, kind): part[pool] for pool in POOLS for kind, part in parts.items()}

    def places(self, m: Any) -> dict[Held, int]:
        """Return the workers on each path, as `fill` takes them; those of empty servers last."""
        reached: dict[Node, deque[int]] = defaultdict(deque)
        unused = [deque(entry.servers) for entry in self.classes]
        for (c, g), node in self.starts.items():
            for _ in range(value_of(m.z[c, g])):
                reached[node].append(unused[c].popleft())
        held: Counter[Held] = Counter()
        for node, sizes in self.arcs.items():
            for size in sizes:
                for _ in range(value_of(m.a[(*node, size)])):
                    s = reached[node].popleft()
                    reached[node.after(size)].append(s)
                    held[Held(s, node.group, size)] += 1
        servers = chain.from_iterable(entry.servers for entry in self.classes)
        position = {s: i for i, s in enumerate(servers)}
        return dict(sorted(held.items(), key=lambda place: position[place[0].server]))

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
                    self._add_workers(m, t, pool, kind, count)
        workers: dict[tuple[int, Group], Counter[int]] = defaultdict(Counter)
        for held, count in held_by(instance, solution).items():
            workers[held.server, held.group][held.size] += count
        class_of = {s: c for c, alike in enumerate(self.classes) for s in alike.servers}
        for (s, group), sizes in workers.items():
            self._add_path(m, class_of[s], group, sorted(sizes.elements(), reverse=True))

    def _add_workers(self, m: Any, t: int, pool: Pool, kind: Kind, count: int) -> None:
        """Add a job's workers of a kind in a pool to the variables of its type."""
        if kind == "flexible":
            add_to(m.f[t, pool], count)
        elif self.one_pool(t):
            add_to(m.u[t, pool], count // self.types[t].job.base)
        else:
            add_to(m.b[t, pool], count)

    def _add_path(self, m: Any, c: int, group: Group, sizes: Sequence[int]) -> None:
        """Add a server of a class, with the sizes of its workers, largest first."""
        node = self.starts[c, group]
        add_to(m.z[c, group], 1)
        for size in sizes:
            add_to(m.a[(*node, size)], 1)
            node = node.after(size)


def value_of(variable: Any) -> int:
    """Return the value of an integer variable; 0 if it has none."""
    return round(variable.value or 0)


def add_to(variable: Any, amount: int) -> None:
    """Add to the value of an integer variable."""
    variable.set_value((variable.value or 0) + amount, skip_validation=True)


def choose(instance: Instance) -> str:
    """Return ``arc_flow``; ``milp`` where it may have too many arcs."""
    networks = sizes_by_group(instance).values()
    free = max((server.free for server in instance.servers), default=0)
    arcs = sum(len([size for size in sizes if size <= free]) for sizes in networks) * free
    return "milp" if arcs > MOST_ARCS else "arc_flow"
