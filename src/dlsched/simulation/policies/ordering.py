"""Policies that order the jobs, and let them run in this order while their GPUs suffice."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import chain
from typing import ClassVar, Final, TypeVar

import numpy as np

from dlsched.simulation.engine.decision import Decision, PolicyError
from dlsched.simulation.engine.jobs import Arrays, Vector
from dlsched.simulation.engine.policy import BasePolicy
from dlsched.simulation.engine.state import State
from dlsched.simulation.policies.choosing import choose
from dlsched.simulation.policies.placement import Placement
from dlsched.simulation.policies.walking import Room, place_by_class, walk
from dlsched.simulation.workload.cluster import LOAN, Cluster
from dlsched.simulation.workload.eligibility import eligibility
from dlsched.simulation.workload.job import Job
from dlsched.simulation.workload.workload import Workload

NONE: Final = Arrays(*np.zeros((len(Arrays._fields), 0), np.int64))
"""No jobs."""

KeyMethod = TypeVar("KeyMethod", bound=Callable[..., Vector])


class QueuePolicy(BasePolicy):
    """Jobs run in an order that is made anew whenever it decides.

    Each job in turn runs if as many GPUs as it needs are left where it may run, else it is skipped.
    A running job that still runs stays where it is; the others are placed by `Placement`. At every
    arrival and completion the order is made anew.

    Servers of the loan pool go back as they come **(D)**: the order says nothing of loans.

    Attributes
    ----------
    preemptive
        Whether running jobs are ordered with the waiting ones; otherwise they all run on.
    strict
        Whether nothing behind a job that does not fit may run on the servers where that job may.
    """

    preemptive: bool = True
    strict: ClassVar[bool] = False

    def check(self, workload: Workload, cluster: Cluster) -> None:
        """Refuse a job that asks for more GPUs than it can ever have.

        Raises
        ------
        PolicyError
            Naming the job.
        """
        own = np.array([server.pool != LOAN for server in cluster.servers])
        where = eligibility(workload, cluster)
        rooms = (where.servers & own) @ cluster.order[2]
        said = "the servers that are not on loan have"
        said = said if where.everywhere else "the servers where it may run, loans apart, have"
        for c, room in enumerate(rooms.tolist()):
            jobs = (workload.jobs[j] for j in np.flatnonzero(where.of_job == c).tolist())
            require_room(self.name, jobs, room, said)

    @abstractmethod
    def order(self, state: State) -> Vector:
        """Return the positions of the jobs in `State.arrays`, the first to run first."""

    def decide(self, state: State) -> Decision:
        """Return the changes that make the first jobs of the order run."""
        vacant = state.free
        lent = [name for name in state.cluster.loan_servers if name in state.free_gpus]
        if lent:
            vacant[[state.cluster.order[1][name] for name in lent]] = 0
        decision = self._fill(state, vacant)
        return replace(decision, returned=sorted(lent)) if lent else decision

    def _fill(self, state: State, vacant: Vector) -> Decision:
        """Return the changes, where these GPUs are vacant on the servers that may be used."""
        jobs = state.arrays
        if not state.where.everywhere:
            return self._fill_by_class(state, vacant)
        free = int(vacant.sum()) + int(jobs.gpus @ jobs.running)
        if int(jobs.gpus.sum()) <= free:
            return self._run_all(state, vacant)
        order = self.order(state)
        if not self.preemptive:
            held = jobs.running[order] == 1
            order = np.concatenate((order[held], order[~held]))
        chosen = order[select(jobs.gpus[order], free, self.strict)]
        return change(state, jobs, chosen, vacant)

    def _fill_by_class(self, state: State, vacant: Vector) -> Decision:
        """Return the changes where not every job may run on every server."""
        jobs, where, index = state.arrays, state.where, state.cluster.order[1]
        order = self.order(state)
        held: dict[int, dict[int, int]] = {}
        gpus = vacant.copy()
        if self.preemptive:
            for j in state.holding.job.tolist():
                held[j] = {}
                for share in state.allocations[state.workload.jobs[j].id].shares:
                    i = index[share.server]
                    s = int(where.of_server[i])
                    held[j][s] = held[j].get(s, 0) + share.gpus
                    gpus[i] += share.gpus
        else:
            order = order[jobs.running[order] == 0]
        room = Room(where, where.by_class(gpus))
        start, stop = walk(jobs, order, where, room, held, self.strict)
        return place_by_class(state, start, stop, vacant, room)

    def _run_all(self, state: State, vacant: Vector) -> Decision:
        """Return the decision that starts all waiting jobs: none has to be left out."""
        jobs, every = state.arrays, state.workload.jobs
        waiting = np.flatnonzero(jobs.running == 0)
        if len(waiting) > 1:
            order = self.order(state)
            waiting = order[jobs.running[order] == 0]
        new = [every[j] for j in jobs.job[waiting]]
        return Decision(Placement(state.cluster, vacant).place_all(new))


def require_room(policy: str, jobs: Iterable[Job], room: int, where: str) -> None:
    """Refuse a job that asks for more GPUs than there are where a policy runs it.

    Raises
    ------
    PolicyError
        Naming the job.
    """
    for job in jobs:
        if job.gpus > room:
            raise PolicyError(
                f"policy {policy}: job {job.id} asks for {job.gpus} GPUs, {where} {room}; leave "
                "it out, or take a larger cluster"
            )


def change(state: State, jobs: Arrays, chosen: Vector, vacant: Vector) -> Decision:
    """Return the changes that make some jobs run, those at positions in `jobs`, and no others.

    Parameters
    ----------
    jobs
        All jobs that run, and others.
    chosen
        The first to be placed first.
    vacant
        Free GPUs, as `Placement` takes them.
    """
    held = jobs.running == 1
    stopped = held.copy()
    stopped[chosen] = False
    start = jobs.job[chosen[~held[chosen]]].tolist()
    return changes(state, start, jobs.job[stopped].tolist(), vacant)


def changes(state: State, start: Sequence[int], stop: Sequence[int], vacant: Vector) -> Decision:
    """Return the decision that stops jobs, then places others; both are positions in the workload.

    Parameters
    ----------
    vacant
        Free GPUs before it, as `Placement` takes them.
    """
    every = state.workload.jobs
    preempt = [every[j].id for j in stop]
    if not start:
        return Decision({}, preempt)
    placement = Placement(state.cluster, vacant)
    for name in preempt:
        placement.release(state.allocations[name])
    return Decision(placement.place_all(every[j] for j in start), preempt)


def of_job_alone(key: KeyMethod) -> KeyMethod:
    """Mark the method `key` of an `OrderingPolicy`, so that a long queue costs little.

    By this the method states that the key of a waiting job depends on this job alone, and stays
    the same as long as it waits. Then it is computed once for each time that the job begins to
    wait. A class that overrides the method states it for its own, or does not.
    """
    key.of_job_alone = True  # type: ignore[attr-defined]
    return key


class OrderingPolicy(QueuePolicy):
    """Jobs run in the order of a key, least first; ties in the order of submission."""

    @abstractmethod
    def key(self, jobs: Arrays) -> Vector:
        """Return the key of each job."""

    def _fill(self, state: State, vacant: Vector) -> Decision:
        """Return the changes; if `key` is marked so, without a look at the whole queue."""
        by_key = type(self).order is OrderingPolicy.order
        if by_key and getattr(self.key, "of_job_alone", False) and state.where.everywhere:
            return self._fill_from_lines(state, vacant)
        return super()._fill(state, vacant)

    def _fill_from_lines(self, state: State, vacant: Vector) -> Decision:
        """Return the changes from the running jobs, if they can stop, and the waiting ones' lines.

        Running jobs that cannot stop take no part in the choice.
        """
        room = int(vacant.sum())
        if not self.preemptive and not room:
            return Decision()
        lines = state.lines(self.key)
        if not lines:
            return Decision()
        if sum(gpus * len(line) for gpus, line in lines.items()) <= room:
            # All fit, and nobody has to stop.
            entries = sorted(chain.from_iterable(lines.values()))
            return changes(state, [job for _, job in entries], (), vacant)
        running = state.holding if self.preemptive else NONE
        start, stop = choose(running, self.key(running), lines, room, self.strict)
        return changes(state, start, stop, vacant)

    def order(self, state: State) -> Vector:
        """Return the positions of the jobs by key, then by submission."""
        order: Vector = np.argsort(self.key(state.arrays), kind="stable")
        return order


def select(gpus: Vector, free: int, strict: bool = False) -> Vector:
    """Return the positions of the jobs that run, of jobs in order, each if it fits what is left."""
    total = np.cumsum(gpus)
    if strict or len(gpus) == 0 or total[-1] <= free:
        return np.flatnonzero(total <= free)
    chosen: list[int] = []
    least = np.minimum.accumulate(gpus[::-1])[::-1]
    start = 0
    while start < len(gpus) and least[start] <= free:
        total = np.cumsum(gpus[start:])
        fit = int(np.searchsorted(total, free, side="right"))
        chosen.extend(range(start, start + fit))
        free -= int(total[fit - 1]) if fit else 0
        start += fit
        if start < len(gpus):
            fitting = np.flatnonzero(gpus[start:] <= free)
            start = start + int(fitting[0]) if len(fitting) else len(gpus)
    return np.array(chosen, np.int64)


class Fifo(OrderingPolicy):
    """First in, first out, without preemption; a job that does not fit stops those behind it."""

    name = "fifo"
    preemptive = False
    strict = True

    @of_job_alone
    def key(self, jobs: Arrays) -> Vector:
        """Return the time of submission."""
        return jobs.submit


class Srtf(OrderingPolicy):
    """Shortest remaining time first."""

    name = "srtf"

    @of_job_alone
    def key(self, jobs: Arrays) -> Vector:
        """Return the remaining time."""
        return jobs.remaining


class Srsf(OrderingPolicy):
    """Shortest remaining service first: remaining time times GPUs (Tiresias; Muri, section 6.1)."""

    name = "srsf"

    @of_job_alone
    def key(self, jobs: Arrays) -> Vector:
        """Return the remaining GPU time."""
        return jobs.remaining * jobs.gpus


class Las(OrderingPolicy):
    """Least attained service first: GPU time had so far, in rounds (Synergy, section 3.2)."""

    name = "las"
    interval = 300
    on_events = False

    @of_job_alone
    def key(self, jobs: Arrays) -> Vector:
        """Return the attained GPU time."""
        return jobs.service
