"""The plan of one job in one cluster (MAST, section 4.3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dlsched.problems.dispatch.fleet import Array, Fleet, Holding, Request, room

_FIRST = 256
"""Entries of victims that are scanned first; all are only if these do not suffice."""


@dataclass(frozen=True)
class JobPlan:
    """Machines of a cluster with the tasks on each, and the workloads to preempt for it."""

    site: int
    machines: Array
    tasks: Array
    victims: tuple[int, ...] = ()


def plan_job(
    fleet: Fleet, site: int, request: Request, priority: int, *, fewest: bool = True
) -> JobPlan | None:
    """Return where a job of a workload of some priority starts in a cluster, or ``None``.

    Without preemption if it fits. Else the running workloads of lower priority are scanned, lowest
    priority and longest running first, until enough is free with what they release; then the
    largest of these are kept until that is enough; those whose machines the plan does not use are
    dropped.

    Parameters
    ----------
    fewest
        Whether the scanned workloads are sorted by size again (the paper's rule).
    """
    at = fleet.sites[site]
    usable = fleet.usable(site, request.kind)
    free = fleet.free[:, at.machines]
    if usable.size < at.kind.size:
        free = free[:, usable]
    fits = room(free, request)
    if int(fits.sum()) >= request.tasks:
        machines, tasks = _fill(fleet, site, usable, fits, request)
        return JobPlan(site, machines, tasks)
    held = _candidates(fleet, site, usable, priority)
    if not len(held.victim):
        return None
    scanned = _enough(free, fits, held, request)
    if scanned is None:
        return None
    if fewest:
        kept = _by_size(held, _marked(fleet, scanned), request)
        scanned = _enough(free, fits, kept, request)
        assert scanned is not None  # all of them are enough
        held = kept
    chosen = _marked(fleet, scanned)[held.victim]
    some, at_some = np.unique(held.machine[chosen], return_inverse=True)
    left = free[:, some]
    for i in range(3):
        np.add.at(left[i], at_some, held.amount[i, chosen])
    fits[some] = room(left, request)
    machines, tasks = _fill(fleet, site, usable, fits, request)
    on = np.zeros(at.kind.size, dtype=bool)
    on[machines] = True
    touched = on[usable[held.machine[chosen]]]
    victims = sorted({int(v) for v in held.victim[chosen][touched]})
    return JobPlan(site, machines, tasks, tuple(victims))


def _fill(
    fleet: Fleet, site: int, usable: Array, fits: Array, request: Request
) -> tuple[Array, Array]:
    """Take machines by rack, those with most room first, until all tasks are placed.

    A CPU job takes machines without GPUs first.
    """
    at = fleet.sites[site]
    some = np.flatnonzero(fits > 0)
    numbers = usable[some]
    order = np.lexsort((-fits[some], at.rack[numbers], at.gpus[numbers] > 0))
    some = some[order]
    total = np.cumsum(fits[some])
    last = int(np.searchsorted(total, request.tasks))
    tasks = fits[some[: last + 1]].copy()
    tasks[-1] -= int(total[last]) - request.tasks
    return usable[some[: last + 1]], tasks


def _candidates(fleet: Fleet, site: int, usable: Array, priority: int) -> Holding:
    """Return what workloads of lower priority hold on usable machines, in order of preemption."""
    held = fleet.holdings[site]
    mine = (fleet.running & (fleet.priority > priority))[held.victim]
    size = fleet.sites[site].kind.size
    if usable.size == size:
        return Holding(held.victim[mine], held.machine[mine], held.amount[:, mine])
    place = np.full(size, -1)
    place[usable] = np.arange(usable.size)
    mine &= place[held.machine] >= 0
    return Holding(held.victim[mine], place[held.machine[mine]], held.amount[:, mine])


def _enough(free: Array, fits: Array, held: Holding, request: Request) -> Array | None:
    """Return the first victims that are enough, in the order of `held`; ``None`` if none are.

    What a machine has after each of its victims is a running sum over the entries of the machine.
    """
    change = np.flatnonzero(held.victim[1:] != held.victim[:-1])
    # All entries of a victim count together; they are adjacent.
    last = np.append(change, held.victim.size - 1)
    if held.victim.size > 2 * _FIRST:  # few victims are often enough
        cut = int(last[np.searchsorted(last, _FIRST)]) + 1
        if cut < held.victim.size:
            part = Holding(held.victim[:cut], held.machine[:cut], held.amount[:, :cut])
            found = _enough(free, fits, part, request)
            if found is not None:
                return found
    order = np.argsort(held.machine, kind="stable")
    machine, amount = held.machine[order], held.amount[:, order]
    first = np.append(0, np.flatnonzero(machine[1:] != machine[:-1]) + 1)
    total = np.cumsum(amount, axis=1)
    base = total[:, first] - amount[:, first]
    length = np.diff(np.append(first, machine.size))
    after = room(free[:, machine] + total - np.repeat(base, length, axis=1), request)
    before = np.roll(after, 1)
    before[first] = fits[machine[first]]
    gain = np.empty_like(after)
    gain[order] = after - before
    reached = int(fits.sum()) + np.cumsum(gain)
    sufficient = np.flatnonzero(reached[last] >= request.tasks)
    if not sufficient.size:
        return None
    victims: Array = held.victim[last[: int(sufficient[0]) + 1]]
    return victims


def _marked(fleet: Fleet, victims: Array) -> Array:
    """Return for every running workload whether it is among some."""
    marked = np.zeros(fleet.running.size, dtype=bool)
    marked[victims] = True
    return marked


def _by_size(held: Holding, scanned: Array, request: Request) -> Holding:
    """Return the entries of the scanned victims, those that hold most first.

    The size is GPUs on usable machines, for a CPU job CPUs; ties in order of the scan.
    """
    mine = scanned[held.victim]
    victim, machine = held.victim[mine], held.machine[mine]
    amount = held.amount[:, mine]
    row = amount[0 if request.need[0] else 1]
    names, at, inverse = np.unique(victim, return_index=True, return_inverse=True)
    size = np.zeros(names.size, dtype=amount.dtype)
    np.add.at(size, inverse, row)
    order = sorted(range(names.size), key=lambda k: (-size[k], at[k]))
    position = np.empty(names.size, dtype=np.int64)
    position[order] = np.arange(names.size)
    by = np.argsort(position[inverse], kind="stable")
    return Holding(victim[by], machine[by], amount[:, by])
