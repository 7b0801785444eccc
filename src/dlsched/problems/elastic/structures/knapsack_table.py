"""Tables of the knapsack over the GPUs: filling, reading and checking them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from dlsched.problems.elastic.definition.job_choices import Workers
from dlsched.problems.elastic.structures.knapsack import Items, first_entries
from dlsched.problems.elastic.structures.reduction_units import Integers
from dlsched.solvers.arrays import Ints

Stop: TypeAlias = Callable[[], str | None]
"""Returns a reason to stop, if there is one."""


class _Move(NamedTuple):
    """The part of a row with at least an item's GPUs, and that to which these are added."""

    target: tuple[slice, ...]
    source: tuple[slice, ...]

    @classmethod
    def by(cls, used: Workers) -> _Move:
        """Return what GPUs move."""
        return cls(tuple(slice(n, None) for n in used), tuple(slice(-n or None) for n in used))


class Table(NamedTuple):
    """A filled table and the items that it is about.

    Attributes
    ----------
    numbers
        Numbers of the items among those of the instance.
    rows
        For each item the row before it: the number of jobs before its job.
    gpus, worth
        GPUs by capacity, and worth, of each item.
    moves
        By the GPUs of an item.
    capacity
        GPUs that may be used.
    entries
        ``entries[r, c]``, or ``entries[r, c, d]`` with two capacities, is the largest worth of the
        first r jobs on c GPUs, and d of the second capacity.
    """

    numbers: Ints
    rows: Ints
    gpus: Sequence[Workers]
    worth: Integers
    moves: dict[Workers, _Move]
    capacity: Workers
    entries: Integers

    @property
    def most(self) -> int:
        """The largest worth of all jobs together."""
        return int(self.entries[(-1, *self.capacity)])


def fill_table(
    items: Items, numbers: Ints, worth: Integers, capacity: Workers, stop: Stop
) -> Table | None:
    """Return the dynamic program's table of some items, or ``None`` if `stop` returns a reason.

    Parameters
    ----------
    numbers, worth
        The items, none larger than the capacity, and the worth of each.
    """
    starts = first_entries(items.row[numbers])
    rows = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(numbers))))
    gpus = list(map(tuple, items.gpus[numbers].tolist()))
    shape = (len(starts) + 1, *(free + 1 for free in capacity))
    entries = np.zeros(shape, dtype=worth.dtype)
    moves = {used: _Move.by(used) for used in set(gpus)}
    filled = 0
    for r, used, added in zip(rows.tolist(), gpus, worth, strict=True):
        if stop():
            return None
        before = entries[r]
        after = entries[r + 1]
        if filled == r:
            after[:] = before
            filled += 1
        move = moves[used]
        part = after[move.target]
        np.maximum(part, before[move.source] + added, out=part)
    return Table(numbers, rows, gpus, worth, moves, capacity, entries)


def read_table(table: Table) -> list[int]:
    """Return the numbers of the items of an optimal choice."""
    starts = np.searchsorted(table.rows, np.arange(len(table.entries))).tolist()
    chosen: list[int] = []
    free = table.capacity
    for r in reversed(range(len(table.entries) - 1)):
        goal = table.entries[(r + 1, *free)]
        if goal == table.entries[(r, *free)]:
            continue
        for i in range(starts[r], starts[r + 1]):
            rest = tuple([n - used for n, used in zip(free, table.gpus[i], strict=True)])
            if min(rest) >= 0 and table.entries[(r, *rest)] + table.worth[i] == goal:
                chosen.append(int(table.numbers[i]))
                free = rest
                break
    return chosen


def proves(table: Table, stop: Stop) -> bool:
    """Whether a table, however computed, proves that its last entry bounds every choice of items.

    If row 0 is non-negative and each row is at least the one before it, also after adding any of
    the job's items, then by induction a row bounds all choices among its jobs. The result is False
    if `stop` returns a reason before all inequalities are checked.
    """
    entries = table.entries
    shape = (int(table.rows.max(initial=-1)) + 2, *(free + 1 for free in table.capacity))
    if entries.shape != shape or (entries[0] < 0).any():
        return False
    grows = all(not stop() and bool((b >= a).all()) for a, b in itertools.pairwise(entries))
    if not grows:
        return False
    for r, used, added in zip(table.rows.tolist(), table.gpus, table.worth, strict=True):
        move = table.moves[used]
        if stop() or not (entries[r + 1][move.target] >= entries[r][move.source] + added).all():
            return False
    return True


class Through(NamedTuple):
    """Bounds on the worth of choices of items: those with each item, and those with each job idle.

    ``item`` has an entry per item of a table, ``idle`` one per job of it.
    """

    item: Ints
    idle: Ints


def through(table: Table, backward: Table, stop: Stop) -> Through | None:
    """Return what the tables of some items, and of the same items in reverse order, bound.

    The result is ``None`` if `stop` returns a reason.
    """
    last = len(table.entries) - 2
    turned = (slice(None, None, -1),) * len(table.capacity)
    item: list[int] = []
    for r, used, worth in zip(table.rows.tolist(), table.gpus, table.worth, strict=True):
        if stop():
            return None
        source = table.moves[used].source
        before = table.entries[r][source]
        after = backward.entries[last - r][source][turned]
        item.append(int((before + after).max() + worth))
    idle = [
        int((table.entries[r] + backward.entries[last - r][turned]).max()) for r in range(last + 1)
    ]
    return Through(np.array(item, dtype=np.int64), np.array(idle, dtype=np.int64))
