"""Servers of a solved round renamed to those that jobs hold: equal ones may be exchanged."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from dlsched.schema import Id
from dlsched.simulation.engine.decision import Allocation
from dlsched.simulation.policies.synergy_rounds import Given

MOST_SERVERS: Final = 64
"""With more servers all pairs of them take longer than a round should."""


def renamed(
    given: Sequence[tuple[int, Given]], held: Mapping[Id, Allocation], servers: Sequence[Id]
) -> list[tuple[int, Given]]:
    """Return what jobs get with servers exchanged, so that most places of equal amounts are held.

    An exact method's solution says nothing of which of the equal servers is which. With ties each
    keeps its name.
    """
    if len(servers) > MOST_SERVERS or not held:
        return list(given)
    from scipy.optimize import linear_sum_assignment

    new = _places(got.allocation for _, got in given)
    old = _places(held.values())
    common = np.array([[(new[a] & old[b]).total() for b in servers] for a in servers])
    weight = common * (len(servers) + 1) + np.eye(len(servers), dtype=np.int64)
    rows, columns = linear_sum_assignment(weight, maximize=True)
    name = {servers[a]: servers[b] for a, b in zip(rows.tolist(), columns.tolist(), strict=True)}
    if all(a == b for a, b in name.items()):
        return list(given)

    def moved(got: Given) -> Given:
        shares = tuple(share._replace(server=name[share.server]) for share in got.allocation.shares)
        return got._replace(allocation=got.allocation._replace(shares=shares))

    return [(j, moved(got)) for j, got in given]


def _places(allocations: Any) -> defaultdict[Id, Counter[tuple[Any, ...]]]:
    """Return by server how many places of each number of GPUs, CPUs and GB are taken."""
    places: defaultdict[Id, Counter[tuple[Any, ...]]] = defaultdict(Counter)
    for allocation in allocations:
        for share in allocation.shares:
            places[share.server][share.gpus, share.cpus, share.memory] += 1
    return places
