"""Blocks: machines of a cluster that are alike in what is free on them and who holds what."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from dlsched.problems.dispatch.definition.ranking import Ranked, startable
from dlsched.problems.dispatch.definition.schema import Instance
from dlsched.problems.dispatch.structures.fleet import Barred, Fleet, Labels, Request, fits
from dlsched.problems.dispatch.structures.victims import Amounts, Occupants


class Shape(NamedTuple):
    """What a task needs: the GPU type, -1 for a CPU job, the amounts, the machines of a rule."""

    kind: int
    need: Amounts
    allowed: Labels = None

    def may_use(self, kind: int, label: int) -> bool:
        """Whether such a task may be on machines of a GPU type, -1 for none, and a label."""
        return self.kind in (-1, kind) and (self.allowed is None or label in self.allowed)


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
    label
        What a rule says of them (`fleet.Barred`); 0 without a rule.
    machines
        Positions in the cluster.
    """

    site: int
    kind: int
    capacity: Amounts
    free: Amounts
    occupants: Occupants
    label: int
    machines: tuple[int, ...]

    def room(self, shape: Shape, gone: Collection[int] | None = None) -> int:
        """Return how many tasks fit on each if some occupants, by default all of them, stop."""
        if not shape.may_use(self.kind, self.label):
            return 0
        return fits(self.after(gone), shape.need)

    def after(self, gone: Collection[int] | None = None) -> Amounts:
        """Return what is free on each after some occupants, by default all of them, stop."""
        gpus, cpus, memory = self.free
        for victim, held in self.occupants:
            if gone is None or victim in gone:
                gpus += held[0]
                cpus += held[1]
                memory += held[2]
        return gpus, cpus, memory


def shape_of(request: Request) -> Shape:
    """Return the shape of a job's tasks. A task needs GPUs or CPUs (the schema)."""
    return Shape(request.kind, request.need, request.allowed)


def blocks(fleet: Fleet, sites: Iterable[int], victims: Collection[int]) -> list[Block]:
    """Return the blocks of some clusters, in the order of their first machines.

    Parameters
    ----------
    victims
        Running workloads that may be preempted.
    """
    alike: dict[tuple[int, int, Amounts, Amounts, Occupants, int], list[int]] = {}
    for s in sites:
        site = fleet.sites[s]
        occupants = fleet.holdings[s].occupants(victims)
        capacities = fleet.capacity[:, site.machines].T.tolist()
        free = fleet.free[:, site.machines].T.tolist()
        labels = site.label.tolist()
        for m, kind in enumerate(site.kind.tolist()):
            held = occupants.get(m, ())
            key = (s, kind, tuple(capacities[m]), tuple(free[m]), held, labels[m])
            alike.setdefault(key, []).append(m)
    return [Block(*key, tuple(machines)) for key, machines in alike.items()]


def halves(block: Block) -> list[Block]:
    """Return a block of several machines as two."""
    middle = len(block.machines) // 2
    parts = (block.machines[:middle], block.machines[middle:])
    return [block._replace(machines=machines) for machines in parts]


def by_rack(fleet: Fleet, block: Block) -> dict[int, Block]:
    """Return the part of a block in each rack, by the rack's number."""
    racks: dict[int, list[int]] = {}
    rack_of = fleet.sites[block.site].rack
    for m in block.machines:
        racks.setdefault(int(rack_of[m]), []).append(m)
    return {rack: block._replace(machines=tuple(m)) for rack, m in racks.items()}


class Batch(NamedTuple):
    """What a program of all workloads is about.

    Attributes
    ----------
    fleet, ranking
        The machines, and the workloads that may start.
    victims
        Running workloads that may be preempted.
    blocks
        A division of the machines that may be used.
    """

    fleet: Fleet
    ranking: Sequence[Ranked]
    victims: Sequence[int]
    blocks: Sequence[Block]

    def divided_by_rack(self) -> Batch:
        """Return the same with no block that has machines of several racks."""
        parts = [part for b in self.blocks for part in by_rack(self.fleet, b).values()]
        return self._replace(blocks=parts)


def coarsest(instance: Instance, barred: Barred | None = None) -> Batch:
    """Return the batch with the largest blocks: of all machines that are alike, in any rack.

    Under a rule, if there is one.
    """
    fleet = Fleet(instance, barred)
    ranking = startable(instance)
    sites = {
        s
        for ranked in ranking
        for of_region in fleet.sites_of(instance.pending[ranked.position]).values()
        for s in of_region
    }
    victims = fleet.below(ranking)
    return Batch(fleet, ranking, victims, blocks(fleet, sorted(sites), victims))
