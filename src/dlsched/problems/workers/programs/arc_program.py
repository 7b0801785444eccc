"""The flow program: servers with workers are paths on which free GPUs fall worker by worker.

For each pool and group there is a network whose nodes are numbers of free GPUs. A server with f
free GPUs starts at node f; a worker of k GPUs is an arc from a node r to r - k; a path may end
anywhere. Its size grows with free GPUs times sizes of workers, not with the number of patterns.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, NamedTuple

from dlsched.problems.workers.definition.schema import Instance, Pool
from dlsched.problems.workers.programs.type_program import TypeProgram, add_to, value_of
from dlsched.problems.workers.structures.classes import Demand, Group, sizes_by_group
from dlsched.problems.workers.structures.placement_counts import Slot


class Node(NamedTuple):
    """A number of free GPUs in the network of a pool and group."""

    pool: Pool
    group: Group
    free: int

    def after(self, size: int) -> Node:
        """Return the node after a worker of some GPUs."""
        return Node(self.pool, self.group, self.free - size)


class ArcProgram(TypeProgram):
    """The flow program of one instance.

    Attributes
    ----------
    starts
        Classes of servers, by position, and groups, with the node at which their servers start.
    arcs
        The sizes of workers that may be placed at each node, nodes with more free GPUs first.
    """

    def __init__(self, instance: Instance) -> None:
        super().__init__(instance)
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

    def servers(self, m: Any) -> Iterator[Any]:
        """Declare the servers that start in each group, and the workers on each arc."""
        import pyomo.core as pyo

        whole = pyo.NonNegativeIntegers
        m.z = pyo.Var(
            list(self.starts),
            domain=whole,
            bounds=lambda m, c, g: (0, len(self.classes[c].servers)),
        )
        arcs = [(*node, size) for node, sizes in self.arcs.items() for size in sizes]
        most = {
            node: sum(
                len(self.classes[c].servers)
                for (c, _), start in self.starts.items()
                if start[:2] == node[:2] and start.free >= node.free
            )
            for node in self.arcs
        }
        m.a = pyo.Var(arcs, domain=whole, bounds=lambda m, p, g, r, k: (0, most[Node(p, g, r)]))
        yield from (m.z[c, g] for c, g in self.starts if self.classes[c].empty)

    def supply(self, m: Any, wanted: Mapping[Demand, Any]) -> None:
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
        self.limit_servers(m, of_class)

    def slots(self, m: Any) -> Iterator[Slot]:
        """Yield the workers on each path: servers go from node to node along the arcs."""
        reached: dict[Node, deque[int]] = defaultdict(deque)
        unused = [deque(entry.servers) for entry in self.classes]
        for (c, g), node in self.starts.items():
            for _ in range(value_of(m.z[c, g])):
                reached[node].append(unused[c].popleft())
        slots = []
        for node, sizes in self.arcs.items():
            for size in sizes:
                for _ in range(value_of(m.a[(*node, size)])):
                    s = reached[node].popleft()
                    reached[node.after(size)].append(s)
                    slots.append(Slot(s, node.group, size, 1))
        servers = chain.from_iterable(entry.servers for entry in self.classes)
        position = {s: i for i, s in enumerate(servers)}
        yield from sorted(slots, key=lambda slot: position[slot.server])

    def assign_server(self, m: Any, c: int, group: Group, workers: Counter[int]) -> None:
        """Follow the server's workers, the largest first."""
        node = self.starts[c, group]
        add_to(m.z[c, group], 1)
        for size in sorted(workers.elements(), reverse=True):
            add_to(m.a[(*node, size)], 1)
            node = node.after(size)


def arcs_exceed(instance: Instance, most: int) -> bool:
    """Whether the flow program may have more than a number of arcs."""
    networks = sizes_by_group(instance).values()
    free = max((server.free for server in instance.servers), default=0)
    return sum(len([size for size in sizes if size <= free]) for sizes in networks) * free > most
