"""Which jobs run in order, and where, if not every job may run on every server.

Each job in turn runs if it and all those before it that run fit together, by the classes of jobs
and servers (`Eligibility`): a maximum flow, kept up to date. GPUs may be of several server classes.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dlsched.schema import Id
from dlsched.simulation.engine.decision import Allocation, Decision, Share
from dlsched.simulation.engine.jobs import Arrays, Vector
from dlsched.simulation.engine.state import State
from dlsched.simulation.policies.placement import Placement
from dlsched.simulation.workload.eligibility import Eligibility
from dlsched.simulation.workload.job import Job

Held = Mapping[int, int]
"""GPUs that a running job holds, by server class."""


class Room:
    """The GPUs of each server class, and what is kept of them for jobs that start.

    Attributes
    ----------
    left
        GPUs left, by server class.
    given
        GPUs kept for the jobs of each class, by job class and server class. They may be exchanged
        for others where the jobs may run as long as nothing is placed.
    """

    def __init__(self, where: Eligibility, gpus: Vector) -> None:
        self.left: list[int] = gpus.tolist()
        self.given: list[list[int]] = [[0] * row.size for row in where.table]
        self._usable = [np.flatnonzero(row).tolist() for row in where.table]

    def keep(self, held: Held) -> bool:
        """Let a running job stay where it is; return whether that is possible."""
        left, given = self.left[:], [row[:] for row in self.given]
        for s, gpus in held.items():
            self.left[s] -= gpus
        for s in held:
            for c, row in enumerate(self.given):
                moved = min(row[s], max(0, -self.left[s]))
                row[s] -= moved
                self.left[s] += moved
                back = moved - self.add(c, moved)
                row[s] += back
                self.left[s] -= back
        if min(self.left) >= 0:
            return True
        self.left, self.given = left, given
        return False

    def add(self, c: int, gpus: int) -> int:
        """Keep GPUs for a job of a class; return how many there are, at most those asked for."""
        need = gpus
        while need:
            path = self._path(c)
            if path is None:
                break
            amount = min(
                need,
                self.left[path[0][1]],
                *(self.given[job][s] for (job, _), (_, s) in pairwise(path)),
            )
            self.left[path[0][1]] -= amount
            for i, (job, s) in enumerate(path):
                self.given[job][s] += amount
                if i + 1 < len(path):
                    self.given[job][path[i + 1][1]] -= amount
            need -= amount
        return gpus - need

    def take_back(self, c: int, gpus: int) -> None:
        """Give up GPUs that were kept for a job of a class."""
        for s in self._usable[c]:
            amount = min(gpus, self.given[c][s])
            self.given[c][s] -= amount
            self.left[s] += amount
            gpus -= amount

    def close(self, c: int) -> None:
        """Let no more jobs onto servers where those of a class may run."""
        for s in self._usable[c]:
            self.left[s] = 0

    def _path(self, c: int) -> list[tuple[int, int]] | None:
        """Return job classes and what each is given more of; the last is `c`.

        Each but the first gives up as much of the server class before it.
        """
        by: dict[int, tuple[int, int | None]] = {s: (c, None) for s in self._usable[c]}
        queue = list(by)
        for s in queue:
            if self.left[s] > 0:
                path: list[tuple[int, int]] = []
                at: int | None = s
                while at is not None:
                    job, before = by[at]
                    path.append((job, at))
                    at = before
                return path
            for job, row in enumerate(self.given):
                if row[s]:
                    for other in self._usable[job]:
                        if other not in by:
                            by[other] = (job, s)
                            queue.append(other)
        return None


def walk(
    jobs: Arrays,
    order: Vector,
    where: Eligibility,
    room: Room,
    held: Mapping[int, Held],
    strict: bool,
) -> tuple[list[int], list[int]]:
    """Return which jobs start, in order, and which stop; both are positions in the workload.

    Parameters
    ----------
    order
        Positions in `jobs`.
    held
        What the running jobs of `order` hold.
    strict
        Whether servers where a job may run that does not fit are closed to those behind it.
    """
    start: list[int] = []
    stop: list[int] = []
    classes, gpus, names = where.of_job[jobs.job[order]], jobs.gpus[order], jobs.job[order]
    running = jobs.running[order] == 1
    most = np.full(len(where.table), np.iinfo(np.int64).max)
    at = 0
    while at < len(order):
        # What fitted no more does not fit later: the room only shrinks.
        for place in (
            at + np.flatnonzero(running[at:] | (gpus[at:] <= most[classes[at:]]))
        ).tolist():
            at = place + 1
            job, c, need = int(names[place]), int(classes[place]), int(gpus[place])
            if running[place]:
                if not room.keep(held[job]):
                    stop.append(job)
                continue
            found = room.add(c, need)
            if found == need:
                start.append(job)
                continue
            room.take_back(c, found)
            most[c] = found
            if strict:
                room.close(c)
            break
        else:
            return start, stop
    return start, stop


def changes(
    state: State,
    start: Sequence[int],
    stop: Sequence[int],
    vacant: Vector,
    room: Room | None = None,
) -> Decision:
    """Return the decision that stops jobs, then places others; both are positions in the workload.

    Parameters
    ----------
    vacant
        Free GPUs before it, as `Placement` takes them.
    room
        What was kept for the jobs that start; None if each may be anywhere.
    """
    every, where = state.workload.jobs, state.where
    placement = Placement(state.cluster, vacant)
    preempt = [every[j].id for j in stop]
    for name in preempt:
        placement.release(state.allocations[name])
    if room is None:
        return Decision(placement.place_all(every[j] for j in start), preempt)
    placed: dict[Id, Allocation] = {}
    for j in start:
        found = _place(every[j], room.given[int(where.of_job[j])], where.of_server, placement)
        if found is not None:
            placed[every[j].id] = found
    return Decision(placed, preempt)


def _place(
    job: Job, given: list[int], of_server: NDArray[np.int64], placement: Placement
) -> Allocation | None:
    """Place a job on what its class is given, which is reduced by it; one server class if any."""
    enough = [s for s, gpus in enumerate(given) if gpus >= job.gpus]
    if enough:
        usable = np.isin(of_server, enough)
        allocation = placement.place(job.gpus, job.gpus_per_worker, usable)
        for share in () if allocation is None else allocation.shares:
            given[int(of_server[placement.index[share.server]])] -= share.gpus
        return allocation
    need = job.gpus
    shares: list[Share] = []
    for s in sorted(range(len(given)), key=lambda s: -given[s]):
        count = min(need, given[s]) // job.gpus_per_worker * job.gpus_per_worker
        part = placement.place(count, job.gpus_per_worker, of_server == s) if count else None
        if part is not None:
            shares += part.shares
            given[s] -= count
            need -= count
    if not need:
        return Allocation(tuple(shares))
    placement.release(Allocation(tuple(shares)))
    return None
