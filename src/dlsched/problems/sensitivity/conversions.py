"""Items that serve as smaller ones: columns that no optimum of the relaxation needs.

A pattern with the smaller item fits wherever one with the larger fits. So conversions change
neither the relaxation's optimum nor what solutions there are; with them few patterns suffice, as
the prices of items are in order from the start.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dlsched.problems.sensitivity.packing import Item


class Conversion(NamedTuple):
    """One item of the kind `source` that serves as `amount` items of the kind `target`."""

    source: int
    target: int
    amount: int


def conversions(items: Sequence[Item]) -> list[Conversion]:
    """Return conversions from which all others can be composed.

    To items of equal GPUs with less CPUs or memory, and to several items of fewer GPUs each, with
    no more CPUs and memory per GPU. Each source is before its targets' own conversions.
    """
    sizes = sorted({item.gpus for item in items})
    kinds: dict[int, list[int]] = {gpus: [] for gpus in sizes}
    for i, item in enumerate(items):
        kinds[item.gpus].append(i)
    found = []
    order = sorted(range(len(items)), key=lambda i: items[i], reverse=True)
    for i in order:
        gpus = items[i].gpus
        for size in [s for s in reversed(sizes) if gpus % s == 0]:
            nearest = _nearest(items, i, kinds[size])
            found += [Conversion(i, j, gpus // size) for j in nearest]
            if nearest and size < gpus:
                break
    return found


def _nearest(items: Sequence[Item], i: int, others: Sequence[int]) -> list[int]:
    """Return the items that one can serve as, without those that another of these can."""
    item = items[i]
    below = [
        j
        for j in others
        if j != i and items[j].cpus <= item.cpus and items[j].memory <= item.memory
    ]
    return [
        j
        for j in below
        if not any(
            items[j].cpus <= items[k].cpus and items[j].memory <= items[k].memory
            for k in below
            if k != j
        )
    ]
