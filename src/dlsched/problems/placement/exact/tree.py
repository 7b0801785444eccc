"""A lower bound from a tree over the homes of the tables of which most bytes are read.

A home of such a table ties its readers to a region: those of two tables in different regions pay
their traffic, and what is left of each cell has less choice. Tables that no region has room for
together, under (4) or the move quota, are never together.

Costs are calculated in doubles, in units of the largest weight. They are sums of terms that are not
negative, so that their errors are relative to the sum.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from dlsched.problems.placement.definition.schema import Instance
from dlsched.problems.placement.kernels.cell_bound import LEAST, least_cost
from dlsched.problems.placement.programs.coefficients import Shares
from dlsched.problems.placement.programs.gpu_cells import cells_of, traffic_of, unplaced, weights_of
from dlsched.problems.placement.programs.indivisible_bounds import (
    GPU_SUM,
    byte_shares,
    cell_bound,
    relaxed_squares,
    rounded_down,
    storage_weight,
    table_squares,
)
from dlsched.run import Run

Homes = tuple[int, ...]
_RECORD_EVERY = 100


class HomeTree:
    """A best-first search over the homes of some tables, with searches of few nodes for cells."""

    def __init__(self, instance: Instance, tables: int, cell_nodes: int) -> None:
        shares = Shares(instance)
        self.cell_nodes = cell_nodes
        self.heavy = heaviest(instance)[:tables]
        cells = cells_of(shares)
        weights = weights_of(shares)
        traffic = Fraction(instance.weights.traffic)
        stored = storage_weight(instance)
        self.unit = max(traffic, stored, *weights.values()) or Fraction(1)
        self.cells = list(cells.values())
        self.weight = [float(weights[key] / self.unit) for key in cells]
        self.stored_weight = float(stored / self.unit)
        self.size = np.zeros(0)
        self.target = np.zeros(len(instance.regions))
        if stored:
            self.size, self.target = map(np.array, byte_shares(instance))
        self.storage = table_squares(instance)
        self.places = [np.searchsorted(cell.names, self.heavy) for cell in self.cells]
        self.read_in = [np.flatnonzero(np.isin(self.heavy, c.names)).tolist() for c in self.cells]
        self.known: dict[tuple[int, Homes], float] = {}
        for x, cell in enumerate(self.cells):
            self.known[x, ()] = cell_bound(cell)
        self.travel = Travel(shares, self.heavy, set(cells), self.unit)
        self.room = Room(instance, self.heavy)
        self.root = self.value(())

    def bound(self, run: Run, nodes: int) -> Fraction:
        """Return the least value of a leaf, or of the open nodes at a limit, rounded down."""
        bound = self.root
        depth = len(self.heavy)
        steps = best_first(self.root, depth, self.room, lambda homes: map(self.value, homes), run)
        for done, (bound, _) in enumerate(steps):
            if done and done % _RECORD_EVERY == 0:
                run.record(None, float(self.unit * Fraction(bound)))
            if done >= nodes:
                break
        operations = len(self.cells) + len(self.travel.part) * (len(self.heavy) + 1) + 8
        exact = Fraction(bound) * (1 - Fraction(operations, 2**50)) - Fraction(LEAST)
        return max(Fraction(0), self.unit * exact * GPU_SUM)

    def value(self, homes: Homes) -> float:
        """Return a lower bound on the cost with these homes of the first tables."""
        cells = sum(weight * self.cell(x, homes) for x, weight in enumerate(self.weight))
        return cells + self.travel.cost(homes) + self.stored(homes)

    def cell(self, x: int, homes: Homes) -> float:
        """Return a lower bound on the cost of a cell, in units of its weight."""
        placed = [h for h in self.read_in[x] if h < len(homes)]
        regions = tuple([homes[h] for h in placed])
        if (x, regions) not in self.known:
            given = unplaced(self.cells[x])
            given[self.places[x][placed]] = regions
            least = least_cost(self.cells[x], given, self.cell_nodes)
            self.known[x, regions] = max(least, self.cell(x, homes[: placed[-1]]))
        return self.known[x, regions]

    def stored(self, homes: Homes) -> float:
        """Return a lower bound on the storage part of the cost."""
        if not self.stored_weight:
            return 0.0
        share = self.size[self.heavy[: len(homes)]]
        load = np.bincount(np.array(homes, dtype=np.int64), share, len(self.target))
        rest = max(0.0, 1 - float(load.sum()))
        squares = relaxed_squares(load - self.target, rest)
        least = rounded_down(squares, len(self.size), len(self.target))
        return self.stored_weight * max(self.storage, least)


def best_first(
    root: float,
    depth: int,
    room: Room,
    values: Callable[[list[Homes]], Iterable[float]],
    run: Run,
) -> Iterator[tuple[float, int]]:
    """Search over the homes of tables; yield the least bound of an open node after each step.

    The number of nodes that the step made is yielded with it. It ends at a node with all homes, of
    `depth` tables. The bound of the first node is `root`, those of others are `values`.
    """
    open_nodes: list[tuple[float, Homes]] = [(root, ())]
    children: list[Homes] = []
    while open_nodes:
        bound, homes = open_nodes[0]
        yield bound, len(children)
        if len(homes) == depth or run.stop_reason():
            return
        heapq.heappop(open_nodes)
        children = [(*homes, r) for r in room.regions(homes)]
        for value, child in zip(values(children), children, strict=True):
            heapq.heappush(open_nodes, (max(bound, value), child))


class Travel:
    """Traffic of the jobs that are in no cell.

    A training job pays all its bytes if two of its tables are apart, another one the bytes of its
    tables outside the region where most of its bytes are, if not more.
    """

    def __init__(
        self, shares: Shares, heavy: Any, counted: set[tuple[int, int]], unit: Fraction
    ) -> None:
        place = {int(t): h for h, t in enumerate(heavy)}
        charged = {g for key in counted for g in shares.demand[key]}
        cost = traffic_of(shares)
        weight = Fraction(shares.instance.weights.traffic) / unit
        part = []
        whole = []
        for g, group in enumerate(shares.groups):
            tables = [t for t in group.tables if t in place]
            if len(tables) < 2 or (group.together and g in charged):
                continue
            row = np.zeros(len(heavy))
            for t in tables:
                row[place[t]] = 1.0 if group.together else float(weight * shares.read[g][t])
            part.append(row)
            whole.append(float(cost[g] / unit) if group.together else -1.0)
        self.regions = len(shares.regions)
        self.part = np.array(part).reshape(len(part), len(heavy))
        """By group and table: the cost of the bytes; 1 for a training group."""
        self.whole = np.array(whole)
        """By group: the cost of all bytes of a training group, else -1."""

    def cost(self, homes: Homes) -> float:
        """Return a lower bound on the traffic's cost, in the unit."""
        if len(homes) < 2 or not len(self.part):
            return 0.0
        is_home = np.eye(self.regions)[list(homes)]
        by_region = self.part[:, : len(homes)] @ is_home
        elsewhere = np.sort(by_region, axis=1)[:, :-1].sum(axis=1)
        paid = np.where(self.whole < 0, elsewhere, self.whole * (elsewhere > 0))
        return float(paid.sum())


