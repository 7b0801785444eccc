"""Backfilling: jobs in order, and later ones ahead where they delay nobody.

Sources: Lifka, The ANL/IBM SP Scheduling System, JSSPP 1995 (EASY); Mu'alem and Feitelson,
Utilization, Predictability, Workloads, and User Runtime Estimates in Scheduling the IBM SP2 with
Backfilling, IEEE TPDS 12(6), 2001, sections 2 and 3.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dlsched.errors import OptionError
from dlsched.schema import Id
from dlsched.simulation.engine.decision import Allocation, Decision, PolicyError
from dlsched.simulation.engine.jobs import Arrays, Vector
from dlsched.simulation.engine.state import State
from dlsched.simulation.policies.ordering import QueuePolicy
from dlsched.simulation.policies.placement import Placement
from dlsched.simulation.workload.clock import ticks
from dlsched.simulation.workload.cluster import LOAN, Cluster
from dlsched.simulation.workload.eligibility import Eligibility, eligibility
from dlsched.simulation.workload.workload import Workload

ORDERS: Final = ("submit", "priority")
"""The orders in which jobs start."""
NEVER: Final = np.iinfo(np.int64).max // 2
"""The end of the last stretch of a profile."""
Ints = NDArray[np.int64]


@dataclass
class Reservation:
    """What is kept for the first waiting job of a pool.

    Attributes
    ----------
    shadow
        When enough GPUs will be free for it, if running jobs last as long as is known, in ticks.
    extra
        GPUs of its pool that will be free then besides those that it needs.
    """

    shadow: int
    extra: int


class Backfill(QueuePolicy):
    """EASY backfilling by what is known of the jobs' durations (`Job.estimate`).

    Jobs start in order. The first that does not fit gets a reservation at the earliest time at
    which enough GPUs will be free, if running jobs last as long as is known; a job that lasts
    longer is expected to end at once. A later job starts if it fits and delays that one
    not: it ends before, or uses GPUs that will be left over.

    Jobs that may run on the same servers, as those of a partition, have a queue of their own with
    one reservation; queues may share servers. A job's GPUs may be on any of these servers, as with
    the other policies.

    Parameters
    ----------
    conservative
        Whether every waiting job has a reservation that no later one may delay (Mu'alem and
        Feitelson, section 3.1), made anew in order at every event **(D)**; queues may not share
        servers then.
    order
        ``"submit"``, or ``"priority"``: `Job.priority`, the greatest first as in Slurm, and no
        priority as 0; equal ones in the order of submission.

    Raises
    ------
    OptionError
        If there is no such order.
    """

    name = "backfill"
    preemptive = False

    def __init__(
        self, method: Any = None, *, conservative: bool = False, order: str = ORDERS[0]
    ) -> None:
        super().__init__(method)
        if order not in ORDERS:
            raise OptionError(
                f"order={order!r} is no order of backfill; write {' or '.join(ORDERS)}"
            )
        self.conservative = conservative
        self.by_priority = order == "priority"
        self._pools: Pools | None = None
        self._ranked: Workload | None = None

    def check(self, workload: Workload, cluster: Cluster) -> None:
        """Refuse a job that asks for more GPUs than it can have, and queues that share servers."""
        super().check(workload, cluster)
        if self.conservative and Pools(eligibility(workload, cluster), cluster).overlap:
            raise PolicyError(
                f"policy {self.name}: jobs that may not run on the same servers, as those of two "
                "partitions, share some; leave conservative out, or choose one partition"
            )

    def order(self, state: State) -> Vector:
        """Return the positions of the jobs in the order of submission, or by priority."""
        if not self.by_priority:
            return np.arange(len(state.arrays.job))
        if self._ranked is not state.workload:
            self._ranked = state.workload
            self._priority = np.array([float(job.priority or 0) for job in state.workload.jobs])
        return np.argsort(-self._priority[state.arrays.job], kind="stable")

    def _choose(self, state: State, vacant: Vector) -> Decision:
        if not vacant.any():
            return Decision()
        if self._pools is None or self._pools.of_job is not state.where.of_job:
            self._pools = Pools(state.where, state.cluster)
        jobs = state.arrays
        order = self.order(state)
        waiting = order[jobs.running[order] == 0]
        if not len(waiting):
            return Decision()
        chooser = Chooser(self._pools, state, jobs, waiting, vacant)
        if self.conservative:
            chooser.start_reserved()
        else:
            chooser.start_backfilled()
        return Decision(chooser.started)


class Pools:
    """The servers of each class of jobs, those on loan apart.

    Attributes
    ----------
    servers
        Whether a server is in a pool, shape (pools, servers).
    size
        GPUs of each pool.
    of_job
        The pool of each job of the workload.
    overlap
        Whether a server is in several pools.
    """

    def __init__(self, where: Eligibility, cluster: Cluster) -> None:
        self.servers = where.servers & [server.pool != LOAN for server in cluster.servers]
        self.of_job = where.of_job
        self.size = self.servers @ cluster.order[2]
        self.overlap = bool((self.servers.sum(axis=0) > 1).any())
        self._index = cluster.order[1]
        self._held = np.full((len(self.of_job), len(self.servers)), -1, np.int64)

    def held(self, jobs: Vector, state: State) -> Ints:
        """Return how many GPUs running jobs at positions hold in each pool, shape (jobs, pools).

        Jobs are never moved here, so that what one holds is counted once.
        """
        for j in jobs[self._held[jobs, 0] < 0].tolist():
            self._held[j] = self.count(state.allocations[state.workload.jobs[j].id])
        return self._held[jobs]

    def count(self, allocation: Allocation) -> Vector:
        """Return how many GPUs of an allocation are in each pool."""
        counts = np.zeros(len(self.servers), np.int64)
        for share in allocation.shares:
            counts += self.servers[:, self._index[share.server]] * share.gpus
        return counts


class Chooser:
    """The choice of the jobs that start at one moment.

    Attributes
    ----------
    started
        What starts, and where.
    """

    def __init__(
        self, pools: Pools, state: State, jobs: Arrays, waiting: Vector, vacant: Vector
    ) -> None:
        self.pools = pools
        self.state = state
        self.jobs = jobs
        self.vacant = vacant
        self.now = ticks(state.time)
        self.started: dict[Id, Allocation] = {}
        self.waiting = waiting
        self.gpus = jobs.gpus[waiting]
        self.pool = pools.of_job[jobs.job[waiting]]
        self.end = self.now + np.maximum(jobs.remaining[waiting], 1)
        self.free = pools.servers @ vacant
        self._new: list[tuple[int, Vector]] = []

    def start_backfilled(self) -> None:
        """Start jobs in order; behind the first of a pool that does not fit, those that may."""
        reserved: dict[int, Reservation] = {}
        position = 0
        while (place := self._next(position, reserved)) is not None:
            pool = int(self.pool[place])
            if pool not in reserved and self.gpus[place] > self.free[pool]:
                reserved[pool] = self._reserve(place)
            elif not self._start(place, reserved) and pool not in reserved:
                # It fits, but would delay the first of another pool on servers of both.
                left_over = int(self.free[pool] - self.gpus[place])
                reserved[pool] = Reservation(self.now, left_over)
            position = place + 1

    def _next(self, position: int, reserved: dict[int, Reservation]) -> int | None:
        """Return the next waiting job that may start, or is the first of its pool."""
        if not self.free.any():
            return None
        pool, gpus = self.pool[position:], self.gpus[position:]
        may = gpus <= self.free[pool]
        for number, reservation in reserved.items():
            fits = (self.end[position:] <= reservation.shadow) | (gpus <= reservation.extra)
            may &= fits | (pool != number)
        for number in range(len(self.pools.servers)):
            if number not in reserved:
                may |= pool == number
        places = np.argmax(may) if len(may) else 0
        return position + int(places) if len(may) and may[places] else None

    def _start(self, place: int, reserved: dict[int, Reservation]) -> bool:
        """Start a job unless it delays a reservation; return whether it starts."""
        job = self.state.workload.jobs[int(self.jobs.job[self.waiting[place]])]
        mask = self.pools.servers[self.pool[place]]
        placement = Placement(self.state.cluster, self.vacant.copy())
        allocation = placement.place(job.gpus, job.gpus_per_worker, mask)
        if allocation is None:
            return False
        used = self.pools.count(allocation)
        spent = []
        for number, reservation in reserved.items():
            if used[number] and self.end[place] > reservation.shadow:
                if used[number] > reservation.extra:
                    return False
                spent.append((reservation, int(used[number])))
        for reservation, gpus in spent:
            reservation.extra -= gpus
        self.vacant = placement.free
        self.free = self.free - used
        self.started[job.id] = allocation
        self._new.append((int(self.end[place]), used))
        return True

    @cached_property
    def _running(self) -> tuple[Ints, Ints]:
        """When each job that ran before is expected to end, and what it holds of each pool."""
        running = np.flatnonzero(self.jobs.running == 1)
        ends = self.now + np.maximum(self.jobs.remaining[running], 1)
        return ends, self.pools.held(self.jobs.job[running], self.state)

    def _profile(self, pool: int) -> tuple[Ints, Ints]:
        """Return when GPUs of a pool are expected to be free again, ascending, and how many."""
        ends, held = self._running
        times = np.concatenate((ends, [end for end, _ in self._new]))
        gpus = np.concatenate((held[:, pool], [used[pool] for _, used in self._new]))
        order = np.argsort(times, kind="stable")
        return times[order].astype(np.int64), gpus[order].astype(np.int64)

    def _reserve(self, place: int) -> Reservation:
        """Return the reservation of the first job of a pool that does not fit."""
        pool = int(self.pool[place])
        times, gpus = self._profile(pool)
        free = self.free[pool] + np.cumsum(gpus)
        enough = int(np.searchsorted(free, self.gpus[place]))
        if enough == len(free):
            # Lent servers are not counted: it can only wait.
            return Reservation(np.iinfo(np.int64).max, 0)
        shadow = int(times[enough])
        last = int(np.searchsorted(times, shadow, side="right")) - 1
        return Reservation(shadow, int(free[last] - self.gpus[place]))

    def start_reserved(self) -> None:
        """Start the jobs whose reservation, made in order, is now."""
        for pool in range(len(self.pools.servers)):
            if not self.free[pool]:
                continue
            places = np.flatnonzero(self.pool == pool)
            times, gpus = self._profile(pool)
            lengths = self.end[places] - self.now
            starts = earliest_starts(
                self.now, int(self.free[pool]), times, gpus, self.gpus[places], lengths
            )
            for place in places[starts == self.now]:
                self._start(int(place), {})


def earliest_starts(
    now: int, free: int, times: Ints, released: Ints, gpus: Ints, lengths: Ints
) -> Ints:
    """Return the earliest start of each job that delays no job before it in a profile.

    Once no GPU is left now, the starts of the jobs that follow are not computed: they are `NEVER`.

    Parameters
    ----------
    free
        GPUs that are free now.
    times, released
        When GPUs become free, ascending, and how many.
    gpus, lengths
        What each job needs, in the order of precedence.
    """
    moments, places = np.unique(np.append(now, times), return_inverse=True)
    change = np.zeros(len(moments), np.int64)
    np.add.at(change, places, np.append(free, released))
    begins = moments.tolist()
    levels = np.cumsum(change).tolist()
    starts = np.full(len(gpus), NEVER, np.int64)
    for j, (need, length) in enumerate(zip(gpus.tolist(), lengths.tolist(), strict=True)):
        if not levels[0]:
            break
        starts[j] = _reserve(begins, levels, need, length)
    return starts


def _reserve(begins: list[int], levels: list[int], need: int, length: int) -> int:
    """Take GPUs of the first stretches that suffice; return when they begin.

    The lists have when each stretch of the profile begins, and how many GPUs are free in it.
    """
    first = 0
    while True:
        while levels[first] < need:
            first += 1
            if first == len(levels):
                return NEVER
        end = begins[first] + length
        last = first
        while last < len(levels) and begins[last] < end and levels[last] >= need:
            last += 1
        if last == len(levels) or begins[last] >= end:
            break
        first = last
    if last == len(levels) or begins[last] > end:
        begins.insert(last, end)
        levels.insert(last, levels[last - 1])
    for i in range(first, last):
        levels[i] -= need
    return begins[first]
