"""A relaxation of dispatch: machines of a cluster that are equal when empty are one large one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dlsched.problems.dispatch.definition.machines import RESOURCES
from dlsched.problems.dispatch.definition.ranking import Ranked, startable
from dlsched.problems.dispatch.definition.schema import Instance
from dlsched.problems.dispatch.programs.program_rows import Cell, ProgramRows, levels
from dlsched.problems.dispatch.structures.blocks import shape_of
from dlsched.problems.dispatch.structures.fleet import Barred, Fleet, Request, fits
from dlsched.problems.dispatch.structures.victims import Amounts, Array


class Pool(NamedTuple):
    """Machines of one cluster with the same capacity: GPU type, capacity, numbers in the fleet.

    Attributes
    ----------
    free
        Array (3, machines) of what is free as long as nobody is preempted.
    released
        By victim what it holds, a row for each machine: position in the pool, and the amounts.
    """

    site: int
    kind: int
    label: int
    capacity: Amounts
    free: Array
    released: dict[int, list[tuple[int, Amounts]]]

    @property
    def size(self) -> int:
        """The number of machines."""
        return int(self.free.shape[1])

    def room(self, request: Request) -> int:
        """Return how many tasks of a job fit on an empty machine."""
        if not shape_of(request).may_use(self.kind, self.label):
            return 0
        return min(request.tasks, fits(self.capacity, request.need))


def pools(fleet: Fleet, victims: list[int]) -> list[Pool]:
    """Return the pools of all clusters, in the order of their first machines."""
    found: list[Pool] = []
    for s, site in enumerate(fleet.sites):
        equal: dict[tuple[int, int, Amounts], list[int]] = {}
        labels = site.label.tolist()
        capacities = fleet.capacity[:, site.machines].T.tolist()
        for m, kind in enumerate(site.kind.tolist()):
            equal.setdefault((kind, labels[m], tuple(capacities[m])), []).append(m)
        occupants = fleet.holdings[s].occupants(victims)
        for (kind, label, capacity), machines in equal.items():
            released: dict[int, list[tuple[int, Amounts]]] = {}
            for position, m in enumerate(machines):
                for victim, held in occupants.get(m, ()):
                    released.setdefault(victim, []).append((position, held))
            free = fleet.free[:, site.machines][:, machines]
            found.append(Pool(s, kind, label, capacity, free, released))
    return found


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
                    room = pool.room(request) if pool.site in sites else 0
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
        for i in range(len(RESOURCES)):
            needs = [(column, request.need[i]) for column, request in self.tasks[k]]
            if any(need for _, need in needs):
                released = [
                    (self.victims[v], -sum(held[i] for _, held in rows))
                    for v, rows in pool.released.items()
                ]
                self.at_most([*needs, *released], int(pool.free[i].sum()))
                self.at_most([*needs, (self.machines[k], -pool.capacity[i])], 0)

    def _fit_large_tasks(self, k: int) -> None:
        """Add that a machine holds one task of more than half its capacity.

        It must have room for the smallest of them, now or after a victim on it stops.
        """
        pool = self.pools[k]
        for i in range(len(RESOURCES)):
            needs = [(column, request.need[i]) for column, request in self.tasks[k]]
            large = [(column, need) for column, need in needs if 2 * need > pool.capacity[i]]
            if large:
                fits_now = pool.free[i] >= min(need for _, need in large)
                released = [
                    (self.victims[v], -sum(not fits_now[m] for m, _ in rows))
                    for v, rows in pool.released.items()
                ]
                tasks = [(column, 1) for column, _ in large]
                self.at_most([*tasks, *released], int(np.count_nonzero(fits_now)))
