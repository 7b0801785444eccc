"""The pattern program: classes of servers, maximal patterns and types of jobs, with counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from dlsched.problems.workers.definition.schema import Instance, Solution
from dlsched.problems.workers.programs.type_program import TypeProgram, add_to, value_of
from dlsched.problems.workers.structures.patterns import Demand, Group, Pattern, maximal_patterns
from dlsched.problems.workers.structures.placement_counts import held_by


class Program(TypeProgram):
    """The pattern program of one instance.

    Attributes
    ----------
    patterns
        For each class, by position, and group the patterns that one of its servers may hold.
    """

    def __init__(self, instance: Instance) -> None:
        super().__init__(instance)
        self.patterns: dict[tuple[int, Group], list[Pattern]] = {
            (c, group): list(maximal_patterns(self.sizes.get((entry.pool, group), ()), entry.free))
            for c, entry in enumerate(self.classes)
            for group in entry.groups
        }

    def servers(self, m: Any) -> Iterator[Any]:
        """Declare the number of servers of each class with each pattern."""
        import pyomo.environ as pyo

        m.z = pyo.Var(
            [(c, g, i) for (c, g), found in self.patterns.items() for i in range(len(found))],
            domain=pyo.NonNegativeIntegers,
            bounds=lambda m, c, g, i: (0, len(self.classes[c].servers)),
        )
        yield from (m.z[key] for key in m.z if self.classes[key[0]].empty)

    def supply(self, m: Any, wanted: Mapping[Demand, Any]) -> None:
        """Give the workers of each pool, group and size as many places in chosen patterns."""
        import pyomo.environ as pyo

        held: dict[Demand, list[Any]] = {key: [] for key in wanted}
        of_class: dict[int, list[Any]] = {}
        for (c, g, i), column in m.z.items():
            of_class.setdefault(c, []).append(column)
            for size, count in self.patterns[c, g][i].items():
                held[Demand(self.classes[c].pool, g, size)].append(count * column)
        m.supply = pyo.ConstraintList()
        for key, workers in wanted.items():
            m.supply.add(pyo.quicksum(held[key]) >= workers)
        m.servers = pyo.ConstraintList()
        for c, columns in of_class.items():
            m.servers.add(pyo.quicksum(columns) <= len(self.classes[c].servers))

    def slots(self, m: Any) -> Iterator[tuple[int, Group, int, int]]:
        """Yield the slots of the chosen patterns; those of empty servers come last."""
        for c, entry in enumerate(self.classes):
            servers = iter(entry.servers)
            for group in entry.groups:
                for i, pattern in enumerate(self.patterns[c, group]):
                    for _ in range(value_of(m.z[c, group, i])):
                        s = next(servers)
                        yield from ((s, group, size, n) for size, n in pattern.items())

    def assign_servers(self, instance: Instance, m: Any, solution: Solution) -> None:
        """Count the servers whose workers a pattern covers."""
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
                    add_to(m.z[c, group_at[s], i], 1)


def _covers(pattern: Pattern, workers: Mapping[int, int]) -> bool:
    return all(pattern.get(size, 0) >= count for size, count in workers.items())
