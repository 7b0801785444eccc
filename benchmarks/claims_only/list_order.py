"""List scheduling: jobs in an order that is given, each in one of its modes."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np

from dlsched.errors import OptionError
from dlsched.schema import Id, Number
from dlsched.simulation.engine.decision import Allocation, Decision, PolicyError, Share
from dlsched.simulation.engine.policy import BasePolicy
from dlsched.simulation.engine.state import State
from dlsched.simulation.policies.placement import Placement
from dlsched.simulation.workload.cluster import LOAN, Cluster, Server
from dlsched.simulation.workload.eligibility import REGION, TYPE
from dlsched.simulation.workload.job import Job
from dlsched.simulation.workload.workload import Matrix, Workload

PRIORITY: Final = "priority"
"""Name of an order."""
Free = tuple[list[Any], list[Any], list[Any]]
"""GPUs, CPUs and memory that are free, each by the server's position; None where not stated."""


Cell = tuple[str | None, ...]
"""Servers that a job's GPUs must all be on: region, cluster and type of GPU; or all servers."""


class Mode(NamedTuple):
    """One way in which a job can run.

    Attributes
    ----------
    seconds
        Its running time so, without overheads.
    cell
        Where its GPUs are.
    cpus, memory
        CPUs and GB of each GPU; 0 for a job without a matrix of throughput.
    """

    seconds: Fraction
    cell: Cell
    gpus: int
    cpus: Number = 0
    memory: Number = 0


