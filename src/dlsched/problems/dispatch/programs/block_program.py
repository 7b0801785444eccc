"""The program of a batch over blocks of equal machines: tasks are counted, not placed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dlsched.problems.dispatch.definition.ranking import Ranked
from dlsched.problems.dispatch.programs.level_costs import as_vectors, levels
from dlsched.problems.dispatch.programs.loads import Weights, capacity
from dlsched.problems.dispatch.structures.blocks import Block, Shape, shape_of
from dlsched.problems.dispatch.structures.fleet import Fleet
from dlsched.schema import Number, simplify
from dlsched.solvers.digits import rounded_down
from dlsched.solvers.outcome import Vector
from dlsched.solvers.standard_form import INF, StandardForm


class Counts:
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
    tasks
        Column by block and shape.
    most
        Upper bound of a column of tasks that is as low as the jobs in its cluster allow.
    """

    def __init__(
        self,
        fleet: Fleet,
        ranking: Sequence[Ranked],
        victims: Sequence[int],
        own: Sequence[Block],
        cuts: Iterable[Weights] = (),
    ) -> None:
        self.fleet, self.ranking, self.blocks = fleet, ranking, list(own)
        self.top: list[float] = []
        self.lower: list[float] = []
        self.upper: list[float] = []
        self.cells: list[tuple[int, int, float]] = []
        self.most: dict[int, int] = {}
        self.of_site: dict[int, list[int]] = {}
        for b, block in enumerate(self.blocks):
            self.of_site.setdefault(block.site, []).append(b)
        self.victim = {v: self._column(1) for v in victims}
        self.machines = [self._column(len(block.machines)) for block in self.blocks]
        racks = dict.fromkeys(rack for block in self.blocks if (rack := self._rack(block)))
        self.rack = {rack: self._column(1) for rack in racks}
        self.tasks: dict[tuple[int, Shape], int] = {}
        self.region: dict[tuple[int, int], int] = {}
        self.cluster: dict[tuple[int, int, int], int] = {}
        wanted: dict[tuple[int, Shape], list[tuple[int, int]]] = {}
        for ranked in ranking:
            self._place(ranked, wanted)
        for (s, shape), cells in wanted.items():
            self._supply(s, shape, cells)
        shapes: dict[int, list[Shape]] = {}
        for b, shape in self.tasks:
            shapes.setdefault(b, []).append(shape)
        for b, some in shapes.items():
            self._room(b, some)
            self._used(b, some)
            for weights in cuts:
                self._weighted(b, some, weights)

    def _rack(self, block: Block) -> tuple[int, int] | None:
        """Return cluster and number of a block's rack; ``None`` if it has machines of several."""
        racks = set(self.fleet.sites[block.site].rack[list(block.machines)].tolist())
        return (block.site, racks.pop()) if len(racks) == 1 else None

    def _column(self, most: float) -> int:
        self.top.append(most)
        return len(self.top) - 1

    def _at_most(self, cells: Sequence[tuple[int, int]], high: int) -> None:
        """Add a row, divided by the greatest common divisor of its numbers and rounded down."""
        unit = math.gcd(*(a for _, a in cells), high) or 1
        whole = {column: a // unit for column, a in cells}
        top = {column: self.most.get(column, int(self.top[column])) for column in whole}
        smaller, most = rounded_down(whole, high // unit, top)
        self._add(smaller.items(), -INF, most)

    def _balance(self, cells: Sequence[tuple[int, int]]) -> None:
        """Add that a sum is 0."""
        unit = math.gcd(*(a for _, a in cells)) or 1
        self._add([(column, a // unit) for column, a in cells], 0, 0)

    def _add(self, cells: Iterable[tuple[int, int]], low: float, high: float) -> None:
        self.cells += [(len(self.lower), column, a) for column, a in cells if a]
        self.lower.append(low)
        self.upper.append(high)

    def _place(
        self, ranked: Ranked, wanted: dict[tuple[int, Shape], list[tuple[int, int]]]
    ) -> None:
        """Add a workload: at most one region, in it one cluster for each job."""
        fleet, w = self.fleet, ranked.position
        chosen = []
        for r, sites in fleet.sites_of(fleet.instance.pending[w]).items():
            options = [
                [s for s in sites if self._most(s, shape_of(job)) >= job.tasks]
                for job in fleet.requests[w]
            ]
            if not all(options):
                continue
            column = self.region[w, r] = self._column(1)
            chosen.append((column, 1))
            for j, (job, own) in enumerate(zip(fleet.requests[w], options, strict=True)):
                for s in own:
                    at = column if len(own) == 1 else self._column(1)
                    self.cluster[w, j, s] = at
                    wanted.setdefault((s, shape_of(job)), []).append((at, job.tasks))
                if len(own) > 1:
                    self._balance([*((self.cluster[w, j, s], 1) for s in own), (column, -1)])
        if len(chosen) > 1:
            self._at_most(chosen, 1)

    def _most(self, s: int, shape: Shape) -> int:
        """Return how many tasks of a shape fit in a cluster without anything else."""
        own = (self.blocks[b] for b in self.of_site.get(s, ()))
        return sum(len(block.machines) * block.room(shape) for block in own)

    def _supply(self, s: int, shape: Shape, cells: Sequence[tuple[int, int]]) -> None:
        """Add that the tasks of a shape in a cluster are on its machines."""
        supply = []
        wanted = sum(tasks for _, tasks in cells)
        for b in self.of_site.get(s, ()):
            most = self.blocks[b].room(shape) * len(self.blocks[b].machines)
            if most:
                column = self.tasks[b, shape] = self._column(most)
                self.most[column] = min(most, wanted)
                supply.append((column, 1))
        self._balance([*supply, *((column, -tasks) for column, tasks in cells)])

    def _room(self, b: int, shapes: Sequence[Shape]) -> None:
        """Add the capacity of a block by resource, and what needs a victim on every machine."""
        block = self.blocks[b]
        n = len(block.machines)
        for i in range(3):
            needs = [(self.tasks[b, shape], shape.need[i]) for shape in shapes]
            if any(need for _, need in needs):
                back = [(self.victim[v], -n * held[i]) for v, held in block.occupants]
                self._at_most([*needs, *back], n * block.free[i])
        gone = [(self.victim[v], -n) for v, _ in block.occupants]
        for shape in shapes:
            now, later = block.room(shape, ()), block.room(shape)
            if n > 1 and now < later:
                back = [(column, a * (later - now)) for column, a in gone]
                self._at_most([(self.tasks[b, shape], 1), *back], n * now)

    def _used(self, b: int, shapes: Sequence[Shape]) -> None:
        """Add the machines that a block's tasks need, and the racks of these.

        Capacities are those with all occupants gone. Weights of tasks that sum up to 1 at most on
        a machine are a dual feasible function of Fekete and Schepers; the first one says that a
        machine has room for one task of more than half of it.
        """
        block, machines = self.blocks[b], self.machines[b]
        n, have = len(block.machines), block.after()
        for shape in shapes:
            self._at_most([(self.tasks[b, shape], 1), (machines, -block.room(shape))], 0)
        for i in range(3):
            for k in range(4 if have[i] else 0):
                weights = [_weight(shape.need[i], have[i], k) for shape in shapes]
                shares = [_weight(shape.need[i], have[i], 0) for shape in shapes]
                if k and all(a <= b for a, b in zip(weights, shares, strict=True)):
                    continue
                unit = math.lcm(*(weight.denominator for weight in weights))
                cells = [
                    (self.tasks[b, shape], weight.numerator * (unit // weight.denominator))
                    for shape, weight in zip(shapes, weights, strict=True)
                ]
                if any(a for _, a in cells):
                    self._at_most([*cells, (machines, -unit)], 0)
                late = [
                    cell for shape, cell in zip(shapes, cells, strict=True)
                    if not block.room(shape, ())
                ]  # fmt: skip
                if n > 1 and any(a for _, a in late):
                    gone = [(self.victim[v], -n * unit) for v, _ in block.occupants]
                    self._at_most([*late, *gone], 0)
        rack = self._rack(block)
        if rack is not None:
            self._at_most([(machines, 1), (self.rack[rack], -n)], 0)

    def _weighted(self, b: int, shapes: Sequence[Shape], weights: Weights) -> None:
        """Add that a block's tasks have no more weight than its machines can, before and after."""
        block = self.blocks[b]
        own = tuple((shape, part) for shape, part in weights if shape in shapes)
        if len(own) < min(2, len(weights)):
            return  # the rows of `_room` say as much
        now, later = (capacity(own, block.after(gone)) for gone in ((), None))
        if now is None or later is None:
            return
        n = len(block.machines)
        cells = [(self.tasks[b, shape], part) for shape, part in own]
        self._at_most([*cells, (self.machines[b], -later)], 0)
        if now < later:
            gone = [(self.victim[v], n * (now - later)) for v, _ in block.occupants]
            self._at_most([*cells, *gone], n * now)

    def form(self) -> StandardForm:
        """Return the program with the problem's levels."""
        from scipy import sparse

        width = len(self.top)
        at = np.array(self.cells, dtype=float).reshape(-1, 3)
        matrix = sparse.csc_array(
            (at[:, 2], (at[:, 0].astype(int), at[:, 1].astype(int))),
            shape=(len(self.lower), width),
        )
        spread = [*self.machines, *self.rack.values()]
        self.costs, grains, senses = levels(
            self.fleet, self.ranking, self.victim, self.region, spread
        )
        costs = as_vectors(self.costs, width)
        return StandardForm(
            matrix,
            np.array(self.lower, dtype=float),
            np.array(self.upper, dtype=float),
            np.zeros(width),
            np.array(self.top, dtype=float),
            np.ones(width, dtype=bool),
            costs,
            (0.0,) * len(costs),
            tuple(senses),
            tuple(grains),
            tuple(f"level_{level}" for level in range(len(costs))),
        )

    def value(self, level: int, values: Vector) -> Number:
        """Return the exact value of a level at an integer point."""
        return simplify(Fraction(sum(c * int(values[j]) for j, c in self.costs[level].items())))


@lru_cache(maxsize=1 << 16)
def _weight(need: int, have: int, k: int) -> Fraction:
    """Return the part of a machine that a task takes; for k = 0 what it needs."""
    share = Fraction(need, have)
    if k == 0 or ((k + 1) * share).denominator == 1:
        return share
    return Fraction(math.floor((k + 1) * share), k)
