"""The machines' free resources as arrays: what a regional scheduler keeps in memory."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from dlsched.errors import OptionError
from dlsched.problems.dispatch.definition.check import DAY
from dlsched.problems.dispatch.definition.schema import (
    RESOURCES,
    Instance,
    PendingJob,
    PendingWorkload,
    RunningJob,
)
from dlsched.problems.dispatch.structures.victims import Array, Holding
from dlsched.schema import Number

MOST_MACHINES = 10_000_000
"""Upper limit of the machines, which take about 80 bytes each."""
_LARGEST = 2**61
"""Amounts whose sums stay below this are 64-bit integers, others are Python's."""


class Request(NamedTuple):
    """A pending job in the integers of the fleet; ``kind`` is its GPU type, -1 for a CPU job."""

    kind: int
    need: tuple[int, int, int]
    tasks: int


@dataclass(frozen=True)
class Site:
    """A cluster: its position in the arrays, and those of its machines that do not change."""

    region: int
    name: str
    machines: slice
    kind: Array
    rack: Array
    gpus: Array


class Fleet:
    """Free resources by machine, and what each running workload would release.

    Amounts are integers: CPUs and memory are multiplied by the least common denominator of all
    amounts in the instance.

    Attributes
    ----------
    free
        Array (3, machines) of free GPUs, CPUs and memory.
    sites
        The clusters in the order of the file; the machines of each are adjacent.
    running
        Whether each running workload still runs.

    Raises
    ------
    OptionError
        If there are more than `MOST_MACHINES` machines.
    """

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.scale = tuple(_denominator(instance, name) for name in RESOURCES)
        types = sorted({g.machines.gpu_type for g in instance.groups if g.machines.gpu_type})
        self.types = {name: k for k, name in enumerate(types)}
        counts = [group.machines.count for group in instance.groups]
        if sum(counts) > MOST_MACHINES:
            raise OptionError(
                f"{instance.name} has more than {MOST_MACHINES} machines, of each of which the "
                f"method keeps what is free; leave out those that no workload can use"
            )
        rows = [self._row(group.machines) for group in instance.groups]
        most = max((sum(row) for row in rows), default=0) * (sum(counts) + 1)
        needed = [self._row(j) for w in instance.pending for j in w.jobs]
        largest = max((max(row) for row in needed), default=0)
        kind = np.int64 if max(most, largest) < _LARGEST else object
        self.capacity = np.repeat(np.array(rows, dtype=kind).reshape(-1, 3), counts, axis=0).T
        self.free = self.capacity.copy()
        self.sites = self._sites()
        self.priority = np.array(
            [instance.victim_priority(workload) for workload in instance.running], dtype=np.int64
        )
        self.jobs = [len(workload.jobs) for workload in instance.running]
        self.young = [max(0, DAY - workload.seconds) for workload in instance.running]
        self.running = np.ones(len(instance.running), dtype=bool)
        self.all_run = True  # False is also right if all do
        self._usable: dict[tuple[int, int], Array] = {}
        self._held: dict[tuple[int, int], tuple[Holding, Array]] = {}
        self._hold()
        self.requests = [
            tuple(self.request(job) for job in workload.jobs) for workload in instance.pending
        ]

    def _row(self, thing: Any) -> tuple[int, int, int]:
        gpus, cpus, memory = (
            int(getattr(thing, name) * scale)
            for name, scale in zip(RESOURCES, self.scale, strict=True)
        )
        return gpus, cpus, memory

    def request(self, job: PendingJob) -> Request:
        """Return a job in the fleet's integers; a GPU type that no machine has is -2."""
        kind = -1 if job.gpu_type is None else self.types.get(job.gpu_type, -2)
        return Request(kind, self._row(job), job.tasks)

    def _sites(self) -> tuple[Site, ...]:
        groups: dict[str, list[Any]] = {}
        for group in self.instance.groups:
            groups.setdefault(group.cluster, []).append(group)
        found = []
        for r, region in enumerate(self.instance.regions):
            for cluster in region.clusters:
                own = groups.get(cluster.id, [])
                counts = [g.machines.count for g in own]
                first = own[0].first if own else 0
                kinds = [self.types.get(g.machines.gpu_type, -1) for g in own]
                arrays = [
                    np.repeat(np.array(values, dtype=np.int64), counts)
                    for values in (
                        kinds,
                        [g.machines.rack for g in own],
                        [g.machines.gpus for g in own],
                    )
                ]
                found.append(Site(r, cluster.id, slice(first, first + sum(counts)), *arrays))
        return tuple(found)

    def _hold(self) -> None:
        """Collect what running workloads hold, by cluster in order of preemption."""
        instance = self.instance
        order = sorted(
            range(len(instance.running)),
            key=lambda v: (-int(self.priority[v]), -instance.running[v].seconds, v),
        )
        position = {site.name: s for s, site in enumerate(self.sites)}
        entries: list[dict[tuple[int, int], list[int]]] = [{} for _ in self.sites]
        self.where: list[set[int]] = [set() for _ in instance.running]
        for v in order:
            for job in instance.running[v].jobs:
                s = position[job.cluster]
                self.where[v].add(s)
                self._enter(entries[s], v, self.sites[s].machines.start, job)
        dtype = self.free.dtype
        self.holdings = []
        for site, table in zip(self.sites, entries, strict=True):
            keys = np.array(list(table), dtype=np.int64).reshape(-1, 2)
            amounts = np.array(list(table.values()), dtype=dtype).reshape(-1, 3).T
            self.holdings.append(Holding.of(keys[:, 0], keys[:, 1], amounts))
            np.subtract.at(self.free.T, keys[:, 1] + site.machines.start, amounts.T)

    def _enter(
        self, table: dict[tuple[int, int], list[int]], v: int, first: int, job: RunningJob
    ) -> None:
        need = self._row(job)
        for name, tasks in job.on.items():
            number = self.instance.machine_number(name)
            assert number is not None
            row = table.setdefault((v, number - first), [0, 0, 0])
            for i, amount in enumerate(need):
                row[i] += tasks * amount

    def usable(self, site: int, kind: int) -> Array:
        """Return the machines of a cluster on which a GPU type's jobs, or CPU jobs, may run."""
        if (site, kind) not in self._usable:
            kinds = self.sites[site].kind
            self._usable[site, kind] = np.flatnonzero(kinds == kind if kind != -1 else kinds >= -1)
        return self._usable[site, kind]

    def candidates(self, site: int, kind: int, priority: int) -> Holding:
        """Return what workloads of lower priority hold on a GPU type's machines of a cluster.

        Machines are positions in `usable`. The order is that of preemption: lowest priority first,
        then longest running.
        """
        if (site, kind) not in self._held:
            place = np.full(self.sites[site].kind.size, -1)
            usable = self.usable(site, kind)
            place[usable] = np.arange(usable.size)
            held = self.holdings[site].only(place[self.holdings[site].machine] >= 0)
            held = held._replace(machine=place[held.machine])
            self._held[site, kind] = held, -self.priority[held.victim[held.last]]
        held, order = self._held[site, kind]
        held = held.first(int(np.searchsorted(order, -priority)))
        return held if self.all_run else held.only(self.running[held.victim])

    def stop(self, victims: Iterable[int]) -> None:
        """Release what running workloads hold."""
        for v in victims:
            self.running[v], self.all_run = False, False
            for s in self.where[v]:
                held = self.holdings[s]
                mine = held.victim == v
                numbers = held.machine[mine] + self.sites[s].machines.start
                self.free[:, numbers] += held.amount[:, mine]

    def resume(self, victims: Iterable[int]) -> None:
        """Undo `stop`."""
        for v in victims:
            self.running[v] = True
            for s in self.where[v]:
                held = self.holdings[s]
                mine = held.victim == v
                numbers = held.machine[mine] + self.sites[s].machines.start
                self.free[:, numbers] -= held.amount[:, mine]

    def take(self, s: int, request: Request, machines: Array, tasks: Array, sign: int = 1) -> None:
        """Occupy machines of a cluster with a number of tasks each; release them with sign -1."""
        numbers = machines + self.sites[s].machines.start
        for i, amount in enumerate(request.need):
            self.free[i, numbers] -= sign * amount * tasks

    def sites_of(self, workload: PendingWorkload) -> dict[int, list[int]]:
        """Return the clusters by region, of the regions with all tables of a workload."""
        found: dict[int, list[int]] = {r: [] for r in self.instance.regions_of(workload)}
        for s, site in enumerate(self.sites):
            if site.region in found:
                found[site.region].append(s)
        return found


def room(free: Array, request: Request) -> Array:
    """Return how many tasks of a job fit on each machine, at most the job's."""
    fits: Array | None = None
    for row, amount in zip(free, request.need, strict=True):
        if amount:
            whole = row // amount
            fits = whole if fits is None else np.minimum(fits, whole, out=fits)
    assert fits is not None  # a task needs GPUs or CPUs
    return np.minimum(fits, request.tasks).astype(np.int64, copy=False)


def _denominator(instance: Instance, name: str) -> int:
    values: list[Number] = [getattr(group.machines, name) for group in instance.groups]
    values += [getattr(j, name) for w in instance.running for j in w.jobs]
    values += [getattr(j, name) for w in instance.pending for j in w.jobs]
    return math.lcm(*{Fraction(value).denominator for value in set(values)})