class Modes:
    """The cells of a cluster, and the modes of each job of a workload, fastest first.

    Cells matter where servers have regions, or servers and jobs have types of GPUs; elsewhere all
    servers are one cell. Servers of the loan pool are in none.
    """

    def __init__(self, workload: Workload, cluster: Cluster) -> None:
        servers = [server for server in cluster.servers if server.pool != LOAN]
        typed = any(s.gpu_type for s in servers) and any(j.accepted_types for j in workload.jobs)
        apart = typed or any(s.region is not None for s in servers)
        self.cells: dict[Cell, list[Server]] = {}
        for server in servers:
            cell = (server.region, server.cluster, server.gpu_type) if apart else ()
            self.cells.setdefault(cell, []).append(server)
        self.of_job = [self._modes(job, workload) for job in workload.jobs]

    def _modes(self, job: Job, workload: Workload) -> list[Mode]:
        matrix = None if job.profile is None else workload.matrices[job.profile]
        points = [(Fraction(1), 0, 0)] if matrix is None else _points(matrix)
        worker = job.gpus_per_worker
        sizes = range(job.max_gpus, job.min_gpus - 1, -worker)
        modes = []
        for (cell, servers), gpus in product(self.cells.items(), sizes):
            rate = self._rate(job, cell)
            if not rate or sum(s.gpus // worker * worker for s in servers) < gpus:
                continue
            rate *= Fraction(job.throughput(gpus)) / Fraction(job.throughput(job.gpus))
            for relative, cpus, memory in points:
                if _room(servers, cpus, memory) >= gpus:
                    seconds = Fraction(job.work) / (rate * relative)
                    modes.append(Mode(seconds, cell, gpus, cpus, memory))
        return sorted(modes, key=lambda m: (m.seconds, m.gpus, m.cpus, m.memory))

    @staticmethod
    def _rate(job: Job, cell: Cell) -> Fraction:
        """Return a job's speed on the GPUs of a cell; 0 if it must not run there."""
        if not cell:
            return Fraction(1)
        region, _, kind = cell
        types = job.accepted_types
        if job.regions and region not in job.regions:
            return Fraction(0)
        if types and kind not in types and kind is not None:
            return Fraction(0)
        if job.rates and job.gpu_type is not None:
            return Fraction(job.rates.get(kind or "", 0)) / job.rates[job.gpu_type]
        return Fraction(1)


def _points(matrix: Matrix) -> list[tuple[Fraction, Number, Number]]:
    """Return speed, CPUs and memory per GPU where no other point is as fast for no more."""
    found = []
    for cpus, memory in product(matrix.cpus, matrix.memory):
        speed = matrix.speed(cpus, memory)
        if speed:
            found.append((speed, cpus, memory))
    return [
        point
        for point in found
        if not any(
            o[0] >= point[0] and o[1] <= point[1] and o[2] <= point[2] and o != point for o in found
        )
    ]


def _room(servers: Sequence[Server], cpus: Number, memory: Number) -> int:
    """Return the GPUs of a job with these CPUs and memory each that fit empty servers."""
    return sum(fitting(s.gpus, s.cpus, s.memory, cpus, memory) for s in servers)


def fitting(
    gpus: int, free_cpus: Number | None, free_memory: Number | None, cpus: Number, memory: Number
) -> int:
    """Return how many of a server's GPUs a job can have with these CPUs and memory each."""
    if cpus and free_cpus is not None:
        gpus = min(gpus, int(free_cpus // cpus))
    if memory and free_memory is not None:
        gpus = min(gpus, int(free_memory // memory))
    return gpus


class ListOrder(BasePolicy):
    """Jobs in an order that is given: each starts as soon as it fits beside those before it.

    At every arrival and completion the jobs present are gone through in order, and a waiting one
    starts in the first of its modes that fits: a type of GPU or a cell of servers (region, cluster
    and type, where they matter), a number of GPUs if it is elastic, CPUs and memory if it has a
    matrix of throughput. One that does not fit is skipped. Servers on loan are not used, and jobs
    do not share GPUs.

    Parameters
    ----------
    order
        Ids of all jobs, the first to go first; None for the least GPU time first: that of the job's
        cheapest mode. ``"priority"`` for `Job.priority`, the least number first, and no priority as
        0; equal ones by GPU time.
    modes
        By id, the only mode that a job may have, counted from 0, its fastest; others have all.
    preemptive
        Whether running jobs are gone through with the waiting ones: they stop if those before them
        leave too little, and change to the first mode in their cell that fits, which costs their
        restart; otherwise a job that has started runs to its end as it is.
    """

    name: ClassVar[str] = "list_order"
    keeps_to = frozenset((TYPE, REGION))
    preemptive = False

    def __init__(
        self,
        method: object = None,
        *,
        order: Sequence[Id] | str | None = None,
        modes: Mapping[Id, int] | None = None,
        preemptive: bool = False,
    ) -> None:
        super().__init__(method)
        if isinstance(order, str) and order != PRIORITY:
            raise OptionError(f"order={order!r} is not {PRIORITY!r}, None or a list of ids")
        self.order, self.modes, self.preemptive = order, dict(modes or {}), preemptive
        self._known: tuple[Workload, Cluster] | None = None

    def check(self, workload: Workload, cluster: Cluster) -> None:
        """Refuse an order that is none of these jobs, and jobs that fit nowhere."""
        named = self.order is None or self.order == PRIORITY
        if not named and sorted(self.order or ()) != sorted(j.id for j in workload.jobs):
            raise OptionError("order is not the ids of all jobs, each once")
        self._prepare(workload, cluster)
        for name, modes in self._all.items():
            if not modes:
                raise PolicyError(f"policy list_order: job {name} fits no servers; leave it out")
        for name, mode in self.modes.items():
            if name not in self._rank or not 0 <= mode < len(self._all[name]):
                raise OptionError(f"modes: job {name} has no mode {mode}")

    def _prepare(self, workload: Workload, cluster: Cluster) -> None:
        """Compute what follows from workload and cluster."""
        if self._known == (workload, cluster):
            return
        made = Modes(workload, cluster)
        names = [job.id for job in workload.jobs]
        self._all = dict(zip(names, made.of_job, strict=True))
        least = {
            name: min((m.seconds * m.gpus for m in modes), default=0)
            for name, modes in self._all.items()
        }
        first = {job.id: job.priority or 0 for job in workload.jobs}
        if self.order == PRIORITY:
            order: Sequence[Id] = sorted(names, key=lambda name: (first[name], least[name]))
        else:
            order = self.order or sorted(names, key=least.__getitem__)
        self._rank = {name: i for i, name in enumerate(order)}
        index = cluster.order[1]
        self._servers = {c: [index[s.id] for s in found] for c, found in made.cells.items()}
        self._cell = {s.id: cell for cell, found in made.cells.items() for s in found}
        self._capacity = {c: _amounts(found) for c, found in made.cells.items()}
        self._known = workload, cluster

    def decide(self, state: State) -> Decision:
        """Return what starts, and what stops for it."""
        self._prepare(state.workload, state.cluster)
        held = state.allocations
        present = sorted(
            (*held, *(view.id for view in state.waiting)), key=lambda name: self._rank[name]
        )
        stays = self._stays(state, present) if self.preemptive else set(held)
        gpus, cpus, memory = _free(state)
        stopped = [name for name in held if name not in stays]
        for name in stopped:
            for share in held[name].shares:
                i = state.cluster.order[1][share.server]
                gpus[i] += share.gpus
                cpus[i] = None if cpus[i] is None else cpus[i] + (share.cpus or 0)
                memory[i] = None if memory[i] is None else memory[i] + (share.memory or 0)
        start: dict[Id, Allocation] = {}
        for name in present:
            if name in stays:
                continue
            if not any(gpus):
                break
            for mode in self._of(name):
                job = state.workload.by_id[name]
                shares = self._place(state.cluster, mode, job, (gpus, cpus, memory))
                if shares is not None:
                    start[name] = Allocation(shares)
                    break
        lent = sorted(name for name in state.cluster.loan_servers if name in state.free_gpus)
        preempt = [name for name in stopped if name not in start]
        start = {n: a for n, a in start.items() if held.get(n) != a}
        return Decision(start, preempt, returned=lent)

    def _of(self, name: Id) -> Sequence[Mode]:
        """Return the modes that a job may have."""
        modes = self._all[name]
        return modes if name not in self.modes else [modes[self.modes[name]]]

    def _stays(self, state: State, present: Sequence[Id]) -> set[Id]:
        """Return the running jobs that go on, as if the servers of a cell were one."""
        left = {cell: list(amounts) for cell, amounts in self._capacity.items()}
        stays = set()
        for name in present:
            if not any(amounts[0] for amounts in left.values()):
                break
            allocation = state.allocations.get(name)
            cell = None if allocation is None else self._cell[allocation.shares[0].server]
            for mode in self._of(name):
                if cell not in (None, mode.cell):
                    continue
                if _take(left[mode.cell], mode.gpus, mode.cpus, mode.memory):
                    if allocation is not None and _holds(allocation, mode):
                        stays.add(name)
                    break
        return stays

    def _place(
        self, cluster: Cluster, mode: Mode, job: Job, free: Free
    ) -> tuple[Share, ...] | None:
        """Take what a mode needs from the servers of its cell; None if it does not fit."""
        gpus, cpus, memory = free
        room = np.zeros(len(gpus), np.int64)
        for i in self._servers[mode.cell]:
            room[i] = fitting(gpus[i], cpus[i], memory[i], mode.cpus, mode.memory)
        placed = Placement(cluster, room).place(mode.gpus, job.gpus_per_worker)
        if placed is None:
            return None
        shares = []
        for share in placed.shares:
            i = cluster.order[1][share.server]
            gpus[i] -= share.gpus
            held: list[Number | None] = [None, None]
            for which, (amounts, each) in enumerate(((cpus, mode.cpus), (memory, mode.memory))):
                # None stated would be the proportional share.
                if each or job.profile is not None:
                    held[which] = each * share.gpus
                    if amounts[i] is not None:
                        amounts[i] -= each * share.gpus
            shares.append(share._replace(cpus=held[0], memory=held[1]))
        return tuple(shares)


def _holds(allocation: Allocation, mode: Mode) -> bool:
    """Return whether a running job is in this mode; its cell is known to be that of the mode."""
    share = allocation.shares[0]
    cpus, memory = (amount or 0 for amount in (share.cpus, share.memory))
    each = cpus == mode.cpus * share.gpus and memory == mode.memory * share.gpus
    return allocation.gpus == mode.gpus and each


def _amounts(servers: Sequence[Server]) -> tuple[Number | None, ...]:
    """Return GPUs, CPUs and memory of servers together; None where one states none."""
    columns = zip(*((s.gpus, s.cpus, s.memory) for s in servers), strict=True)
    return tuple(None if None in column else sum(column) for column in columns)


def _take(left: list[Number | None], gpus: int, cpus: Number, memory: Number) -> bool:
    """Take amounts if there are as many; return whether."""
    needs = (gpus, gpus * cpus, gpus * memory)
    if any(have is not None and need > have for have, need in zip(left, needs, strict=True)):
        return False
    left[:] = [None if h is None else h - n for h, n in zip(left, needs, strict=True)]
    return True


def _free(state: State) -> Free:
    """Return what is free on each server, by position; nothing where it may not be used."""
    index = state.cluster.order[1]
    free: Free = tuple([0] * len(index) for _ in range(3))  # type: ignore[assignment]
    for view in state.servers:
        if view.server.pool != LOAN:
            i = index[view.server.id]
            values = (view.free, view.free_cpus, view.free_memory)
            for column, value in zip(free, values, strict=True):
                column[i] = value
    return free
