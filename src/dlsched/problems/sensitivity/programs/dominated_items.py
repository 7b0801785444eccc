"""Items that serve as smaller ones: columns that no optimum of the relaxation needs.

A pattern with the smaller item fits wherever one with the larger fits. So conversions change
neither the relaxation's optimum nor what solutions there are; with them few patterns suffice, as
the prices of items are in order from the start.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dlsched.problems.sensitivity.structures.server_patterns import Item


class Conversion(NamedTuple):
    """One item of the kind `source` that serves as `amount` items of the kind `target`."""

    source: int
    target: int
    amount: int


def conversions(items: Sequence[Item]) -> list[Conversion]:
    """Return the conversions from which all others can be composed.

    To items with no more CPUs and memory per GPU, of equal GPUs, or several of fewer. Those from an
    item are before those from its targets.
    """
    gpus = np.array([item.gpus for item in items])
    fits = gpus[:, None] % gpus[None, :] == 0
    for amounts in ([item.cpus for item in items], [item.memory for item in items]):
        rank = {amount: k for k, amount in enumerate(sorted(set(amounts)))}
        order = np.array([rank[amount] for amount in amounts])
        fits &= order[:, None] >= order[None, :]
    np.fill_diagonal(fits, False)
    steps = fits.astype(np.float32)
    direct = fits & (steps @ steps == 0)
    return [
        Conversion(i, j, items[i].gpus // items[j].gpus)
        for i in sorted(range(len(items)), key=items.__getitem__, reverse=True)
        for j in np.flatnonzero(direct[i]).tolist()
    ]
