"""The servers while jobs are placed on them: what is free, and who holds it, in whole numbers."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from dlsched.problems.sensitivity.schema import Allocation, Choice, Instance, Job, Solution
from dlsched.schema import grid

Placed = dict[int, int]
"""GPUs by server."""


class Cluster:
    """Free GPUs, CPUs and memory of each server, the latter two in units of their grids."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        servers = instance.servers
        cpus = [servers.cpus, servers.proportional[0]]
        memory = [servers.memory, servers.proportional[1]]
        for choices in instance.choices.values():
            cpus += [c.cpus for c in choices]
            memory += [c.memory for c in choices]
        self.units = grid(cpus), grid(memory)
        full = (servers.gpus, self._units(servers.cpus, 0), self._units(servers.memory, 1))
        self.free = np.tile(np.array(full, dtype=np.int64), (servers.count, 1))
        self.given: dict[str, tuple[Choice, Placed]] = {}
        self.hosts: list[dict[str, int]] = [{} for _ in range(servers.count)]
        self.index = {job.id: job for job in instance.jobs}

    def _units(self, amount: object, resource: int) -> int:
        return int(Fraction(amount) / self.units[resource])  # type: ignore[call-overload]

    def demand(self, choice: Choice) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Return what one GPU of a job with this choice takes."""
        return np.array([1, self._units(choice.cpus, 0), self._units(choice.memory, 1)])

    def fit(self, job: Job, choice: Choice) -> Placed | None:
        """Return where a job fits: the fullest server that takes it whole, else the fewest.

        Best fit: of the servers that take it, the one with least free GPUs, then CPUs, then
        memory. A job that no server takes is split over those that take most of it.
        """
        gpus, each = self.instance.profile(job).gpus, self.demand(choice)
        room = (self.free // each).min(axis=1)
        whole = np.flatnonzero(room >= gpus)
        if len(whole):
            free = self.free[whole]
            best = np.lexsort((free[:, 2], free[:, 1], free[:, 0]))[0]
            return {int(whole[best]): gpus}
        if gpus == 1 or not self.instance.allow_split or room.sum() < gpus:
            return None
        placed: Placed = {}
        for s in np.argsort(-room, kind="stable").tolist():
            take = min(int(room[s]), gpus - sum(placed.values()))
            if take:
                placed[s] = take
        return placed

    def place(self, job: Job, choice: Choice, placed: Placed) -> None:
        """Give a job its share on servers."""
        each = self.demand(choice)
        for s, gpus in placed.items():
            self.free[s] -= gpus * each
            self.hosts[s][job.id] = gpus
        self.given[job.id] = (choice, dict(placed))

    def change(self, name: str, choice: Choice) -> None:
        """Give a placed job another share, where it is."""
        old, placed = self.given[name]
        difference = self.demand(choice) - self.demand(old)
        for s, gpus in placed.items():
            self.free[s] -= gpus * difference
        self.given[name] = (choice, placed)

    def fits_changed(self, name: str, choice: Choice) -> bool:
        """Whether a placed job could have another share, where it is."""
        old, placed = self.given[name]
        difference = self.demand(choice) - self.demand(old)
        return all((self.free[s] >= gpus * difference).all() for s, gpus in placed.items())

    def above_proportional(self, server: int) -> list[str]:
        """Return the jobs on a server that hold more than their share of CPUs or memory."""
        cpus, memory = self.instance.servers.proportional
        found = []
        for name in self.hosts[server]:
            choice = self.given[name][0]
            if choice.cpus > cpus or choice.memory > memory:
                found.append(name)
        return found

    def solution(self, method: str) -> Solution:
        """Return what everybody has, in the file's order of jobs."""
        placed = {
            job.id: (self.given[job.id][0], {str(s): n for s, n in self.given[job.id][1].items()})
            for job in self.instance.jobs
        }
        return solution_of(self.instance, placed, method)


def solution_of(
    instance: Instance, placed: Mapping[str, tuple[Choice, dict[str, int]]], method: str
) -> Solution:
    """Return a solution from each job's choice and GPUs by server."""
    return Solution(
        instance=instance.name,
        instance_sha256=instance.sha256,
        method=method,
        allocation={
            name: Allocation(cpus=choice.cpus, memory=choice.memory, gpus=gpus)
            for name, (choice, gpus) in placed.items()
        },
    )
