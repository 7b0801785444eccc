"""Classes of equal machines, and the maximal numbers of tasks that fit on one of each."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations
from typing import NamedTuple

from dlsched.errors import OptionError
from dlsched.problems.dispatch.programs.loads import Load, full_loads
from dlsched.problems.dispatch.structures.blocks import Block, blocks, by_rack, shape_of
from dlsched.problems.dispatch.structures.fleet import Fleet, Request

MOST_PATTERNS = 5000
"""Upper limit of the victim sets of one machine that are enumerated."""


class Pattern(NamedTuple):
    """A maximal number of tasks of each job on a machine, and the victims that this needs."""

    victims: tuple[int, ...]
    tasks: Load

    def dominates(self, victims: Collection[int], tasks: Load) -> bool:
        """Whether it has no fewer tasks than another pattern, and needs no other victims."""
        needed = set(self.victims) <= set(victims)
        return needed and all(a >= b for a, b in zip(self.tasks, tasks, strict=True))


class MachineClass(NamedTuple):
    """Machines of one cluster that are equal in rack and patterns."""

    site: int
    rack: int
    patterns: tuple[Pattern, ...]
    machines: tuple[int, ...]


def classes(
    fleet: Fleet, site: int, requests: Sequence[Request], victims: Collection[int]
) -> list[MachineClass]:
    """Return the classes of a cluster's machines on which some task fits.

    Parameters
    ----------
    victims
        Running workloads that may be preempted.

    Raises
    ------
    OptionError
        If a machine has too many victims to enumerate the sets of them.
    """
    machines: dict[tuple[int, tuple[Pattern, ...]], list[int]] = {}
    for block in blocks(fleet, [site], victims):
        patterns = tuple(_patterns(block, requests))
        for rack, part in by_rack(fleet, block).items() if patterns else ():
            machines.setdefault((rack, patterns), []).extend(part.machines)
    found = [
        MachineClass(site, rack, patterns, tuple(sorted(equal)))
        for (rack, patterns), equal in machines.items()
    ]
    return sorted(found, key=lambda machine_class: machine_class.machines)


def _patterns(block: Block, requests: Sequence[Request]) -> list[Pattern]:
    """Return the patterns of a block's machines that no other one dominates."""
    needs = [request.need for request in requests]
    most = [
        request.tasks if shape_of(request).may_use(block.kind, block.label) else 0
        for request in requests
    ]
    occupants = [victim for victim, _ in block.occupants]
    with_all_stopped = list(full_loads(needs, block.after(), most))
    patterns: list[Pattern] = []

    def dominated(victims: Collection[int], tasks: Load) -> bool:
        return not any(tasks) or any(other.dominates(victims, tasks) for other in patterns)

    enumerated = 0
    for k in range(len(occupants) + 1):
        for victims in combinations(occupants, k):
            enumerated += 1
            if enumerated > MOST_PATTERNS:
                raise OptionError(
                    f"a machine has {len(occupants)} workloads that may be preempted, too many to "
                    f"enumerate their sets; use classes"
                )
            for tasks in full_loads(needs, block.after(victims), most):
                if not dominated(victims, tasks):
                    patterns.append(Pattern(victims, tasks))
        if k == 0 and all(dominated((), tasks) for tasks in with_all_stopped):
            break  # no victim makes a difference
    return patterns
