"""The machines' free resources as arrays: what a regional scheduler keeps in memory."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple, TypeAlias

import numpy as np

from dlsched.errors import OptionError
from dlsched.problems.dispatch.definition.check import DAY
from dlsched.problems.dispatch.definition.ranking import Ranked
from dlsched.problems.dispatch.definition.schema import Instance
from dlsched.problems.dispatch.definition.workloads import (
    Holder,
    PendingJob,
    PendingWorkload,
    amounts,
)
from dlsched.problems.dispatch.structures.victims import Amounts, Array, Holding
from dlsched.schema import Number

MOST_MACHINES = 10_000_000
"""Upper limit of the machines, which take about 80 bytes each."""
_LARGEST = 2**61
"""Amounts whose sums stay below this are 64-bit integers, others are Python's."""


Labels: TypeAlias = "frozenset[int] | None"
"""Labels of the machines that a rule allows; ``None`` for all."""


class Barred(NamedTuple):
    """What a rule allows, machines of which it says the same having one label.

    Attributes
    ----------
    label
        By the groups of the instance.
    allowed
        By the positions of a pending workload and its job, the labels.
    """

    label: Sequence[int]
    allowed: Mapping[tuple[int, int], frozenset[int]]


class Request(NamedTuple):
    """A pending job in the integers of the fleet; ``kind`` is its GPU type, -1 for a CPU job."""

    kind: int
    need: Amounts
    tasks: int
    allowed: Labels = None


