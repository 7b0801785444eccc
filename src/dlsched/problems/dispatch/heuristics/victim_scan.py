"""The scan for victims: how many of the first are enough, and the order by size (section 4.3)."""

from __future__ import annotations

import numpy as np

from dlsched.problems.dispatch.structures.fleet import Request, room
from dlsched.problems.dispatch.structures.victims import Array, Holding

_FIRST = 256
"""Entries that are scanned first: few victims are often enough."""
_GROWTH = 4
"""By how many times more entries are scanned next."""


def enough(free: Array, fits: Array, held: Holding, request: Request) -> int | None:
    """Return how many of the victims are enough, in the order of `held`; ``None`` if not all are.

    Parameters
    ----------
    free, fits
        What is free on the machines that the job can use, and how many tasks fit now.
    held
        What the victims hold on these machines.
    """
    now = int(fits.sum())
    size = _FIRST
    while held.victim.size:
        victims = int(np.searchsorted(held.last, size)) + 1
        part = held.first(victims)
        reached = now + np.cumsum(_gain(free, fits, part, request))[part.last]
        sufficient = int(np.searchsorted(reached, request.tasks))
        if sufficient < reached.size:
            return sufficient + 1
        if part.victim.size == held.victim.size:
            break
        size *= _GROWTH
    return None


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
