"""A small program: how many workers each type of jobs has in each pool, and which servers' groups.

A server with f free GPUs holds workers of w GPUs only if

    sum of floor(w / t) <= floor(f / t)                                    for every size t,

and if each size divides the next larger one, then these conditions suffice, also summed over many
servers: decreasing best fit leaves no room that a worker would fit into. So the program has one row
for each size, pool and group, instead of variables for what each server holds; with other sizes it
is a relaxation. For types of jobs i, pools p, and classes c of servers that can have either group:

    maximise   sum of f_ip
    subject to sum over i of y_i >= jobs to place
               sum over p of b_ip = B_i y_i,  y_i <= jobs of the type
               b_ip = B_i u_ip,  f_ip <= F_i u_ip       where a job's workers are in one pool
               sum over p of f_ip <= F_i y_i            where they are not
               sum of floor(w / t) (b, f of the group) <= sum over c of floor(f_c / t) e_cg + room
                                                        for each pool, group g and size t
               sum over g of e_cg <= servers of the class
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dlsched.problems.workers.definition.schema import KINDS, POOLS, Instance, Kind, Pool, Solution
from dlsched.problems.workers.structures.patterns import (
    Demand,
    Group,
    JobType,
    ServerClass,
    group_of,
    job_types,
    server_classes,
    sizes_by_group,
)
from dlsched.problems.workers.structures.placement_counts import Share, Slot, divide, fill
from dlsched.run import Run
from dlsched.solvers import highs
from dlsched.solvers.standard_form import INF, StandardForm

if TYPE_CHECKING:
    from scipy import sparse

Counts = Mapping[Any, int]
"""Values of the program's variables by key: ("b" or "f", type, pool), ("e", class, group)."""


