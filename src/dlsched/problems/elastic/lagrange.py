"""Two multipliers bound level 2: one for the GPUs, one for the number of jobs launched.

With L* jobs launched, every allocation's reduction is at most

    lambda * capacity + mu * L* + sum over jobs of max(0, max over items of value
                                                           - lambda * gpus - mu * launch)

for any lambda >= 0 and any mu. The best multipliers give the value of the linear relaxation, that
is, of the convex hull of each job's items (Sinha and Zoltners, 1979). All numbers are integers, in
2**-shift grid units, so that each bound is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.elastic.knapsack import SAFE, Ints, Items


@dataclass(frozen=True)
class Relaxation:
    """Multipliers and what they show.

    Attributes
    ----------
    bound
        No allocation that launches L* jobs reduces by more; in ``2**-shift`` grid units.
    loss
        Per item: by how much the bound falls for allocations that use the item.
    idle_loss
        Per job with items: the same for leaving the job at its base.
    chosen
        Items of a feasible allocation that launches L* jobs.
    """

    shift: int
    bound: int
    loss: Ints
    idle_loss: Ints
    chosen: list[int]


def relax(items: Items, stop: Callable[[], str | None] = lambda: None) -> Relaxation:
    """Find good multipliers by bisection on lambda; mu follows from it.

    Told to stop, it takes the best so far: any multipliers give a bound.
    """
    most = max((abs(int(v)) for v in items.value), default=0) + 1
    room = SAFE // (most * 4 * max(items.capacity, 1) * (len(items) + 1))
    shift = max(0, min(24, room.bit_length() - 1))
    exact = items.value if room else items.value.astype(object)
    value = exact * 2**shift
    low, high = -1, most * 2**shift  # at `high` no GPU is worth its price
    while high - low > 1 and not stop():
        middle = (low + high) // 2
        if _gpus(items, _serve(items, value, middle)[1]) > items.capacity:
            low = middle
        else:
            high = middle
    mu, chosen = _serve(items, value, high)
    net = _net(items, value, high) - items.launch.astype(value.dtype) * mu
    best = np.maximum(np.maximum.reduceat(net, items.starts), 0) if len(items) else net
    bound = high * items.capacity + mu * items.most_launched + sum(best.tolist())
    return Relaxation(shift, int(bound), best[items.row] - net, best, chosen.tolist())


def _serve(items: Items, value: Ints, price: int) -> tuple[int, NDArray[np.int64]]:
    """At a price per GPU: the fee mu that lets L* jobs launch, and the items they all choose."""
    if not len(items):
        return 0, np.zeros(0, dtype=np.int64)
    net = _net(items, value, price)
    best = np.maximum.reduceat(net, items.starts)
    # The first of the items that attain a job's best takes the fewest GPUs.
    attains = np.flatnonzero(net == best[items.row])
    choice = attains[np.searchsorted(attains, items.starts)]
    launches = items.launch[items.starts] == 1
    grown = choice[~launches & (best > 0)]
    pending = np.flatnonzero(launches)
    count = items.most_launched
    if not count:
        return max((int(b) for b in best[pending]), default=0), grown
    order = pending[np.argsort(-best[pending], kind="stable")]
    return int(best[order[count - 1]]), np.concatenate([grown, choice[order[:count]]])


def _net(items: Items, value: Ints, price: int) -> Ints:
    net: Ints = value - items.gpus.astype(value.dtype) * price
    return net


def _gpus(items: Items, chosen: NDArray[np.int64]) -> int:
    return sum(items.gpus[chosen].tolist())
