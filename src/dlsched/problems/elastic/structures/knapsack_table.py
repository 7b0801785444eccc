"""The table of the knapsack with one capacity: filling, reading and checking it."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from dlsched.problems.elastic.structures.items import Ints
from dlsched.problems.elastic.structures.knapsack import Items


def fill_table(items: Items, stop: Callable[[], str | None]) -> Ints | None:
    """Return the dynamic program's table, or ``None`` if `stop` returns a reason.

    Row r, column c is the largest sum of ``items.worth`` of the first r jobs with items on c GPUs.
    The order is lexicographic because ``items.step`` exceeds every sum of reductions.
    """
    table = np.zeros((len(items.starts) + 1, items.capacity + 1), dtype=items.value.dtype)
    worth = items.worth
    for r, (a, b) in enumerate(zip(items.starts, items.ends, strict=True)):
        before, after = table[r], table[r + 1]
        after[:] = before
        for i in range(a, b):
            if stop():
                return None
            g = items.gpus[i]
            np.maximum(after[g:], before[: len(before) - g] + worth[i], out=after[g:])
    return table


def read_table(items: Items, table: Ints) -> list[int]:
    """Return the numbers of the items of an optimal choice."""
    worth = items.worth
    chosen = []
    c = items.capacity
    for r in reversed(range(len(items.starts))):
        if table[r + 1, c] == table[r, c]:
            continue
        for i in range(items.starts[r], items.ends[r]):
            g = items.gpus[i]
            if g <= c and table[r, c - g] + worth[i] == table[r + 1, c]:
                chosen.append(i)
                c -= int(g)
                break
    return chosen


def proves(items: Items, table: Ints, stop: Callable[[], str | None]) -> bool:
    """Whether a table, however computed, proves that its last entry bounds every choice of items.

    If row 0 is non-negative and each row is at least the one before it, also after adding any of
    the job's items, then by induction a row bounds all choices among its jobs. The result is False
    if `stop` returns a reason before all inequalities are checked.
    """
    width = items.capacity + 1
    if table.shape != (len(items.starts) + 1, width) or (table[0] < 0).any():
        return False
    grows = all(not stop() and bool((b >= a).all()) for a, b in itertools.pairwise(table))
    return grows and all(
        not stop() and bool((table[r + 1, g:] >= table[r, : width - g] + w).all())
        for r, g, w in zip(items.row, items.gpus, items.worth, strict=True)
    )
