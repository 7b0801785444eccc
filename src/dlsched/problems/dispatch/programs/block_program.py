"""The program of a batch over blocks of equal machines: tasks are counted, not placed."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache

from dlsched.problems.dispatch.definition.machines import RESOURCES
from dlsched.problems.dispatch.definition.ranking import Ranked
from dlsched.problems.dispatch.programs.loads import Weights, capacity
from dlsched.problems.dispatch.programs.program_rows import Cell, ProgramRows, levels
from dlsched.problems.dispatch.structures.blocks import Batch, Shape, by_rack, shape_of


class Counts(ProgramRows):
    """The program for one division of the machines into blocks.

    Columns: region of each workload, cluster of each of its jobs, victims, tasks by block and
    shape, machines in use by block, racks in use. A block has room for what its machines have
    together, so the program is a relaxation; with one machine to a block it is exact but for
    `justify`, which every optimum of all levels meets.

    Attributes
    ----------
    region, cluster
        Column of a workload in a region, by positions; of its job in a cluster.
    victim
        Column by position of a running workload.
    tasks, machines
        Column by block and shape; column by block.
    rack
        Column by cluster and number of a rack.
    shapes_on
        By block the shapes of which it may have tasks.
    """

    def __init__(self, batch: Batch, cuts: Iterable[Weights] = ()) -> None:
        super().__init__()
        self.batch = batch
        self.fleet = batch.fleet
        self.blocks = batch.blocks
        self.of_site: dict[int, list[int]] = defaultdict(list)
        for b, block in enumerate(self.blocks):
            self.of_site[block.site].append(b)
        self.victim = {v: self.column(1) for v in batch.victims}
        self.machines = [self.column(len(block.machines)) for block in self.blocks]
        self.rack_of: dict[int, tuple[int, int]] = {}
        for b, block in enumerate(self.blocks):
            racks = list(by_rack(self.fleet, block))
            if len(racks) == 1:
                self.rack_of[b] = (block.site, racks[0])
        self.rack = {rack: self.column(1) for rack in dict.fromkeys(self.rack_of.values())}
        self.tasks: dict[tuple[int, Shape], int] = {}
        self.region: dict[tuple[int, int], int] = {}
        self.cluster: dict[tuple[int, int, int], int] = {}
        self.wanted: dict[tuple[int, Shape], list[Cell]] = defaultdict(list)
        for ranked in batch.ranking:
            self._place(ranked)
        for s, shape in self.wanted:
            self._supply(s, shape)
        self.shapes_on: dict[int, list[Shape]] = defaultdict(list)
        for b, shape in self.tasks:
            self.shapes_on[b].append(shape)
        for b, shapes in self.shapes_on.items():
            self._fit(b, shapes)
            self._use(b, shapes)
            for weights in cuts:
                self._weigh(b, shapes, weights)
        spread = [*self.machines, *self.rack.values()]
        self.levels = levels(self.fleet, batch.ranking, self.victim, self.region, spread)

    def _place(self, ranked: Ranked) -> None:
        """Add a workload: at most one region, in it one cluster for each job."""
        w = ranked.position
        requests = self.fleet.requests[w]
        regions: list[Cell] = []
        for r, sites in self.fleet.sites_of(self.fleet.instance.pending[w]).items():
            options = [
                [s for s in sites if self._most(s, shape_of(job)) >= job.tasks] for job in requests
            ]
            if not all(options):
                continue
            region = self.column(1)
            self.region[w, r] = region
            regions.append((region, 1))
            for j, (job, possible) in enumerate(zip(requests, options, strict=True)):
                for s in possible:
                    cluster = region if len(possible) == 1 else self.column(1)
                    self.cluster[w, j, s] = cluster
                    self.wanted[s, shape_of(job)].append((cluster, job.tasks))
                if len(possible) > 1:
                    clusters = [(self.cluster[w, j, s], 1) for s in possible]
                    self.balance([*clusters, (region, -1)])
        if len(regions) > 1:
            self.at_most(regions, 1)

    def _most(self, s: int, shape: Shape) -> int:
        """Return how many tasks of a shape fit in a cluster without anything else."""
        blocks = [self.blocks[b] for b in self.of_site[s]]
        return sum(len(block.machines) * block.room(shape) for block in blocks)

    def _supply(self, s: int, shape: Shape) -> None:
        """Add that the tasks of a shape in a cluster are on its machines."""
        wanted = self.wanted[s, shape]
        supply: list[Cell] = []
        for b in self.of_site[s]:
            most = self.blocks[b].room(shape) * len(self.blocks[b].machines)
            if most:
                column = self.column(most, min(most, sum(tasks for _, tasks in wanted)))
                self.tasks[b, shape] = column
                supply.append((column, 1))
        self.balance([*supply, *((column, -tasks) for column, tasks in wanted)])

    def _stopping(self, b: int, amount: int) -> list[Cell]:
        """Return cells that add an amount for each victim on a block's machines that stops."""
        return [(self.victim[v], -amount) for v, _ in self.blocks[b].occupants]

    def _fit(self, b: int, shapes: Sequence[Shape]) -> None:
        """Add the capacity of a block by resource, and what needs a victim on every machine."""
        block = self.blocks[b]
        n = len(block.machines)
        for i in range(len(RESOURCES)):
            needs = [(self.tasks[b, shape], shape.need[i]) for shape in shapes]
            if any(need for _, need in needs):
                released = [(self.victim[v], -n * held[i]) for v, held in block.occupants]
                self.at_most([*needs, *released], n * block.free[i])
        for shape in shapes:
            now = block.room(shape, ())
            later = block.room(shape)
            if n > 1 and now < later:
                released = self._stopping(b, n * (later - now))
                self.at_most([(self.tasks[b, shape], 1), *released], n * now)

    def _use(self, b: int, shapes: Sequence[Shape]) -> None:
        """Add the machines that a block's tasks need, and the racks of these.

        Capacities are those with all occupants gone.
        """
        block = self.blocks[b]
        for shape in shapes:
            self.at_most([(self.tasks[b, shape], 1), (self.machines[b], -block.room(shape))], 0)
        for i, have in enumerate(block.after()):
            for k in range(4 if have else 0):
                self._use_by_weight(b, shapes, i, k)
        if b in self.rack_of:
            rack = self.rack[self.rack_of[b]]
            self.at_most([(self.machines[b], 1), (rack, -len(block.machines))], 0)

    def _use_by_weight(self, b: int, shapes: Sequence[Shape], i: int, k: int) -> None:
        """Add the machines that tasks need by one resource.

        Weights of tasks that sum up to 1 at most on a machine are a dual feasible function of
        Fekete and Schepers; k = 1 says that a machine has room for one task of more than half of
        it. What fits on no machine now needs a victim there.
        """
        block = self.blocks[b]
        n = len(block.machines)
        have = block.after()[i]
        weights = [_weight(shape.need[i], have, k) for shape in shapes]
        shares = [_weight(shape.need[i], have, 0) for shape in shapes]
        if k and all(a <= b for a, b in zip(weights, shares, strict=True)):
            return
        unit = math.lcm(*(weight.denominator for weight in weights))
        cells = [
            (self.tasks[b, shape], int(weight * unit))
            for shape, weight in zip(shapes, weights, strict=True)
        ]
        if any(weights):
            self.at_most([*cells, (self.machines[b], -unit)], 0)
        late = [
            cell for shape, cell in zip(shapes, cells, strict=True) if not block.room(shape, ())
        ]
        if n > 1 and any(a for _, a in late):
            self.at_most([*late, *self._stopping(b, n * unit)], 0)

    def cut(self, stated: Weights) -> None:
        """Add that no block has more weight of tasks than its machines can."""
        for b, shapes in self.shapes_on.items():
            self._weigh(b, shapes, stated)

    def _weigh(self, b: int, shapes: Sequence[Shape], stated: Weights) -> None:
        """Add that a block's tasks have no more weight than its machines can, before and after."""
        weights = tuple((shape, part) for shape, part in stated if shape in shapes)
        if len(weights) < min(2, len(stated)):
            return  # the rows of `_fit` say as much
        block = self.blocks[b]
        now = capacity(weights, block.after(()))
        later = capacity(weights, block.after())
        if now is None or later is None:
            return
        n = len(block.machines)
        cells = [(self.tasks[b, shape], part) for shape, part in weights]
        self.at_most([*cells, (self.machines[b], -later)], 0)
        if now < later:
            self.at_most([*cells, *self._stopping(b, n * (later - now))], n * now)


@lru_cache(maxsize=1 << 16)
def _weight(need: int, have: int, k: int) -> Fraction:
    """Return the part of a machine that a task takes; for k = 0 what it needs."""
    share = Fraction(need, have)
    if k == 0 or ((k + 1) * share).denominator == 1:
        return share
    return Fraction(math.floor((k + 1) * share), k)
