"""A relaxation of dispatch: machines of a cluster that are equal when empty are one large one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from dlsched.problems.dispatch.definition.ranking import Ranked, startable
from dlsched.problems.dispatch.definition.schema import MOST_PRIORITIES, Instance
from dlsched.problems.dispatch.programs.level_costs import as_vectors, levels
from dlsched.problems.dispatch.structures.fleet import Fleet, Request
from dlsched.solvers.digits import rounded_down
from dlsched.solvers.standard_form import INF, StandardForm


class Pool(NamedTuple):
    """Machines of one cluster with the same capacity: GPU type, capacity, numbers in the fleet."""

    site: int
    kind: int
    capacity: tuple[int, int, int]
    machines: list[int]


class Aggregate:
    """The program. Columns: region of each workload, tasks by pool, victims, machines in use."""

    def __init__(self, instance: Instance) -> None:
        self.instance, self.fleet = instance, Fleet(instance)
        self.ranking = startable(instance)
        self.pools = self._pools()
        self.lower: list[float] = []
        self.upper: list[float] = []
        self.cells: list[tuple[int, int, float]] = []
        self.top: list[float] = []
        best = min((r.priority for r in self.ranking), default=MOST_PRIORITIES)
        self.victims = {
            v: self._column(1) for v in np.flatnonzero(self.fleet.priority > best).tolist()
        }
        self.machines = [self._column(len(pool.machines)) for pool in self.pools]
        self.regions: dict[tuple[int, int], int] = {}
        self.tasks: list[list[tuple[int, Request]]] = [[] for _ in self.pools]
        for ranked in self.ranking:
            self._place(ranked)
        self.released = self._released()
        for k in range(len(self.pools)):
            self._capacity(k)
            self._large_tasks(k)

    def _pools(self) -> list[Pool]:
        fleet, found = self.fleet, dict[tuple[int, int, tuple[int, int, int]], Pool]()
        for s, site in enumerate(fleet.sites):
            rows = fleet.capacity[:, site.machines].T.tolist()
            for m, (kind, row) in enumerate(zip(site.kind.tolist(), rows, strict=True)):
                key = (s, kind, (row[0], row[1], row[2]))
                pool = found.setdefault(key, Pool(s, kind, key[2], []))
                pool.machines.append(m)
        return list(found.values())

    def _column(self, most: float) -> int:
        self.top.append(most)
        return len(self.top) - 1

    def _at_most(self, cells: Sequence[tuple[int, int]], high: int) -> None:
        """Add a row, divided by the greatest common divisor of its numbers and rounded down."""
        unit = math.gcd(*(a for _, a in cells), high) or 1
        whole = {column: a // unit for column, a in cells}
        top = {column: int(self.top[column]) for column in whole}
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

    def _place(self, ranked: Ranked) -> None:
        """Add a workload: at most one region, and there all tasks of every job."""
        fleet = self.fleet
        workload = self.instance.pending[ranked.position]
        chosen = []
        for region, sites in fleet.sites_of(workload).items():
            column = self._column(1)
            self.regions[ranked.position, region] = column
            chosen.append((column, 1))
            for request in fleet.requests[ranked.position]:
                cells = []
                for k, pool in enumerate(self.pools):
                    each = fits(request, pool) if pool.site in sites else 0
                    if each:
                        tasks = self._column(min(request.tasks, each * len(pool.machines)))
                        self.tasks[k].append((tasks, request))
                        cells.append((tasks, 1))
                self._balance([*cells, (column, -request.tasks)])
        if chosen:
            self._at_most(chosen, 1)

    def _released(self) -> list[dict[int, list[list[int]]]]:
        """Return by pool and victim what it holds: rows of (machine, GPUs, CPUs, memory)."""
        where = {(pool.site, m): k for k, pool in enumerate(self.pools) for m in pool.machines}
        found: list[dict[int, list[list[int]]]] = [{} for _ in self.pools]
        for s, held in enumerate(self.fleet.holdings):
            entries = zip(
                held.victim.tolist(), held.machine.tolist(), held.amount.T.tolist(), strict=True
            )
            for v, m, amount in entries:
                if v in self.victims:
                    found[where[s, m]].setdefault(v, []).append([m, *amount])
        return found

    def _capacity(self, k: int) -> None:
        """Add a pool's capacity by resource, and the machines that its tasks need at least."""
        pool, fleet = self.pools[k], self.fleet
        first = fleet.sites[pool.site].machines.start
        free = fleet.free[:, np.array(pool.machines) + first]
        for i in range(3):
            needs = [(column, request.need[i]) for column, request in self.tasks[k]]
            if any(need for _, need in needs):
                back = [
                    (self.victims[v], -sum(row[1 + i] for row in rows))
                    for v, rows in self.released[k].items()
                ]
                self._at_most([*needs, *back], int(free[i].sum()))
                self._at_most([*needs, (self.machines[k], -pool.capacity[i])], 0)

    def _large_tasks(self, k: int) -> None:
        """Add that a machine holds one task of more than half its capacity.

        It must have room for the smallest of them, now or after a victim on it stops.
        """
        pool, fleet = self.pools[k], self.fleet
        first = fleet.sites[pool.site].machines.start
        for i in range(3):
            large = [(c, r.need[i]) for c, r in self.tasks[k] if 2 * r.need[i] > pool.capacity[i]]
            if large:
                least = min(need for _, need in large)
                free = dict(zip(pool.machines, fleet.free[i, np.array(pool.machines) + first],
                                strict=True))  # fmt: skip
                now = sum(1 for have in free.values() if have >= least)
                later = [
                    (self.victims[v], -sum(1 for row in rows if free[row[0]] < least))
                    for v, rows in self.released[k].items()
                ]
                self._at_most([*((c, 1) for c, _ in large), *later], now)

    def form(self, integer: bool) -> StandardForm:
        """Return the program with the problem's levels; without `integer`, it is linear."""
        from scipy import sparse

        width = len(self.top)
        rows, columns, values = (
            np.array(part) for part in (zip(*self.cells, strict=True) if self.cells else ([],) * 3)
        )
        matrix = sparse.csc_array(
            (values.astype(float), (rows.astype(int), columns.astype(int))),
            shape=(len(self.lower), width),
        )
        exact, grains, senses = levels(
            self.fleet, self.ranking, self.victims, self.regions, self.machines
        )
        costs = as_vectors(exact, width)
        whole = np.zeros(width, dtype=bool)
        whole[[*self.victims.values(), *self.regions.values()]] = integer
        return StandardForm(
            matrix,
            np.array(self.lower, dtype=float),
            np.array(self.upper, dtype=float),
            np.zeros(width),
            np.array(self.top, dtype=float),
            whole,
            costs,
            (0.0,) * len(costs),
            tuple(senses),
            tuple(grains),
            tuple(f"level_{level}" for level in range(len(costs))),
        )


def fits(request: Request, pool: Pool) -> int:
    """Return how many tasks of a job fit on an empty machine of a pool."""
    if request.kind not in (-1, pool.kind):
        return 0
    each = (have // need for have, need in zip(pool.capacity, request.need, strict=True) if need)
    return min([request.tasks, *each])
