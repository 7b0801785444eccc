"""The servers while jobs are placed on them: what is free, and which job holds it, in integers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.sensitivity.schema import Allocation, Choice, Instance, Job, Solution
from dlsched.schema import Number, granularity

Placed: TypeAlias = dict[int, int]
"""GPUs by server."""
Vector: TypeAlias = NDArray[Any]
"""GPUs, CPUs and memory, the latter two in units of their grids."""

_LARGEST = 2**62


class Cluster:
    """Free GPUs, CPUs and memory of each server, the latter two in units of their grids.

    Everything is a whole number: 64-bit integers, or Python's where the grid is so fine that
    these would overflow.
    """

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        servers = instance.servers
        self.share = servers.proportional
        cpus: list[Number] = [servers.cpus, self.share[0]]
        memory: list[Number] = [servers.memory, self.share[1]]
        for choices in instance.choices.values():
            cpus += [c.cpus for c in choices]
            memory += [c.memory for c in choices]
        self.units = granularity(cpus), granularity(memory)
        gpus = max([servers.gpus, *(p.gpus for p in instance.profiles.values())])
        largest = max(self._units(max(cpus), 0), self._units(max(memory), 1)) * (gpus + 1)
        self.dtype: Any = np.int64 if largest < _LARGEST else object
        self.full: Vector = np.array(
            [servers.gpus, self._units(servers.cpus, 0), self._units(servers.memory, 1)],
            dtype=self.dtype,
        )
        self.free: Vector = np.tile(self.full, (servers.count, 1))
        self.given: dict[str, tuple[Choice, Placed]] = {}
        self.hosts: list[dict[str, int]] = [{} for _ in range(servers.count)]
        self.jobs = {job.id: job for job in instance.jobs}
        self._demands: dict[int, tuple[Choice, Vector]] = {}

    def _units(self, amount: Number, resource: int) -> int:
        return int(Fraction(amount) / self.units[resource])

    def demand(self, choice: Choice) -> Vector:
        """Return what one GPU of a job with this choice takes."""
        # By identity, as hashing fractions takes longer than all the rest.
        known = self._demands.get(id(choice))
        if known is None:
            row = [1, self._units(choice.cpus, 0), self._units(choice.memory, 1)]
            known = choice, np.array(row, dtype=self.dtype)
            self._demands[id(choice)] = known
        return known[1]

    def capacity(self, choice: Choice) -> Vector:
        """Return how many GPUs with this choice each server could take now."""
        capacity: Vector = (self.free // self.demand(choice)).min(axis=1)
        return capacity

    def may_split(self, gpus: int) -> bool:
        """Whether a job of so many GPUs may be on several servers."""
        return gpus > 1 and self.instance.allow_split

    def best_fit(self, job: Job, choice: Choice) -> Placed | None:
        """Return where a job fits: the server with least free that takes it, else the fewest.

        Of the servers that take the job whole, the one with least free GPUs, then CPUs, then
        memory. A job that no server takes is split over those that take most of it.
        """
        gpus, capacity = self.instance.profile(job).gpus, self.capacity(choice)
        whole = np.flatnonzero(capacity >= gpus)
        if len(whole):
            for resource in range(3):
                free = self.free[whole, resource]
                whole = whole[free == free.min()]
            return {int(whole[0]): gpus}
        if not self.may_split(gpus) or capacity.sum() < gpus:
            return None
        return _filled(np.argsort(-capacity, kind="stable").tolist(), capacity, gpus)

    def first_fit(self, job: Job, choice: Choice, together: bool = False) -> Placed | None:
        """Return where a job fits, servers taken in their order.

        GPU by GPU, as in the authors' public code: a job that may be split takes from each server
        what is there. One that may not, or any job with `together` if some server holds it whole,
        goes to the first server that does.
        """
        gpus, capacity = self.instance.profile(job).gpus, self.capacity(choice)
        split = self.may_split(gpus)
        if together or not split:
            whole = np.flatnonzero(capacity >= gpus)
            if len(whole):
                return {int(whole[0]): gpus}
        if not split or capacity.sum() < gpus:
            return None
        return _filled(range(len(capacity)), capacity, gpus)

    def place(self, job: Job, choice: Choice, placed: Placed) -> None:
        """Give a job its choice on servers."""
        each = self.demand(choice)
        for s, gpus in placed.items():
            self.free[s] -= gpus * each
            self.hosts[s][job.id] = gpus
        self.given[job.id] = (choice, dict(placed))

    def change(self, name: str, choice: Choice) -> None:
        """Give a placed job another choice, where it is; a server may then be overloaded."""
        old, placed = self.given[name]
        difference = self.demand(choice) - self.demand(old)
        for s, gpus in placed.items():
            self.free[s] -= gpus * difference
        self.given[name] = (choice, placed)

    def fits_changed(self, name: str, choice: Choice) -> bool:
        """Whether a placed job could have another choice, where it is."""
        old, placed = self.given[name]
        difference = self.demand(choice) - self.demand(old)
        return all((self.free[s] >= gpus * difference).all() for s, gpus in placed.items())

    def solution(self, method: str) -> Solution:
        """Return what every placed job has, in the file's order of jobs."""
        placed = {
            job.id: (self.given[job.id][0], {str(s): n for s, n in self.given[job.id][1].items()})
            for job in self.instance.jobs
            if job.id in self.given
        }
        return solution_of(self.instance, placed, method)


def _filled(order: Iterable[int], capacity: Vector, gpus: int) -> Placed:
    """Take GPUs from servers in this order until there are enough."""
    placed: Placed = {}
    for s in order:
        take = min(int(capacity[s]), gpus)
        if take > 0:
            placed[s] = take
            gpus -= take
        if not gpus:
            break
    return placed


def solution_of(
    instance: Instance, placed: Mapping[str, tuple[Choice, dict[str, int]]], method: str
) -> Solution:
    """Return a solution from each job's choice and GPUs by server."""
    return Solution(
        allocation={
            name: Allocation(cpus=choice.cpus, memory=choice.memory, gpus=gpus)
            for name, (choice, gpus) in placed.items()
        },
    )
