"""Policies that order the jobs, and let them run in this order while their GPUs suffice."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar, Final, TypeVar

import numpy as np

from dlsched.simulation.engine.decision import Decision, PolicyError
from dlsched.simulation.engine.jobs import Arrays, Vector
from dlsched.simulation.engine.policy import BasePolicy
from dlsched.simulation.engine.state import State
from dlsched.simulation.policies.choosing import choose, first_that_fit
from dlsched.simulation.policies.walking import Room, changes, walk
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
        """Refuse a job that asks for more GPUs than it can ever have."""
        own = np.array([server.pool != LOAN for server in cluster.servers])
        where = eligibility(workload, cluster)
        rooms = (where.servers & own) @ cluster.order[2]
        said = "the servers that are not on loan have"
        said = said if where.everywhere else "the servers where it may run, loans apart, have"
        for c, room in enumerate(rooms.tolist()):
            for j in np.flatnonzero(where.of_job == c).tolist():
                require_room(self.name, workload.jobs[j], room, said)

    @abstractmethod
    def order(self, state: State) -> Vector:
        """Return the positions of the jobs in `State.arrays`, the first to run first."""

    def decide(self, state: State) -> Decision:
        """Return the changes that make the first jobs of the order run."""
        lent = sorted(state.cluster.loan_servers & state.free_gpus.keys())
        if not state.queued_gpus:
            return Decision(returned=lent)
        vacant = state.free
        if lent:
            vacant[[state.cluster.order[1][name] for name in lent]] = 0
        decision = self._choose(state, vacant)
        return replace(decision, returned=lent) if lent else decision

    def _choose(self, state: State, vacant: Vector) -> Decision:
        """Return the changes, where these GPUs are vacant on the servers that may be used."""
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
        return changes(state, start, sorted(stop), vacant, room)


def require_room(policy: str, job: Job, room: int, where: str) -> None:
    """Refuse a job that asks for more GPUs than there are where a policy runs it."""
    if job.gpus > room:
        raise PolicyError(
            f"policy {policy}: job {job.id} asks for {job.gpus} GPUs, {where} {room}; leave it "
            "out, or take a larger cluster"
        )


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

    def _kept(self, state: State) -> bool:
        """Whether the simulator keeps the jobs that wait in order."""
        by_key = type(self).order is OrderingPolicy.order and state.where.everywhere
        alone = getattr(self.key, "of_job_alone", False)
        return by_key and alone and not (self.strict and self.preemptive)

    def _choose(self, state: State, vacant: Vector) -> Decision:
        """Return the changes; if `key` is marked so, without a look at the whole queue."""
        if not self._kept(state):
            return super()._choose(state, vacant)
        room = int(vacant.sum())
        if not self.preemptive and not room:
            return Decision()
        if state.queued_gpus <= room and len(state.queue) == 1:
            return changes(state, state.queue, (), vacant)
        lines = state.lines(self.key)
        if self.strict or state.queued_gpus <= room:
            return changes(state, first_that_fit(lines, room), (), vacant)
        # Running jobs that cannot stop take no part in the choice.
        running = state.holding if self.preemptive else NONE
        start, stop = choose(running, self.key(running), lines, room)
        return changes(state, start, stop, vacant)

    def order(self, state: State) -> Vector:
        """Return the positions of the jobs by key, then by submission."""
        order: Vector = np.argsort(self.key(state.arrays), kind="stable")
        return order


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