@dataclass(frozen=True)
class Site:
    """A cluster: its position in the arrays, and those of its machines that do not change."""

    region: int
    name: str
    machines: slice
    kind: Array
    rack: Array
    gpus: Array
    label: Array


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

    Parameters
    ----------
    barred
        Which machines each job may use, under a rule; those of its GPU type by default.

    Raises
    ------
    OptionError
        If there are more than `MOST_MACHINES` machines.
    """

    def __init__(self, instance: Instance, barred: Barred | None = None) -> None:
        self.instance = instance
        self.barred = barred
        machines = [group.machines for group in instance.groups]
        counts = [group.count for group in machines]
        if sum(counts) > MOST_MACHINES:
            raise OptionError(
                f"{instance.name} has more than {MOST_MACHINES} machines, of each of which the "
                f"method keeps what is free; leave out those that no workload can use"
            )
        running = [job for workload in instance.running for job in workload.jobs]
        pending = [job for workload in instance.pending for job in workload.jobs]
        stated = [amounts(holder) for holder in chain[Holder](machines, running, pending)]
        self.scale = [
            math.lcm(*{amount.denominator for amount in row}) for row in zip(*stated, strict=True)
        ]
        types = sorted({group.gpu_type for group in machines if group.gpu_type})
        self.types = {name: k for k, name in enumerate(types)}
        self.requests = [
            tuple(self._barred(w, j, self.request(job)) for j, job in enumerate(workload.jobs))
            for w, workload in enumerate(instance.pending)
        ]
        rows = [self._whole(group) for group in machines]
        all_together = max(map(sum, rows), default=0) * (sum(counts) + 1)
        largest = max((max(job.need) for jobs in self.requests for job in jobs), default=0)
        dtype = np.int64 if max(all_together, largest) < _LARGEST else object
        self.capacity = np.repeat(np.array(rows, dtype=dtype).reshape(-1, 3), counts, axis=0).T
        self.free = self.capacity.copy()
        self.sites = self._sites()
        self.site_index = {site.name: s for s, site in enumerate(self.sites)}
        priorities = [instance.victim_priority(workload) for workload in instance.running]
        self.priority = np.array(priorities, dtype=np.int64)
        self.jobs = [len(workload.jobs) for workload in instance.running]
        self.young = [max(0, DAY - workload.seconds) for workload in instance.running]
        self.running = np.ones(len(instance.running), dtype=bool)
        self.where: list[set[int]] = [set() for _ in instance.running]
        self.holdings = self._holdings()
        for site, held in zip(self.sites, self.holdings, strict=True):
            np.subtract.at(self.free[:, site.machines].T, held.machine, held.amount.T)
        self._usable: dict[tuple[int, int, Labels], Array] = {}
        self._held: dict[tuple[int, int, Labels], tuple[Holding, Array]] = {}

    def _whole(self, of: Holder) -> Amounts:
        gpus, cpus, memory = (
            int(amount * scale) for amount, scale in zip(amounts(of), self.scale, strict=True)
        )
        return gpus, cpus, memory

    def request(self, job: PendingJob) -> Request:
        """Return a job in the fleet's integers; a GPU type that no machine has is -2."""
        kind = -1 if job.gpu_type is None else self.types.get(job.gpu_type, -2)
        return Request(kind, self._whole(job), job.tasks)

    def _barred(self, w: int, j: int, request: Request) -> Request:
        if self.barred is None:
            return request
        return request._replace(allowed=self.barred.allowed[w, j])

    def _sites(self) -> list[Site]:
        sites: list[Site] = []
        first = 0
        labels = iter([0] * len(self.instance.groups) if self.barred is None else self.barred.label)
        for r, region in enumerate(self.instance.regions):
            for cluster in region.clusters:
                counts = [group.count for group in cluster.machines]
                rows = [
                    (self.types.get(group.gpu_type or "", -1), group.rack, group.gpus, next(labels))
                    for group in cluster.machines
                ]
                columns = np.array(rows, dtype=np.int64).reshape(-1, 4)
                kind, rack, gpus, label = np.repeat(columns, counts, axis=0).T.copy()
                machines = slice(first, first + sum(counts))
                sites.append(Site(r, cluster.id, machines, kind, rack, gpus, label))
                first = machines.stop
        return sites

    def _holdings(self) -> list[Holding]:
        """Return what running workloads hold, by cluster in order of preemption."""
        running = self.instance.running
        order = sorted(
            range(len(running)), key=lambda v: (-self.priority[v], -running[v].seconds, v)
        )
        entries: list[dict[tuple[int, int], list[int]]] = [{} for _ in self.sites]
        for v in order:
            for job in running[v].jobs:
                s = self.site_index[job.cluster]
                self.where[v].add(s)
                need = self._whole(job)
                for name, tasks in job.on.items():
                    row = entries[s].setdefault((v, self.position(s, name)), [0, 0, 0])
                    for i, amount in enumerate(need):
                        row[i] += tasks * amount
        holdings = []
        for held in entries:
            victim, machine = np.array(list(held), dtype=np.int64).reshape(-1, 2).T.copy()
            rows = np.array(list(held.values()), dtype=self.free.dtype).reshape(-1, 3)
            holdings.append(Holding.of(victim, machine, rows.T))
        return holdings

    def position(self, s: int, name: str) -> int:
        """Return the position in a cluster of one of its machines."""
        number = self.instance.machine_number(name)
        assert number is not None  # the instance and its solutions have been checked
        return number - int(self.sites[s].machines.start)

    def name(self, s: int, machine: int) -> str:
        """Return the name of the machine at a position in a cluster."""
        return self.instance.machine_name(self.sites[s].machines.start + machine)

    def below(self, ranking: Sequence[Ranked]) -> list[int]:
        """Return the running workloads of lower priority than some that may start."""
        best = min((ranked.priority for ranked in ranking), default=self.instance.lowest_priority)
        return np.flatnonzero(self.priority > best).tolist()

    def usable(self, site: int, request: Request) -> Array:
        """Return the machines of a cluster on which a job may run."""
        kind, allowed = request.kind, request.allowed
        if (site, kind, allowed) not in self._usable:
            kinds = self.sites[site].kind
            may = kinds == kind if kind != -1 else kinds >= -1
            if allowed is not None:
                may &= np.isin(self.sites[site].label, list(allowed))
            self._usable[site, kind, allowed] = np.flatnonzero(may)
        return self._usable[site, kind, allowed]

    def candidates(self, site: int, request: Request, priority: int) -> Holding:
        """Return what workloads of lower priority hold on a job's machines of a cluster.

        Machines are positions in `usable`. The order is that of preemption: lowest priority first,
        then longest running.
        """
        key = (site, request.kind, request.allowed)
        if key not in self._held:
            usable = self.usable(site, request)
            position = np.full(self.sites[site].kind.size, -1)
            position[usable] = np.arange(usable.size)
            held = self.holdings[site].only(position[self.holdings[site].machine] >= 0)
            held = held._replace(machine=position[held.machine])
            self._held[key] = held, -self.priority[held.victim[held.last]]
        held, order = self._held[key]
        held = held.first(int(np.searchsorted(order, -priority)))
        return held.only(self.running[held.victim])

    def stop(self, victims: Iterable[int], sign: int = 1) -> None:
        """Release what running workloads hold; let them run again with sign -1."""
        for v in victims:
            self.running[v] = sign < 0
            for s in self.where[v]:
                held = self.holdings[s]
                mine = held.victim == v
                numbers = held.machine[mine] + self.sites[s].machines.start
                self.free[:, numbers] += sign * held.amount[:, mine]

    def take(self, s: int, request: Request, machines: Array, tasks: Array, sign: int = 1) -> None:
        """Occupy machines of a cluster with a number of tasks each; release them with sign -1."""
        numbers = machines + self.sites[s].machines.start
        for i, amount in enumerate(request.need):
            self.free[i, numbers] -= sign * amount * tasks

    def sites_of(self, workload: PendingWorkload) -> dict[int, list[int]]:
        """Return the clusters by region, of the regions with all tables of a workload."""
        by_region: dict[int, list[int]] = {r: [] for r in self.instance.regions_of(workload)}
        for s, site in enumerate(self.sites):
            if site.region in by_region:
                by_region[site.region].append(s)
        return by_region


def fits(have: Sequence[Number], need: Sequence[Number]) -> int:
    """Return how many tasks fit where so much is free; a task needs GPUs or CPUs."""
    return min(int(a // b) for a, b in zip(have, need, strict=True) if b)


def room(free: Array, request: Request) -> Array:
    """Return how many tasks of a job fit on each machine, at most the job's."""
    fits: Array | None = None
    for row, amount in zip(free, request.need, strict=True):
        if amount:
            whole = row // amount
            fits = whole if fits is None else np.minimum(fits, whole, out=fits)
    assert fits is not None  # a task needs GPUs or CPUs
    return np.minimum(fits, request.tasks).astype(np.int64, copy=False)