class RoomProgram:
    """The program of one instance.

    Parameters
    ----------
    placed
        Jobs that are placed at least.
    """

    def __init__(self, instance: Instance, placed: int) -> None:
        self.instance = instance
        self.types: list[JobType] = job_types(instance)
        self.classes: list[ServerClass] = server_classes(instance)
        self.columns: dict[Any, int] = {}
        self.upper: list[float] = []
        self.rows: list[tuple[Mapping[Any, float], float, float]] = []
        for t, entry in enumerate(self.types):
            self._add_type(t, entry)
        jobs = {("y", t): 1.0 for t in range(len(self.types))}
        self.rows.append((jobs, float(placed), INF))
        self._add_rooms()

    def solution(self, run: Run, nodes: int) -> Solution | None:
        """Return a placement with the most flexible workers, or ``None`` if none is found.

        Parameters
        ----------
        nodes
            Most nodes of the search.
        """
        outcome = highs.solve(self._form(), 0, run, quiet=True, nodes=nodes)
        if outcome.values is None:
            return None
        counts = {key: round(outcome.values[i]) for key, i in self.columns.items()}
        slots = self._slots(counts)
        return None if slots is None else fill(self.instance, slots, self._shares(counts))

    def _column(self, *key: Any, upper: float) -> None:
        self.columns[key] = len(self.columns)
        self.upper.append(upper)

    def _add_type(self, t: int, entry: JobType) -> None:
        """Add the variables and rows of a type of jobs."""
        job, count = entry.job, len(entry.jobs)
        self._column("y", t, upper=count)
        for pool in job.pools:
            self._column("b", t, pool, upper=count * (job.base if job.heterogeneous else 1))
            if job.flexible:
                self._column("f", t, pool, upper=count * job.flexible)
        base = {("b", t, pool): 1.0 for pool in job.pools}
        self.rows.append((base | {("y", t): -float(self._workers_of(t))}, 0.0, 0.0))
        if job.flexible and job.heterogeneous:
            more = {("f", t, pool): 1.0 for pool in job.pools}
            self.rows.append((more | {("y", t): -float(job.flexible)}, -INF, 0.0))
        elif job.flexible:
            for pool in job.pools:
                row = {("f", t, pool): 1.0, ("b", t, pool): -float(job.flexible)}
                self.rows.append((row, -INF, 0.0))

    def _workers_of(self, t: int) -> int:
        """Return the units of "b" for a job: workers, or the job where it is in one pool."""
        job = self.types[t].job
        return job.base if job.heterogeneous else 1

    def _workers_in(self, t: int, kind: Kind) -> int:
        """Return the workers for each unit of "b" or "f"."""
        return self.types[t].job.base // self._workers_of(t) if kind == "base" else 1

    def _add_rooms(self) -> None:
        """Add the rows of the servers' rooms, and the servers that can have either group."""
        for c, entry in enumerate(self.classes):
            if len(entry.groups) > 1:
                for group in entry.groups:
                    self._column("e", c, group, upper=len(entry.servers))
                either = {("e", c, group): 1.0 for group in entry.groups}
                self.rows.append((either, -INF, float(len(entry.servers))))
        for (pool, group), sizes in sizes_by_group(self.instance).items():
            for size in sizes:
                row, room = self._room(Demand(pool, group, size))
                self.rows.append((row, -INF, room))

    def _room(self, demand: Demand) -> tuple[dict[Any, float], float]:
        """Return the row of a pool, group and size, and the room of servers without a choice."""
        row: dict[Any, float] = {}
        room = 0.0
        for t, entry in enumerate(self.types):
            each = entry.job.gpus_per_worker // demand.size
            for kind in KINDS if each else ():
                key = (kind[0], t, demand.pool)
                group = group_of(self.instance, demand.pool, kind)
                if key in self.columns and group == demand.group:
                    row[key] = float(each * self._workers_in(t, kind))
        for c, held in enumerate(self.classes):
            if held.pool == demand.pool and demand.group in held.groups:
                each = held.free // demand.size
                if len(held.groups) > 1:
                    row["e", c, demand.group] = -float(each)
                else:
                    room += each * len(held.servers)
        return row, room

    def _form(self) -> StandardForm:
        from scipy import sparse

        entries = [
            (r, self.columns[key], value)
            for r, (row, _, _) in enumerate(self.rows)
            for key, value in row.items()
        ]
        where = np.array([entry[:2] for entry in entries], dtype=np.int64).T
        shape = (len(self.rows), len(self.columns))
        matrix: sparse.csc_array = sparse.coo_array(
            (np.array([entry[2] for entry in entries]), (where[0], where[1])), shape=shape
        ).tocsc()
        costs = np.array([float(key[0] == "f") for key in self.columns])
        lower, upper = (np.array([row[side] for row in self.rows]) for side in (1, 2))
        return StandardForm.of(matrix, lower, upper, np.array(self.upper), costs, sense="max")

    def _slots(self, counts: Counts) -> list[Slot] | None:
        """Place the workers of each pool and group by decreasing best fit, or return ``None``."""
        needed: dict[Demand, int] = {}
        for t, entry in enumerate(self.types):
            for pool in entry.job.pools:
                for kind in KINDS:
                    group = group_of(self.instance, pool, kind)
                    key = Demand(pool, group, entry.job.gpus_per_worker)
                    workers = counts.get((kind[0], t, pool), 0) * self._workers_in(t, kind)
                    needed[key] = needed.get(key, 0) + workers
        free = self._servers(counts)
        slots = []
        for key in sorted(needed, key=lambda key: -key.size):
            servers = free.get((key.pool, key.group), [])
            servers.sort()
            left = needed[key]
            for i, (gpus, s) in enumerate(servers):
                number = min(left, gpus // key.size)
                if number:
                    slots.append(Slot(s, key.group, key.size, number))
                    servers[i] = (gpus - number * key.size, s)
                    left -= number
            if left:
                return None
        return slots

    def _servers(self, counts: Counts) -> dict[tuple[Pool, Group], list[tuple[int, int]]]:
        """Return free GPUs and positions of the servers of each pool and group."""
        free: dict[tuple[Pool, Group], list[tuple[int, int]]] = {}
        for c, entry in enumerate(self.classes):
            servers = list(entry.servers)
            for group in entry.groups:
                number = counts["e", c, group] if len(entry.groups) > 1 else len(servers)
                taken, servers = servers[:number], servers[number:]
                free.setdefault((entry.pool, group), []).extend((entry.free, s) for s in taken)
        return free

    def _shares(self, counts: Counts) -> dict[int, Share]:
        """Return the workers of each placed job by pool and kind."""
        shares: dict[int, Share] = {}
        for t, entry in enumerate(self.types):
            job, jobs = entry.job, iter(entry.jobs)
            together = [job.pools] if job.heterogeneous else [(pool,) for pool in job.pools]
            for pools in together:
                base = {p: counts["b", t, p] * self._workers_in(t, "base") for p in pools}
                extra = {p: counts.get(("f", t, p), 0) for p in pools}
                placed = sum(base.values()) // job.base
                bases = divide(base, job.base, placed)
                extras = divide(extra, job.flexible, placed)
                for own, more in zip(bases, extras, strict=True):
                    shares[next(jobs)] = {
                        (pool, kind): workers.get(pool, 0)
                        for pool in POOLS
                        for kind, workers in zip(KINDS, (own, more), strict=True)
                    }
        return shares
