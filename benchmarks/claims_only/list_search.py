"""The mean completion time of a list schedule on pooled servers, for a search over its order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from claims_only.list_order import Modes
from dlsched.simulation.workload.cluster import Cluster
from dlsched.simulation.workload.workload import Workload

Vector = NDArray[np.float64]
Whole = NDArray[np.int64]


class Pooled(NamedTuple):
    """Jobs, modes and capacities as arrays; times in seconds.

    Attributes
    ----------
    first
        First mode of each job; one entry more than jobs.
    seconds, cell, uses
        By mode: running time, number of its cell, and what it takes of each resource, shape (modes,
        resources).
    """

    submit: Vector
    restart: Vector
    first: Whole
    seconds: Vector
    cell: Whole
    uses: Vector
    capacity: Vector

    @classmethod
    def of(cls, workload: Workload, cluster: Cluster) -> Pooled:
        """Return the arrays of a workload on a cluster; CPUs and memory count where limited."""
        made = Modes(workload, cluster)
        cells = list(made.cells)
        capacity = np.full(3 * len(cells), np.inf)
        for i, servers in enumerate(made.cells.values()):
            for k, name in enumerate(("gpus", "cpus", "memory")):
                amounts = [getattr(server, name) for server in servers]
                if None not in amounts:
                    capacity[3 * i + k] = float(sum(amounts))
        modes = [mode for found in made.of_job for mode in found]
        uses = np.zeros((len(modes), len(capacity)))
        for row, mode in zip(uses, modes, strict=True):
            place = 3 * cells.index(mode.cell)
            row[place : place + 3] = [
                float(mode.gpus * each) for each in (1, mode.cpus, mode.memory)
            ]
        bounded = np.isfinite(capacity) & (uses.sum(axis=0) > 0)
        return cls(
            np.array([float(job.submit) for job in workload.jobs]),
            np.array([float(job.restart) for job in workload.jobs]),
            np.cumsum([0, *map(len, made.of_job)]).astype(np.int64),
            np.array([float(mode.seconds) for mode in modes]),
            np.array([cells.index(mode.cell) for mode in modes], np.int64),
            np.ascontiguousarray(uses[:, bounded]),
            np.ascontiguousarray(capacity[bounded]),
        )

    def total(self, order: Whole, only: Whole, preemptive: bool, limit: float = np.inf) -> float:
        """Return the sum of completion times; infinite if it is above the limit."""
        return float(total_completion(*self, order, only, preemptive, limit))


@njit
def _fits(need: Vector, free: Vector) -> bool:
    """Return whether all amounts are free, up to rounding."""
    for k in range(len(need)):  # noqa: SIM110 (compiled)
        if need[k] > free[k] + 1e-9:
            return False
    return True


@njit(cache=True)
def total_completion(  # noqa: PLR0912, PLR0915 (one loop over events)
    submit: Vector,
    restart: Vector,
    first: Whole,
    seconds: Vector,
    cell: Whole,
    uses: Vector,
    capacity: Vector,
    order: Whole,
    only: Whole,
    preemptive: bool,
    limit: float,
) -> float:
    """Return the sum of completion times of the list schedule, as `ListOrder` makes it.

    Parameters
    ----------
    order
        The jobs, the first to go first.
    only
        The mode of each job, -1 for all of them.
    """
    jobs = len(submit)
    rank = np.empty(jobs, np.int64)
    for i in range(jobs):
        rank[order[i]] = i
    mode = np.full(jobs, -1, np.int64)  # of a running job
    left = np.ones(jobs)  # share of its work that a waiting job needs
    end = np.zeros(jobs)
    active = np.empty(jobs, np.int64)  # in order
    count = arrived = 0
    total = now = 0.0
    free = np.empty(len(capacity))
    while count > 0 or arrived < jobs:
        if count == 0:
            now = max(now, submit[arrived])
        while arrived < jobs and submit[arrived] <= now:
            place = count
            while place > 0 and rank[active[place - 1]] > rank[arrived]:
                active[place] = active[place - 1]
                place -= 1
            active[place] = arrived
            count += 1
            arrived += 1
        free[:] = capacity
        if not preemptive:
            for i in range(count):
                if mode[active[i]] >= 0:
                    free -= uses[mode[active[i]]]
        following = submit[arrived] if arrived < jobs else np.inf
        for i in range(count):
            j = active[i]
            if mode[j] < 0 or preemptive:
                low, high = first[j], first[j + 1]
                if only[j] >= 0:
                    low += only[j]
                    high = low + 1
                found = -1
                for m in range(low, high):
                    if (mode[j] < 0 or cell[m] == cell[mode[j]]) and _fits(uses[m], free):
                        found = m
                        free -= uses[m]
                        break
                if found != mode[j]:
                    if mode[j] >= 0:
                        rest = max(0.0, end[j] - now) / max(seconds[mode[j]], 1e-9)
                        left[j] = min(left[j], rest)
                    mode[j] = found
                    if found >= 0:
                        end[j] = now + restart[j] + left[j] * seconds[found]
            if mode[j] >= 0:
                following = min(following, end[j])
        now = following
        kept = 0
        for i in range(count):
            j = active[i]
            if mode[j] >= 0 and end[j] <= now:
                total += end[j]
            else:
                active[kept] = j
                kept += 1
        count = kept
        if total + count * now > limit:
            return np.inf
    return total
