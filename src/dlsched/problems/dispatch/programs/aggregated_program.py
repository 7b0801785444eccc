"""A relaxation of dispatch: machines of a cluster that are equal when empty are one large one."""

from collections import defaultdict
from typing import NamedTuple

from dlsched.problems.dispatch.definition.machines import RESOURCES
from dlsched.problems.dispatch.definition.ranking import Ranked, startable
from dlsched.problems.dispatch.definition.schema import Instance
from dlsched.problems.dispatch.programs.program_rows import Cell, ProgramRows, levels
from dlsched.problems.dispatch.structures.blocks import Block, blocks, shape_of
from dlsched.problems.dispatch.structures.fleet import Barred, Fleet, Request, fits
from dlsched.problems.dispatch.structures.victims import Amounts


class Pool(NamedTuple):
    """Machines of one cluster with the same capacity, GPU type and label, by block."""

    blocks: list[Block]

    @property
    def size(self) -> int:
        """The number of machines."""
        return sum(len(block.machines) for block in self.blocks)

    def room(self, request: Request) -> int:
        """Return how many tasks of a job fit on an empty machine."""
        first = self.blocks[0]
        if not shape_of(request).may_use(first.kind, first.label):
            return 0
        return min(request.tasks, fits(first.capacity, request.need))


def pools(fleet: Fleet, victims: list[int]) -> list[Pool]:
    """Return the pools of all clusters, in the order of their first machines."""
    alike: dict[tuple[int, int, int, Amounts], list[Block]] = defaultdict(list)
    for block in blocks(fleet, range(len(fleet.sites)), victims):
        alike[block.site, block.kind, block.label, block.capacity].append(block)
    return [Pool(of_pool) for of_pool in alike.values()]


class Aggregate(ProgramRows):
    """The program. Columns: region of each workload, tasks by pool, victims, machines in use."""

    def __init__(self, instance: Instance, barred: Barred | None = None) -> None:
        super().__init__()
        self.instance = instance
        self.fleet = Fleet(instance, barred)
        ranking = startable(instance)
        victims = self.fleet.below(ranking)
        self.pools = pools(self.fleet, victims)
        self.victims = {v: self.column(1) for v in victims}
        self.machines = [self.column(pool.size) for pool in self.pools]
        self.regions: dict[tuple[int, int], int] = {}
        self.tasks: list[list[tuple[int, Request]]] = [[] for _ in self.pools]
        for ranked in ranking:
            self._place(ranked)
        for k in range(len(self.pools)):
            self._fit(k)
            self._fit_large_tasks(k)
        self.levels = levels(self.fleet, ranking, self.victims, self.regions, self.machines)

    def _place(self, ranked: Ranked) -> None:
        """Add a workload: at most one region, and there all tasks of every job."""
        w = ranked.position
        chosen: list[Cell] = []
        for r, sites in self.fleet.sites_of(self.instance.pending[w]).items():
            region = self.column(1)
            self.regions[w, r] = region
            chosen.append((region, 1))
            for request in self.fleet.requests[w]:
                placed: list[Cell] = []
                for pool, tasks in zip(self.pools, self.tasks, strict=True):
                    room = pool.room(request) if pool.blocks[0].site in sites else 0
                    if room:
                        column = self.column(min(request.tasks, room * pool.size))
                        tasks.append((column, request))
                        placed.append((column, 1))
                self.balance([*placed, (region, -request.tasks)])
        if chosen:
            self.at_most(chosen, 1)

    def _fit(self, k: int) -> None:
        """Add a pool's capacity by resource, and the machines that its tasks need at least."""
        pool = self.pools[k]
        capacity = pool.blocks[0].capacity
        for i in range(len(RESOURCES)):
            needs = [(column, request.need[i]) for column, request in self.tasks[k]]
            if any(need for _, need in needs):
                free = sum(len(block.machines) * block.free[i] for block in pool.blocks)
                self.at_most([*needs, *self._released(pool.blocks, i)], free)
                self.at_most([*needs, (self.machines[k], -capacity[i])], 0)

    def _fit_large_tasks(self, k: int) -> None:
        """Add that a machine holds one task of more than half its capacity.

        It must have room for the smallest of them, now or after a victim on it stops.
        """
        pool = self.pools[k]
        capacity = pool.blocks[0].capacity
        for i in range(len(RESOURCES)):
            needs = [(column, request.need[i]) for column, request in self.tasks[k]]
            large = [(column, need) for column, need in needs if 2 * need > capacity[i]]
            if large:
                smallest = min(need for _, need in large)
                full = [block for block in pool.blocks if block.free[i] < smallest]
                tasks = [(column, 1) for column, _ in large]
                fitting = pool.size - Pool(full).size
                self.at_most([*tasks, *self._released(full)], fitting)

    def _released(self, blocks: list[Block], i: int | None = None) -> list[Cell]:
        """Return cells that add what victims hold of a resource; by default their machines."""
        cells: dict[int, int] = defaultdict(int)
        for block in blocks:
            for v, held in block.occupants:
                cells[self.victims[v]] -= len(block.machines) * (1 if i is None else held[i])
        return list(cells.items())
