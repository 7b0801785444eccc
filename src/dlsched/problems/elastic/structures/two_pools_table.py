"""Tables of the knapsack with two capacities: filling, reading and checking them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.elastic.definition.two_pools_choices import Split
from dlsched.problems.elastic.structures.items import Ints, firsts
from dlsched.problems.elastic.structures.two_pools_knapsack import PoolItems


class Table(NamedTuple):
    """A filled table and the items that it is about.

    Attributes
    ----------
    numbers
        Numbers of the items among those of the instance.
    rows
        For each item the row before it: the number of jobs before its job.
    worth
        Worth of each item.
    entries
        ``entries[r, c, d]`` is the largest worth of the first r jobs on c GPUs of training and d
        on loan.
    """

    numbers: NDArray[np.int64]
    rows: NDArray[np.int64]
    gpus: NDArray[np.int64]
    worth: Ints
    entries: Ints


def fill_table(
    items: PoolItems,
    numbers: NDArray[np.int64],
    worth: Ints,
    capacity: Split,
    stop: Callable[[], str | None],
) -> Table | None:
    """Return the dynamic program's table of some items, or ``None`` if `stop` returns a reason.

    Parameters
    ----------
    numbers, worth
        The items, and the worth of each.
    capacity
        GPUs by pool.
    """
    gpus = items.gpus[numbers]
    starts = firsts(items.row[numbers])
    rows = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(numbers))))
    shape = (len(starts) + 1, capacity[0] + 1, capacity[1] + 1)
    entries = np.zeros(shape, dtype=worth.dtype)
    for i, (r, (g, h)) in enumerate(zip(rows.tolist(), gpus.tolist(), strict=True)):
        if stop():
            return None
        before, after = entries[r], entries[r + 1]
        if i == 0 or rows[i - 1] != r:
            after[:] = before
        if g <= capacity[0] and h <= capacity[1]:
            new = before[: shape[1] - g, : shape[2] - h] + worth[i]
            np.maximum(after[g:, h:], new, out=after[g:, h:])
    return Table(numbers, rows, gpus, worth, entries)


def read_table(table: Table) -> list[int]:
    """Return the numbers of the items of an optimal choice."""
    entries, chosen = table.entries, []
    c, d = (n - 1 for n in entries.shape[1:])
    position = len(table.rows)
    for r in reversed(range(len(entries) - 1)):
        end = position
        while position and table.rows[position - 1] == r:
            position -= 1
        if entries[r + 1, c, d] == entries[r, c, d]:
            continue
        for i in range(position, end):
            g, h = table.gpus[i].tolist()
            fits = g <= c and h <= d
            if fits and entries[r, c - g, d - h] + table.worth[i] == entries[r + 1, c, d]:
                chosen.append(int(table.numbers[i]))
                c, d = c - g, d - h
                break
    return chosen


def proves(table: Table, stop: Callable[[], str | None]) -> bool:
    """Whether a table, however computed, proves that its last entry bounds every choice of items.

    The proof is that of the table with one capacity: row 0 is non-negative, and each row is at
    least the one before it, also after adding any of the job's items. The result is False if
    `stop` returns a reason before all inequalities are checked.
    """
    entries = table.entries
    if (entries[0] < 0).any():
        return False
    for a, b in itertools.pairwise(entries):
        if stop() or not (b >= a).all():
            return False
    height, width = entries.shape[1:]
    for r, (g, h), worth in zip(table.rows, table.gpus.tolist(), table.worth, strict=True):
        if stop():
            return False
        if g < height and h < width:
            before = entries[r, : height - g, : width - h]
            if not (entries[r + 1, g:, h:] >= before + worth).all():
                return False
    return True


class Through(NamedTuple):
    """Bounds on the worth of choices of items: those with each item, and those with each job idle.

    ``item`` has an entry per item of a table, ``idle`` one per job of it.
    """

    item: list[int]
    idle: list[int]


def through(table: Table, backward: Table, stop: Callable[[], str | None]) -> Through | None:
    """Return what the tables of some items, and of the same items in reverse order, bound.

    The result is ``None`` if `stop` returns a reason.
    """
    last = len(table.entries) - 2
    ahead = backward.entries
    height, width = table.entries.shape[1:]
    item = []
    for r, (g, h), worth in zip(table.rows.tolist(), table.gpus.tolist(), table.worth, strict=True):
        if stop():
            return None
        before = table.entries[r, : height - g, : width - h]
        after = ahead[last - r, : height - g, : width - h][::-1, ::-1]
        item.append(int((before + after).max() + worth))
    idle = [int((table.entries[r] + ahead[last - r][::-1, ::-1]).max()) for r in range(last + 1)]
    return Through(item, idle)
