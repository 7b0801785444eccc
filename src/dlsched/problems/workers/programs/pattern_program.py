"""The pattern program: classes of servers, maximal patterns and types of jobs, with counts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from dlsched.problems.workers.definition.schema import Instance
from dlsched.problems.workers.programs.type_program import TypeProgram, add_to, value_of
from dlsched.problems.workers.structures.patterns import Demand, Group, Pattern, maximal_patterns
from dlsched.problems.workers.structures.placement_counts import Slot


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
        import pyomo.core as pyo

        m.z = pyo.Var(
            [(*key, i) for key, patterns in self.patterns.items() for i in range(len(patterns))],
            domain=pyo.NonNegativeIntegers,
            bounds=lambda m, c, g, i: (0, len(self.classes[c].servers)),
        )
        yield from (m.z[key] for key in m.z if self.classes[key[0]].empty)

    def supply(self, m: Any, wanted: Mapping[Demand, Any]) -> None:
        """Give the workers of each pool, group and size as many places in chosen patterns."""
        import pyomo.core as pyo

        held: dict[Demand, list[Any]] = {key: [] for key in wanted}
        of_class: dict[int, list[Any]] = defaultdict(list)
        for (c, g, i), column in m.z.items():
            of_class[c].append(column)
            for size, count in self.patterns[c, g][i].items():
                held[Demand(self.classes[c].pool, g, size)].append(count * column)
        m.supply = pyo.ConstraintList()
        for key, workers in wanted.items():
            m.supply.add(pyo.quicksum(held[key]) >= workers)
        self.limit_servers(m, of_class)

    def slots(self, m: Any) -> Iterator[Slot]:
        """Yield the slots of the chosen patterns; those of empty servers come last."""
        for c, entry in enumerate(self.classes):
            servers = iter(entry.servers)
            for group in entry.groups:
                for i, pattern in enumerate(self.patterns[c, group]):
                    for _ in range(value_of(m.z[c, group, i])):
                        s = next(servers)
                        yield from (Slot(s, group, size, n) for size, n in pattern.items())

    def assign_server(self, m: Any, c: int, group: Group, workers: Counter[int]) -> None:
        """Count the server for the first pattern that covers its workers."""
        covering = (
            i for i, pattern in enumerate(self.patterns[c, group]) if workers <= Counter(pattern)
        )
        add_to(m.z[c, group, next(covering)], 1)
