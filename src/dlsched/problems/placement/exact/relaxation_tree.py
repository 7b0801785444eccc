"""A lower bound from a tree over the homes of tables, with the linear relaxation at each node.

A home is a fixed column of the relaxation, and every node's bound is recomputed from its duals in
exact arithmetic. A region is left out only if an exact sum of sizes shows that it has no room: a
node that the solver calls infeasible, or fails at, keeps the bound of the node above.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from dlsched.errors import SolverFailure
from dlsched.problems.placement.definition.check import TOLERANCE, rounding_margin
from dlsched.problems.placement.definition.schema import Instance
from dlsched.problems.placement.model import columns_by_name
from dlsched.problems.placement.programs.tunables import TUNABLES
from dlsched.run import Run
from dlsched.solvers import highs
from dlsched.solvers.certificate import dual_bound
from dlsched.solvers.standard_form import StandardForm

Homes = tuple[int, ...]
"""Positions of the regions of the first tables."""


class RelaxationTree:
    """A best-first search over the homes of the tables of which most bytes are read.

    Parameters
    ----------
    instance
        The instance.
    form
        Its model, with the tangents of the relaxation's last round.
    root
        A lower bound on the cost.
    tables
        How many tables get a home in the tree.
    """

    def __init__(self, instance: Instance, form: StandardForm, root: float, tables: int) -> None:
        self.form = form
        self.root = root
        self.margin = rounding_margin(instance)
        heavy = heaviest(instance)[:tables]
        self.room = Room(instance, heavy)
        column = columns_by_name(form)["x"]
        names = [instance.tables[t].id for t in heavy]
        regions = instance.regions
        self.columns = np.array([[column[name, region.id] for region in regions] for name in names])

    def bound(self, run: Run, nodes: int) -> float:
        """Return the least bound of an open node, after this many relaxations or at a limit.

        As many relaxations are solved at a time as the run has threads.
        """
        bound = self.root
        done = 0
        with ThreadPoolExecutor(run.threads) as pool:

            def values(children: list[Homes]) -> Iterable[float]:
                return pool.map(lambda homes: self.value(homes, run), children)

            for bound, made in best_first(self.root, len(self.columns), self.room, values, run):
                done += made
                if made:
                    run.record(None, bound)
                if done >= nodes:
                    break
        return bound

    def value(self, homes: Homes, run: Run) -> float:
        """Return a lower bound on the cost with these homes of the first tables; 0 at a limit."""
        if run.stop_reason():
            return 0.0
        lower = self.form.lower.copy()
        upper = self.form.upper.copy()
        for columns, r in zip(self.columns, homes, strict=False):
            upper[columns] = 0
            lower[columns[r]] = upper[columns[r]] = 1
        form = replace(self.form, lower=lower, upper=upper)
        try:
            duals = highs.interior_point(
                form, 0, run, threads=1, accuracy=TUNABLES.last_accuracy
            ).duals
        except SolverFailure:  # with numbers of very different sizes
            duals = None
        # Exact arithmetic has no limit of its own, and takes seconds on large relaxations.
        if duals is None or run.stop_reason():
            return 0.0
        return float(dual_bound(form, 0, duals) or 0) * (1 - TOLERANCE) - self.margin


def best_first(
    root: float,
    depth: int,
    room: Room,
    values: Callable[[list[Homes]], Iterable[float]],
    run: Run,
) -> Iterator[tuple[float, int]]:
    """Search over the homes of tables; yield the least bound of an open node after each step.

    The number of nodes that the step made is yielded with it. It ends at a node with all homes.

    Parameters
    ----------
    root, values
        Bounds of the first node, and of others.
    depth
        How many tables get a home.
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
