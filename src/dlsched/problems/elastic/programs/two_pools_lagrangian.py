"""Bounds on two pools: jobs that can be launched, and the Lagrangian relaxation of level 2.

With L jobs launched, the reduction of every allocation is at most

    sum over pools of lambda * capacity + mu * L
        + sum over jobs of max(0, max over items of value - sum of lambda * gpus - mu * launch)

for any lambda >= 0 and any mu. The multipliers are the duals of the linear relaxation; the bound is
then computed from them in integers, in 2**-shift units, so it is exact.
"""

from __future__ import annotations

import bisect
import itertools
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.elastic.structures.items import Ints
from dlsched.problems.elastic.structures.two_pools_knapsack import PoolItems
from dlsched.results.objective import Bound

LP_LIBRARIES = ("scipy.optimize", "scipy.sparse")
"""What `relax` imports, for a method's ``preload``."""
MANY = 10_000
"""With more items than this, the interior-point method is faster than the simplex method."""


class Launch(NamedTuple):
    """Bounds of level 1.

    Attributes
    ----------
    chosen
        Items of an allocation that launches many pending jobs, one of the smallest of each.
    most
        No allocation launches more jobs.
    """

    chosen: list[int]
    most: int


class Relaxation(NamedTuple):
    """Upper bound on the reduction in ``2**-shift`` units, and the loss of each choice against it.

    ``loss`` is that of each item: by how much the bound falls for allocations that use it;
    ``idle_loss`` that of leaving each job with items at its base.
    """

    shift: int
    bound: int
    loss: Ints
    idle_loss: Ints


def launch(items: PoolItems) -> Launch:
    """Return bounds of level 1.

    The upper one lets workers of a job that can use loan be in any pool, even in parts: then the
    smallest base demands of jobs for training alone and of the others are launched.
    """
    total = items.gpus.sum(axis=1)
    fixed: list[int] = []
    free: list[int] = []
    options = []
    for a, b in zip(items.starts.tolist(), items.ends.tolist(), strict=True):
        if not items.launch[a]:
            continue
        least = int(total[a:b].min())
        (free if items.gpus[a:b, 1].any() else fixed).append(least)
        smallest = [i for i in range(a, b) if total[i] == least]
        options.append((least, sorted(smallest, key=lambda i: int(items.gpus[i, 0]))))
    sums = [0, *itertools.accumulate(sorted(free))]
    most = 0
    for k, taken in enumerate([0, *itertools.accumulate(sorted(fixed))]):
        if taken <= items.capacity[0]:
            most = max(most, k + bisect.bisect_right(sums, sum(items.capacity) - taken) - 1)
    left, chosen = list(items.capacity), []
    for _, smallest in sorted(options, key=lambda option: option[0]):
        for i in smallest:  # most GPUs on loan first, since other jobs can use training only
            g, h = items.gpus[i].tolist()
            if g <= left[0] and h <= left[1]:
                left[0] -= g
                left[1] -= h
                chosen.append(i)
                break
    return Launch(chosen, most)


def relax(items: PoolItems, least: int, most: int, seconds: float = float("inf")) -> Relaxation:
    """Find good multipliers by a linear program, in floating point; evaluate them exactly.

    Parameters
    ----------
    least, most
        The number of jobs launched lies between them; an allocation that launches `least` exists.
    seconds
        Limit of the linear program; any multipliers give a valid bound, also those it stops at.
    """
    top = max((abs(int(v)) for v in items.value), default=0)
    lam, mu = (0.0, 0.0), 0.0
    if top and seconds > 0 and not _ample(items):
        lam, mu = _multipliers(items, [int(v) / top for v in items.value], least, seconds)
    if least == int(items.launch[items.starts].sum()):  # all are launched: being idle never pays
        mu = -2.0 - sum(price * free for price, free in zip(lam, items.capacity, strict=True))
    shift = sum(items.capacity).bit_length() + 2
    unit = top << shift
    per_gpu = [max(0, round(Fraction(value) * unit)) for value in lam]
    per_launch = round(Fraction(mu) * unit)
    value, gpus, launched = (a.astype(object) for a in (items.value, items.gpus, items.launch))
    net = value * 2**shift - gpus[:, 0] * per_gpu[0] - gpus[:, 1] * per_gpu[1]
    net = net - launched * per_launch
    best = np.maximum(np.maximum.reduceat(net, items.starts), 0) if len(items) else net
    bound = sum(p * c for p, c in zip(per_gpu, items.capacity, strict=True))
    bound += max(per_launch * least, per_launch * most) + sum(best.tolist())
    return Relaxation(shift, int(bound), best[items.row] - net, best)


def launch_bound(most: int) -> Bound:
    """Return the bound of level 1 that needs no table."""
    return Bound(most, "certified", "smallest base demands, in any pool")


def reduction_bound(items: PoolItems, relaxation: Relaxation) -> Bound:
    """Return the relaxation's bound of level 2."""
    return Bound(
        items.seconds(relaxation.bound >> relaxation.shift), "certified", "hull relaxation"
    )


def _ample(items: PoolItems) -> bool:
    """Whether every job can have the item that saves most, so that GPUs have no price."""
    best = np.maximum.reduceat(items.value, items.starts)
    attains = np.flatnonzero(items.value == best[items.row])
    first = attains[np.searchsorted(items.row[attains], np.arange(len(best)))]
    return bool((items.gpus[first].sum(axis=0) <= items.capacity).all())


def _multipliers(
    items: PoolItems, value: list[float], launched: int, seconds: float
) -> tuple[tuple[float, float], float]:
    """Return the duals of the capacities and of the number of jobs launched."""
    from scipy import optimize
    from scipy.sparse import csr_array, vstack

    columns, n = np.arange(len(items)), len(items.starts)
    choice = csr_array((np.ones(len(items)), (items.row, columns)), shape=(n, len(items)))
    rows = [choice, csr_array(items.gpus.T.astype(float))]
    limits: NDArray[np.float64] = np.concatenate([np.ones(n), items.capacity]).astype(float)
    options: dict[str, Any] = {"time_limit": seconds} if seconds < float("inf") else {}
    linprog: Any = optimize.linprog  # its stubs have no sparse matrices
    solved = linprog(
        -np.array(value),
        A_ub=vstack(rows, format="csr"),
        b_ub=limits,
        A_eq=csr_array(items.launch.reshape(1, -1).astype(float)),
        b_eq=[float(launched)],
        bounds=(0, None),
        method="highs-ipm" if len(items) > MANY else "highs-ds",
        options=options,
    )
    if solved.status != 0:
        return (0.0, 0.0), 0.0
    training, loan = (-solved.ineqlin.marginals[-2:]).tolist()
    return (training, loan), -float(solved.eqlin.marginals[0])
