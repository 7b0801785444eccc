"""Free and allocated resources of the servers while jobs are placed, in integers."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.sensitivity.definition.schema import (
    Allocation,
    Choice,
    Instance,
    Job,
    Solution,
)
from dlsched.schema import FrozenDict, Number

Placed: TypeAlias = dict[int, int]
"""GPUs by server."""
Resources: TypeAlias = NDArray[Any]
"""GPUs, CPUs and memory, the latter two in multiples of their granularities."""

LARGEST = 2**62
"""Values from here on do not fit 64 bits, with room for a sum of two."""


class Cluster:
    """Free GPUs, CPUs and memory of each server, and the placed jobs with their choices.

    Amounts are integers, see `Resources`: 64-bit ones, or Python's where those would overflow.
    """

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        servers = instance.servers
        self.share = servers.proportional
        self.units = [amounts.granularity for amounts in instance.amounts]
        gpus = max([servers.gpus, *(p.gpus for p in instance.profiles.values())])
        most = max(amounts.largest / amounts.granularity for amounts in instance.amounts)
        self.dtype: Any = np.int64 if most * (gpus + 1) < LARGEST else object
        self.full = self._in_units(servers.gpus, servers.cpus, servers.memory)
        self.free: Resources = np.tile(self.full, (servers.count, 1))
        self.given: dict[str, tuple[Choice, Placed]] = {}
        self.hosts: list[dict[str, int]] = [{} for _ in range(servers.count)]
        self.jobs = {job.id: job for job in instance.jobs}
        self._demands: dict[int, tuple[Choice, Resources]] = {}

    def _in_units(self, gpus: int, cpus: Number, memory: Number) -> Resources:
        cpu_unit, memory_unit = self.units
        amounts = [gpus, int(cpus / cpu_unit), int(memory / memory_unit)]
        return np.array(amounts, dtype=self.dtype)

    def demand(self, choice: Choice) -> Resources:
        """Return the GPUs (1), CPUs and memory that one GPU of a job with this choice takes."""
        # Keyed by identity, as hashing fractions would dominate the running time.
        known = self._demands.get(id(choice))
        if known is None:
            known = choice, self._in_units(1, choice.cpus, choice.memory)
            self._demands[id(choice)] = known
        return known[1]

    def capacity(self, choice: Choice) -> Resources:
        """Return how many GPUs with this choice fit on each server now."""
        capacity: Resources = (self.free // self.demand(choice)).min(axis=1)
        return capacity

    def may_split(self, gpus: int) -> bool:
        """Whether a job with this number of GPUs may be on several servers."""
        return gpus > 1 and self.instance.allow_split

    def best_fit(self, job: Job, choice: Choice) -> Placed | None:
        """Return a best-fit placement, or ``None``.

        Of the servers that can take the whole job, the one with the fewest free GPUs, then CPUs,
        then memory. Else the job is split over the servers that can take most of its GPUs.
        """
        gpus = self.instance.profile(job).gpus
        capacity = self.capacity(choice)
        whole = np.flatnonzero(capacity >= gpus)
        if len(whole):
            for resource in range(3):
                free = self.free[whole, resource]
                whole = whole[free == free.min()]
            return {int(whole[0]): gpus}
        if not self.may_split(gpus) or capacity.sum() < gpus:
            return None
        return filled(np.argsort(-capacity, kind="stable").tolist(), capacity, gpus)

    def first_fit(self, job: Job, choice: Choice, together: bool = False) -> Placed | None:
        """Return a first-fit placement, or ``None``.

        As in the authors' public code a job that may be split takes what fits on each server in
        their order. A job that may not, or with `together` any job, goes to the first server that
        can take the whole job, if there is one.
        """
        gpus = self.instance.profile(job).gpus
        capacity = self.capacity(choice)
        split = self.may_split(gpus)
        if together or not split:
            whole = np.flatnonzero(capacity >= gpus)
            if len(whole):
                return {int(whole[0]): gpus}
        if not split or capacity.sum() < gpus:
            return None
        return filled(range(len(capacity)), capacity, gpus)

    def place(self, job: Job, choice: Choice, placed: Placed) -> None:
        """Allocate a choice and GPUs to a job."""
        demand = self.demand(choice)
        for s, gpus in placed.items():
            self.free[s] -= gpus * demand
            self.hosts[s][job.id] = gpus
        self.given[job.id] = (choice, dict(placed))

    def change(self, name: str, choice: Choice) -> None:
        """Change the choice of a placed job; its servers may then be overloaded."""
        old, placed = self.given[name]
        more = self.demand(choice) - self.demand(old)
        for s, gpus in placed.items():
            self.free[s] -= gpus * more
        self.given[name] = (choice, placed)


def filled(order: Iterable[int], capacity: Resources, gpus: int) -> Placed:
    """Return a placement that takes GPUs from servers in this order until there are enough."""
    placed: Placed = {}
    for s in order:
        take = min(int(capacity[s]), gpus)
        if take > 0:
            placed[s] = take
            gpus -= take
        if not gpus:
            break
    return placed


def solution_of(instance: Instance, given: Mapping[str, tuple[Choice, Placed]]) -> Solution:
    """Return a solution from jobs' choices and GPUs, in the instance's order of jobs.

    Without validation, which for thousands of jobs takes longer than most heuristics: the amounts
    are the instance's own, and the checker examines every solution.
    """
    names = [str(s) for s in range(instance.servers.count)]
    allocation: dict[str, Allocation] = {}
    equal: dict[tuple[object, ...], Allocation] = {}
    for job in instance.jobs:
        if job.id in given:
            choice, placed = given[job.id]
            key = id(choice), *placed.items()
            known = equal.get(key)
            if known is None:
                gpus = FrozenDict({names[server]: count for server, count in placed.items()})
                known = equal[key] = Allocation.model_construct(
                    cpus=choice.cpus, memory=choice.memory, gpus=gpus
                )
            allocation[job.id] = known
    return Solution.model_construct(allocation=FrozenDict(allocation))
