"""Gangs on machines: from speeds to GPUs of each type, and from these to machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.utility.definition.schema import Held, Instance, Solution

GpusByType: TypeAlias = dict[str, int]
GpusByMachine: TypeAlias = dict[str, GpusByType]


class RunningGang(NamedTuple):
    """A job that runs in a slot, and the index of its speed."""

    job: int
    speed: int


Divide: TypeAlias = Callable[[Instance, Sequence[RunningGang]], dict[int, GpusByType]]


def solution_of(
    instance: Instance, levels: NDArray[np.int8], divide: Divide | None = None
) -> Solution:
    """Return the schedule on machines; a greedy rule keeps each gang on few of them.

    Parameters
    ----------
    levels
        Jobs x slots: the index of the speed, -1 where a job does not run.
    divide
        Returns the GPUs of each type for the gangs of a slot; by default `gpus_by_type`.
    """
    divide = divide or gpus_by_type
    schedule: dict[str, list[Held]] = {job.id: [] for job in instance.jobs}
    known: dict[tuple[RunningGang, ...], dict[int, GpusByMachine]] = {(): {}}
    for t in range(instance.slots):
        jobs = np.flatnonzero(levels[:, t] >= 0).tolist()
        running = tuple(RunningGang(j, int(levels[j, t])) for j in jobs)
        if running not in known:
            known[running] = place(instance, divide(instance, running))
        for j, gpus in known[running].items():
            schedule[instance.jobs[j].id].append(Held(slot=t + 1, gpus=gpus))
    return Solution(schedule={name: tuple(rows) for name, rows in schedule.items() if rows})


def gpus_by_type(instance: Instance, running: Sequence[RunningGang]) -> dict[int, GpusByType]:
    """Return the GPUs of each type that every gang gets: a maximum flow.

    A greedy rule is tried first, gangs that can use the fewest types first; it is enough where
    these sets of types are nested.
    """
    types = {gang.job: instance.speeds[gang.job][gang.speed].types for gang in running}
    free = dict(instance.supply)
    given: dict[int, GpusByType] = {}
    for j in sorted(types, key=lambda j: len(types[j])):
        workers = instance.jobs[j].workers
        most_free_first = sorted(types[j], key=lambda k: (-free[k], k))
        given[j] = take(free, most_free_first, workers)
        if sum(given[j].values()) < workers:
            return by_flow(instance, [(i, t, instance.jobs[i].workers) for i, t in types.items()])
    return {j: given[j] for j in types}


def by_flow(
    instance: Instance, needs: Sequence[tuple[int, frozenset[str], int]]
) -> dict[int, GpusByType]:
    """Return the GPUs of each type that jobs get, by a flow from them through types to a sink.

    Parameters
    ----------
    needs
        Jobs, the types that they can use, and how many GPUs of these they need; a job may have
        several needs.
    """
    from scipy import sparse
    from scipy.sparse.csgraph import maximum_flow

    supply = instance.supply
    source = len(needs)
    first_type = source + 1
    sink = first_type + len(supply)
    capacity = np.zeros((sink + 1, sink + 1), dtype=np.int32)
    capacity[first_type:sink, sink] = list(supply.values())
    for row, (_, usable, count) in enumerate(needs):
        capacity[source, row] = count
        capacity[row, first_type:sink] = [count * (kind in usable) for kind in supply]
    flow = maximum_flow(sparse.csr_array(capacity), source, sink).flow.toarray()
    given: dict[int, Counter[str]] = {j: Counter() for j, _, _ in needs}
    for (j, _, _), row in zip(needs, flow[:source, first_type:sink].tolist(), strict=True):
        given[j] += Counter(dict(zip(supply, row, strict=True)))
    return {j: dict(counts) for j, counts in given.items()}


def take(free: GpusByType, kinds: Sequence[str], need: int) -> GpusByType:
    """Take up to `need` GPUs of these types in turn; return those taken by type."""
    gpus: GpusByType = {}
    for kind in kinds:
        count = min(need, free[kind])
        if count:
            gpus[kind] = count
            free[kind] -= count
            need -= count
    return gpus


def place(
    instance: Instance,
    counts: Mapping[int, Mapping[str, int]],
    free: list[GpusByType] | None = None,
) -> dict[int, GpusByMachine]:
    """Assign the GPUs of gangs, given by type, to machines.

    Largest gangs first; each on the machine with the fewest free GPUs of a type that has all it
    needs, else on those with the most.

    Parameters
    ----------
    counts
        For each job its GPUs by type.
    free
        The free GPUs of each machine, reduced in place; all of them by default.
    """
    machines = instance.machines
    if free is None:
        free = [dict(machine.gpus) for machine in machines]
    placed: dict[int, GpusByMachine] = {j: {} for j in counts}
    for j in sorted(counts, key=lambda j: -sum(counts[j].values())):
        for kind, need in counts[j].items():
            missing = need
            while missing:
                m = _machine([gpus.get(kind, 0) for gpus in free], missing)
                count = min(missing, free[m][kind])
                free[m][kind] -= count
                missing -= count
                placed[j].setdefault(machines[m].id, {})[kind] = count
    return placed


def _machine(free: Sequence[int], need: int) -> int:
    """Return the machine with the fewest free GPUs that are enough, else that with the most."""
    enough = [m for m, count in enumerate(free) if count >= need]
    some = [m for m, count in enumerate(free) if count]
    return min(enough, key=free.__getitem__) if enough else max(some, key=free.__getitem__)