class Room:
    """The regions that can take a table, given the homes of the tables before it; exact."""

    def __init__(self, instance: Instance, heavy: Any) -> None:
        self.size = [Fraction(instance.tables[t].size) for t in heavy]
        self.capacity = [Fraction(region.storage_capacity) for region in instance.regions]
        self.today = [instance.region_index.get(instance.tables[t].home or "") for t in heavy]
        self.quota: Fraction | float = (
            math.inf if instance.move_quota is None else Fraction(instance.move_quota)
        )

    def regions(self, homes: Homes) -> list[int]:
        """Return the regions with room for the next table."""
        new = len(homes)
        free = list(self.capacity)
        moved = Fraction(0)
        for h, r in enumerate(homes):
            free[r] -= self.size[h]
            moved += self._moved(h, r)
        return [
            r
            for r, room in enumerate(free)
            if room >= self.size[new] and moved + self._moved(new, r) <= self.quota
        ]

    def _moved(self, h: int, r: int) -> Fraction:
        return Fraction(0) if self.today[h] in (None, r) else self.size[h]


def heaviest(instance: Instance) -> Any:
    """Return the tables by the bytes that all jobs read of them, descending."""
    readers = Counter(name for job in instance.jobs for name in job.tables)
    read = [-float(table.size) * readers[table.id] for table in instance.tables]
    return np.argsort(read, kind="stable")
