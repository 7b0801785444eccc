"""The plan of one job in one cluster (MAST, section 4.3)."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dlsched.problems.dispatch.structures.fleet import Fleet, Request, room
from dlsched.problems.dispatch.structures.victims import Array, Holding


@dataclass(frozen=True)
class JobPlan:
    """Machines of a cluster with the tasks on each, and the workloads to preempt for it."""

    site: int
    machines: Array
    tasks: Array
    victims: tuple[int, ...] = ()


class View(NamedTuple):
    """A cluster as a job sees it: machines that it can use, what is free, how many tasks fit."""

    site: int
    request: Request
    usable: Array
    free: Array
    fits: Array

    @property
    def suffices(self) -> bool:
        """Whether all tasks fit without preemption."""
        return int(self.fits.sum()) >= self.request.tasks


def view(fleet: Fleet, site: int, request: Request) -> View:
    """Return a cluster as a job sees it now."""
    usable = fleet.usable(site, request)
    free = fleet.free[:, fleet.sites[site].machines]
    if usable.size < free.shape[1]:
        free = free[:, usable]
    return View(site, request, usable, free, room(free, request))


def plan_with_victims(
    fleet: Fleet, seen: View, priority: int, *, fewest: bool = True
) -> JobPlan | None:
    """Return where a job of a workload of some priority starts and for whom, or ``None``.

    The running workloads of lower priority are scanned, lowest priority and longest running first,
    until enough is free with what they release; then the largest of these are kept until that is
    enough; those whose machines the plan does not use are dropped. The largest are those that hold
    most GPUs, for a CPU job most CPUs, on machines that the job can use **(D)**: the paper's
    example counts GPUs.

    Parameters
    ----------
    fewest
        Whether the scanned workloads are sorted by size again (the paper's rule).
    """
    request = seen.request
    held = fleet.candidates(seen.site, request, priority)
    victims = enough(seen.free, seen.fits, held, request)
    if victims is None:
        return None
    held = held.first(victims)
    if fewest:
        held = largest_first(held, request)
        victims = enough(seen.free, seen.fits, held, request)
        assert victims is not None  # all of them are enough
        held = held.first(victims)
    changed, entry_of = np.unique(held.machine, return_inverse=True)
    free = seen.free[:, changed]
    np.add.at(free.T, entry_of, held.amount.T)
    fits = seen.fits.copy()
    fits[changed] = room(free, request)
    machines, tasks = fill(fleet, seen._replace(fits=fits))
    on = np.zeros(fleet.sites[seen.site].kind.size, dtype=bool)
    on[machines] = True
    touched = np.unique(held.victim[on[seen.usable[held.machine]]])
    return JobPlan(seen.site, machines, tasks, tuple(touched.tolist()))


def fill(fleet: Fleet, seen: View) -> tuple[Array, Array]:
    """Take machines by rack, those with most room first, until all tasks are placed.

    The last machine may be filled in part **(D)**. A CPU job takes machines without GPUs first
    **(D)**: it may run on any, and would keep GPUs from others.
    """
    site = fleet.sites[seen.site]
    with_room = np.flatnonzero(seen.fits)
    fits = seen.fits[with_room]
    machines = seen.usable[with_room]
    order = np.lexsort((-fits, site.rack[machines], site.gpus[machines] > 0))
    total = np.cumsum(fits[order])
    last = int(np.searchsorted(total, seen.request.tasks))
    chosen = order[: last + 1]
    tasks = fits[chosen]
    tasks[-1] -= int(total[last]) - seen.request.tasks
    return machines[chosen], tasks


def enough(free: Array, fits: Array, held: Holding, request: Request) -> int | None:
    """Return how many of the victims are enough, in the order of `held`; ``None`` if not all are.

    Parameters
    ----------
    free, fits
        What is free on the machines that the job can use, and how many tasks fit now.
    held
        What the victims hold on these machines.
    """
    if not held.victim.size:
        return None
    reached = int(fits.sum()) + np.cumsum(_gain(free, fits, held, request))[held.last]
    sufficient = int(np.searchsorted(reached, request.tasks))
    return sufficient + 1 if sufficient < reached.size else None


def _gain(free: Array, fits: Array, held: Holding, request: Request) -> Array:
    """Return by entry how many more tasks fit on its machine when its victim stops.

    The earlier victims have stopped: what a machine has is a running sum over its entries.
    """
    order = np.argsort(held.machine, kind="stable")
    machine = held.machine[order]
    new = machine[1:] != machine[:-1]
    if new.all():  # every machine has one victim
        after: Array = room(free[:, held.machine] + held.amount, request)
        return after - fits[held.machine]
    amount = held.amount[:, order]
    first = np.append(0, np.flatnonzero(new) + 1)
    total = np.cumsum(amount, axis=1)
    base = total[:, first] - amount[:, first]
    length = np.diff(np.append(first, machine.size))
    after = room(free[:, machine] + total - np.repeat(base, length, axis=1), request)
    before = np.roll(after, 1)
    before[first] = fits[machine[first]]
    gain = np.empty_like(after)
    gain[order] = after - before
    return gain


def largest_first(held: Holding, request: Request) -> Holding:
    """Return the entries with the victims in order of size falling, ties in order of the scan.

    The size is GPUs on usable machines, for a CPU job CPUs.
    """
    row = held.amount[0 if request.need[0] else 1]
    first = np.append(0, held.last[:-1] + 1)
    order = np.argsort(-np.add.reduceat(row, first), kind="stable")
    length = (held.last - first + 1)[order]
    last = np.cumsum(length) - 1
    index = np.arange(row.size) + np.repeat(first[order] - (last - length + 1), length)
    return Holding(held.victim[index], held.machine[index], held.amount[:, index], last)
