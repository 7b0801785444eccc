"""The Lagrangian relaxation of level 2, with multipliers for the GPUs and the jobs launched.

With L* jobs launched, the reduction of every allocation is at most

    lambda * capacity + mu * L* + sum over jobs of max(0, max over items of value
                                                           - lambda * gpus - mu * launch)

for any lambda >= 0 and any mu. The best multipliers give the value of the linear relaxation, that
is, of the convex hull of each job's items (Sinha and Zoltners, 1979). They are sought in floating
point; the bound is then computed from them in integers, in 2**-shift units, so it is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.elastic.structures.items import SAFE, Ints
from dlsched.problems.elastic.structures.knapsack import Items
from dlsched.results.objective import Bound

Floats: TypeAlias = NDArray[np.float64]

_BITS = 900
"""Longer values are cut to this many bits for the search in floating point."""
_HALVINGS = 80
"""Steps of the bisection; more cannot change a double."""


class Relaxation(NamedTuple):
    """Multipliers' bound, and the loss of each choice against it.

    Attributes
    ----------
    bound
        Upper bound on the reduction of allocations that launch L* jobs, in ``2**-shift`` units.
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
    """Find good multipliers by bisection on lambda, in floating point; evaluate them exactly.

    Any multipliers give a valid bound, also if the search is inexact or `stop` ends it.
    """
    most = max((int(v) for v in items.value), default=0)
    excess = max(0, most.bit_length() - _BITS)
    scaled = items.value >> excess if excess else items.value
    value, gpus = scaled.astype(float), items.gpus.astype(float)
    low, high = 0.0, 0.0
    mu, chosen = _best_items(items, value, gpus, high)
    if _gpus(items, chosen) > items.capacity:  # else lambda is 0
        high = 1.0 + max(map(float, value), default=0.0)
        for _ in range(_HALVINGS):
            if stop():
                break
            middle = (low + high) / 2
            if _gpus(items, _best_items(items, value, gpus, middle)[1]) > items.capacity:
                low = middle
            else:
                high = middle
        mu, chosen = _best_items(items, value, gpus, high)
    return _evaluate(items, Fraction(high) * 2**excess, Fraction(mu) * 2**excess, chosen)


def _evaluate(items: Items, lam: Fraction, mu: Fraction, chosen: NDArray[np.int64]) -> Relaxation:
    """Compute the bound and the losses in integers, the multipliers rounded to 2**-shift units."""
    shift = items.capacity.bit_length() + 2
    per_gpu, per_launch = round(lam * 2**shift), round(mu * 2**shift)
    most = max((abs(int(v)) for v in items.value), default=0)
    largest = (most << shift) + per_gpu * items.capacity + abs(per_launch)
    kind: Any = np.int64 if largest * (len(items) + 2) < SAFE else object
    value, gpus, launch = (a.astype(kind) for a in (items.value, items.gpus, items.launch))
    net = value * 2**shift - gpus * per_gpu - launch * per_launch
    best = np.maximum(np.maximum.reduceat(net, items.starts), 0) if len(items) else net
    bound = per_gpu * items.capacity + per_launch * items.most_launched + sum(best.tolist())
    return Relaxation(shift, int(bound), best[items.row] - net, best, chosen.tolist())


def _best_items(
    items: Items, value: Floats, gpus: Floats, lam: float
) -> tuple[float, NDArray[np.int64]]:
    """Return for one lambda the best mu, and an optimal item for each of L* jobs and running ones.

    The jobs launched are those whose best items have the largest net values, and mu is the least of
    these.
    """
    if not len(items):
        return 0.0, np.zeros(0, dtype=np.int64)
    net = value - gpus * lam
    best = np.maximum.reduceat(net, items.starts)
    # The first of the items that attain a job's best takes the fewest GPUs.
    attains = np.flatnonzero(net == best[items.row])
    choice = attains[np.searchsorted(attains, items.starts)]
    launches = items.launch[items.starts] == 1
    grown = choice[~launches & (best > 0)]
    pending = np.flatnonzero(launches)
    count = items.most_launched
    if not count:
        return max(map(float, best[pending]), default=0.0), grown
    # Rounding may make values equal; then the smallest first, so L* jobs fit for a large lambda.
    order = pending[np.lexsort((gpus[choice[pending]], -best[pending]))]
    return float(best[order[count - 1]]), np.concatenate([grown, choice[order[:count]]])


def _gpus(items: Items, chosen: NDArray[np.int64]) -> int:
    return sum(items.gpus[chosen].tolist())


def launch_bound(items: Items) -> Bound:
    """Return the bound of level 1: the number of smallest base demands that fit."""
    return Bound(items.most_launched, "certified", "smallest base demands")


def reduction_bound(items: Items, relaxation: Relaxation) -> Bound:
    """Return the relaxation's bound of level 2."""
    value = items.seconds(relaxation.bound >> relaxation.shift)
    return Bound(value, "certified", "hull relaxation")
