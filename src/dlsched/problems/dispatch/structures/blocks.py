"""Blocks: machines of a cluster that are alike in what is free on them and who holds what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from dlsched.problems.dispatch.definition.ranking import Ranked, startable
from dlsched.problems.dispatch.definition.schema import Instance
from dlsched.problems.dispatch.structures.fleet import Fleet, Request

Amounts: TypeAlias = tuple[int, int, int]
"""GPUs, CPUs and memory in the integers of the fleet."""


class Shape(NamedTuple):
    """What a task needs: the GPU type, -1 for a CPU job, and the amounts."""

    kind: int
    need: Amounts


class Block(NamedTuple):
    """Machines of one cluster that are alike.

    Attributes
    ----------
    site, kind, capacity
        Their cluster, GPU type (-1 for none), and what each has when it is empty.
    free
        What is free on each as long as nobody is preempted.
    occupants
        Running workloads that may be preempted, with what they hold on each machine.
    machines
        Positions in the cluster.
    """

    site: int
    kind: int
    capacity: Amounts
    free: Amounts
    occupants: tuple[tuple[int, Amounts], ...]
    machines: tuple[int, ...]

    def room(self, shape: Shape, gone: Iterable[int] | None = None) -> int:
        """Return how many tasks fit on each if some occupants, by default all of them, stop."""
        if shape.kind not in (-1, self.kind):
            return 0
        have = self.after(gone)
        return min(a // b for a, b in zip(have, shape.need, strict=True) if b)

    def after(self, gone: Iterable[int] | None = None) -> Amounts:
        """Return what is free on each after some occupants, by default all of them, stop."""
        left = None if gone is None else set(gone)
        total = list(self.free)
        for v, amounts in self.occupants:
            if left is None or v in left:
                total = [a + b for a, b in zip(total, amounts, strict=True)]
        return (total[0], total[1], total[2])


def shape_of(request: Request) -> Shape:
    """Return the shape of a job's tasks. A task needs GPUs or CPUs (the schema)."""
    return Shape(request.kind, request.need)


def blocks(fleet: Fleet, sites: Iterable[int], victims: frozenset[int]) -> list[Block]:
    """Return the blocks of some clusters, in the order of their first machines.

    Parameters
    ----------
    victims
        Running workloads that may be preempted.
    """
    found: dict[tuple[int, int, Amounts, Amounts, tuple[tuple[int, Amounts], ...]], list[int]] = {}
    for s in sites:
        at, held = fleet.sites[s], fleet.holdings[s]
        mine = np.isin(held.victim, list(victims))
        occupants: dict[int, list[tuple[int, Amounts]]] = {}
        entries = zip(
            held.victim[mine].tolist(),
            held.machine[mine].tolist(),
            held.amount[:, mine].T.tolist(),
            strict=True,
        )
        for v, m, (gpus, cpus, memory) in entries:
            occupants.setdefault(m, []).append((v, (gpus, cpus, memory)))
        free = fleet.free[:, at.machines].T.tolist()
        capacity = fleet.capacity[:, at.machines].T.tolist()
        for m, kind in enumerate(at.kind.tolist()):
            key = (
                s,
                kind,
                _amounts(capacity[m]),
                _amounts(free[m]),
                tuple(sorted(occupants.get(m, ()))),
            )
            found.setdefault(key, []).append(m)
    return [Block(*key, tuple(machines)) for key, machines in found.items()]


def _amounts(row: Sequence[int]) -> Amounts:
    return (row[0], row[1], row[2])


def halves(block: Block) -> list[Block]:
    """Return a block of several machines as two."""
    middle = len(block.machines) // 2
    return [
        block._replace(machines=block.machines[:middle]),
        block._replace(machines=block.machines[middle:]),
    ]


def by_rack(fleet: Fleet, block: Block) -> list[Block]:
    """Return the parts of a block in each rack."""
    racks: dict[int, list[int]] = {}
    for m in block.machines:
        racks.setdefault(int(fleet.sites[block.site].rack[m]), []).append(m)
    return [block._replace(machines=tuple(machines)) for machines in racks.values()]


def coarsest(instance: Instance) -> tuple[Fleet, Sequence[Ranked], list[int], list[Block]]:
    """Return fleet, ranking, the running workloads that may be preempted, and the largest blocks.

    The blocks have all machines that are alike, those of several racks too.
    """
    fleet, ranking = Fleet(instance), startable(instance)
    best = min((ranked.priority for ranked in ranking), default=None)
    victims = [] if best is None else np.flatnonzero(fleet.priority > best).tolist()
    sites = {
        s
        for ranked in ranking
        for own in fleet.sites_of(instance.pending[ranked.position]).values()
        for s in own
    }
    return fleet, ranking, victims, blocks(fleet, sorted(sites), frozenset(victims))
