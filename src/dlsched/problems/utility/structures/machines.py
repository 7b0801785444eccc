"""Gangs on machines: from speeds to GPUs of each type, and from these to machines."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.utility.definition.schema import Held, Instance, Solution
from dlsched.schema.document import FrozenDict, freeze

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

    It is not validated, which took most of the time: the checker examines every solution.

    Parameters
    ----------
    levels
        Jobs x slots: the index of the speed, -1 where a job does not run.
    divide
        Returns the GPUs of each type for the gangs of a slot; by default `gpus_by_type`.
    """
    divide = divide or gpus_by_type
    schedule: dict[str, list[Held]] = {job.id: [] for job in instance.jobs}
    known: dict[tuple[RunningGang, ...], Mapping[int, GpusByMachine]] = {(): {}}
    free = free_gpus(instance)
    for t in range(instance.slots):
        jobs = np.flatnonzero(levels[:, t] >= 0).tolist()
        running = tuple(RunningGang(j, int(levels[j, t])) for j in jobs)
        if running not in known:
            left = {kind: counts.copy() for kind, counts in free.items()}
            known[running] = freeze(place(instance, divide(instance, running), left))
        for j, gpus in known[running].items():
            schedule[instance.jobs[j].id].append(Held.model_construct(slot=t + 1, gpus=gpus))
    rows_of = {name: tuple(rows) for name, rows in schedule.items() if rows}
    return Solution.model_construct(schedule=FrozenDict(rows_of))


def free_gpus(instance: Instance) -> dict[str, list[int]]:
    """Return the GPUs of each machine by type, all of them free."""
    machines = instance.machines
    return {kind: [machine.gpus.get(kind, 0) for machine in machines] for kind in instance.supply}


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
    instance: Instance, counts: Mapping[int, Mapping[str, int]], free: Mapping[str, list[int]]
) -> dict[int, GpusByMachine]:
    """Assign the GPUs of gangs, given by type, to machines.

    Largest gangs first; each on the machine with the fewest free GPUs of a type that has all it
    needs, else on those with the most.

    Parameters
    ----------
    counts
        For each job its GPUs by type.
    free
        What is free, by type of each machine; reduced in place.
    """
    placed: dict[int, GpusByMachine] = {j: {} for j in counts}
    for j in sorted(counts, key=lambda j: -sum(counts[j].values())):
        for kind, need in counts[j].items():
            left = free[kind]
            missing = need
            while missing:
                m = left.index(min((n for n in left if n >= missing), default=max(left)))
                count = min(missing, left[m])
                left[m] -= count
                missing -= count
                placed[j].setdefault(instance.machines[m].id, {})[kind] = count
    return placed
