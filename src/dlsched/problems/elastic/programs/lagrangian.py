"""The Lagrangian relaxation of level 2, with multipliers for the GPUs and the jobs launched.

With L jobs launched, the reduction of every allocation is at most

    sum over capacities of lambda * capacity + mu * L
        + sum over jobs of max(0, max over items of value - sum of lambda * gpus - mu * launch)

for any lambda >= 0 and any mu. The best multipliers give the value of the linear relaxation, that
is, of the convex hull of each job's items (Sinha and Zoltners, 1979). They are sought in floating
point; the bound is then computed from them in integers, in 2**-shift units, so it is exact.
"""

import bisect
import itertools
import operator
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from dlsched.problems.elastic.structures.knapsack import Items
from dlsched.problems.elastic.structures.reduction_units import SAFE, Integers
from dlsched.results.objective import Bound
from dlsched.run import Run
from dlsched.solvers.arrays import Floats, Ints

LP_LIBRARIES = ("scipy.optimize", "scipy.sparse")
"""What `relax` imports with two capacities, for a method's ``preload``."""
MANY_ITEMS = 10_000
"""With more items than this, the interior-point method is faster than the simplex method."""
_BITS = 900
"""Longer values are cut to this many bits for the search in floating point."""
_HALVINGS = 80
"""Steps of the bisection; more cannot change a double."""


class Multipliers(NamedTuple):
    """Prices of the GPUs by capacity and of a launch, and what they choose.

    ``chosen`` are items of an allocation that launches as many jobs as asked for, if it is known.
    """

    gpus: tuple[Fraction, ...]
    launch: Fraction
    chosen: list[int]


class Relaxation(NamedTuple):
    """Multipliers' bound, and the loss of each choice against it.

    Attributes
    ----------
    bound
        Upper bound on the reduction, in ``2**-shift`` units.
    loss
        Per item: by how much the bound falls for allocations that use the item.
    idle_loss
        Per job with items: the same for leaving the job at its base.
    chosen
        Items of a feasible allocation; none with two capacities.
    """

    shift: int
    bound: int
    loss: Integers
    idle_loss: Integers
    chosen: list[int]


class Launches(NamedTuple):
    """Items that launch many pending jobs, and a number of jobs that no allocation exceeds."""

    chosen: list[int]
    most: int


def launches_of(items: Items) -> Launches:
    """Launch the jobs with the smallest items first, and bound their number.

    The bound lets workers of a job that can use loan be in any pool, even in parts: then the
    smallest base demands of jobs for training alone and of the others are launched. With one
    capacity it is attained.
    """
    # With one capacity a job's first item takes the fewest GPUs.
    ends = items.ends if len(items.capacity) > 1 else items.starts + 1
    jobs = [
        range(first, end)
        for first, end in zip(items.starts.tolist(), ends.tolist(), strict=True)
        if items.launch[first]
    ]
    gpus = items.gpus.tolist()
    least = {job: min(sum(gpus[i]) for i in job) for job in jobs}
    jobs.sort(key=least.__getitem__)
    free = list(items.capacity)
    chosen: list[int] = []
    for job in jobs:
        smallest = [i for i in job if sum(gpus[i]) == least[job]]
        smallest.sort(key=lambda i: gpus[i][0])  # as other jobs can use training only
        fitting = [i for i in smallest if all(map(operator.le, gpus[i], free))]
        if fitting:
            free = list(map(operator.sub, free, gpus[fitting[0]]))
            chosen.append(fitting[0])
    pooled = len(items.capacity) > 1
    anywhere = [least[job] for job in jobs if pooled and any(gpus[i][1] for i in job)]
    training = [least[job] for job in jobs if not (pooled and any(gpus[i][1] for i in job))]
    return Launches(chosen, _most_launched(items, training, anywhere))


def _most_launched(items: Items, training: Sequence[int], anywhere: Sequence[int]) -> int:
    """Return how many demands fit, of ascending ones for training alone, and for any GPUs."""
    sums = [0, *itertools.accumulate(anywhere)]
    most = 0
    for count, used in enumerate([0, *itertools.accumulate(training)]):
        if used <= items.capacity[0]:
            most = max(most, count + bisect.bisect_right(sums, sum(items.capacity) - used) - 1)
    return most


def relax(items: Items, least: int, most: int, run: Run) -> Relaxation:
    """Find good multipliers in floating point, and evaluate them exactly.

    Any multipliers give a valid bound, also those at which a limit ends the search.

    Parameters
    ----------
    least, most
        The number of jobs launched lies between them; an allocation that launches `least` exists.
    """
    if len(items.capacity) == 1:
        multipliers = _by_bisection(items, least, run)
    else:
        multipliers = _by_linear_program(items, least, run)
    return _evaluate(items, multipliers, least, most)


def _evaluate(items: Items, multipliers: Multipliers, least: int, most: int) -> Relaxation:
    """Compute the bound and the losses in integers, the multipliers rounded to 2**-shift units."""
    shift = sum(items.capacity).bit_length() + 2
    per_gpu = [max(0, round(price * 2**shift)) for price in multipliers.gpus]
    per_launch = round(multipliers.launch * 2**shift)
    paid = sum(price * free for price, free in zip(per_gpu, items.capacity, strict=True))
    largest = (_largest(items) << shift) + paid + abs(per_launch)
    dtype: Any = np.int64 if largest * (len(items) + 2) < SAFE else object
    net = items.value.astype(dtype) * 2**shift - items.launch.astype(dtype) * per_launch
    for price, used in zip(per_gpu, items.gpus.T.astype(dtype), strict=True):
        net = net - used * price
    best = np.maximum(np.maximum.reduceat(net, items.starts), 0) if len(items) else net
    bound = paid + max(per_launch * least, per_launch * most) + sum(best.tolist())
    return Relaxation(shift, int(bound), best[items.row] - net, best, multipliers.chosen)


def _largest(items: Items) -> int:
    """Return the largest reduction without its sign, in units."""
    return max(map(abs, items.value.tolist()), default=0)


def _by_bisection(items: Items, launched: int, run: Run) -> Multipliers:
    """Return the best multipliers of one capacity, by bisection on lambda."""
    excess = max(0, _largest(items).bit_length() - _BITS)
    scaled = items.value >> excess if excess else items.value
    value = scaled.astype(float)
    gpus = items.gpus[:, 0].astype(float)

    def fits(chosen: Ints) -> bool:
        return bool(sum(items.gpus[chosen, 0].tolist()) <= items.capacity[0])

    low = high = 0.0
    mu, chosen = _best_items(items, launched, value)
    if not fits(chosen):  # else lambda is 0
        high = 1.0 + max(map(float, value), default=0.0)
        for _ in range(_HALVINGS):
            if run.stop_reason():
                break
            middle = (low + high) / 2
            if fits(_best_items(items, launched, value - gpus * middle)[1]):
                high = middle
            else:
                low = middle
        mu, chosen = _best_items(items, launched, value - gpus * high)
    unit = 2**excess
    return Multipliers((Fraction(high) * unit,), Fraction(mu) * unit, chosen.tolist())


def _best_items(items: Items, launched: int, net: Floats) -> tuple[float, Ints]:
    """Return the best mu, and an optimal item for each of the jobs launched and running ones.

    The jobs launched are those whose best items have the largest net values, and mu is the least of
    these.
    """
    if not len(items):
        return 0.0, np.zeros(0, dtype=np.int64)
    best = np.maximum.reduceat(net, items.starts)
    # The first of the items that attain a job's best takes the fewest GPUs.
    attains = np.flatnonzero(net == best[items.row])
    choice = attains[np.searchsorted(attains, items.starts)]
    launches = items.launch[items.starts] == 1
    grown = choice[~launches & (best > 0)]
    pending = np.flatnonzero(launches)
    if not launched:
        return max(map(float, best[pending]), default=0.0), grown
    # Rounding may make values equal; then the smallest first, so that they fit for a large lambda.
    gpus = items.gpus[choice[pending], 0].astype(float)
    order = pending[np.lexsort((gpus, -best[pending]))]
    return float(best[order[launched - 1]]), np.concatenate([grown, choice[order[:launched]]])


def _by_linear_program(items: Items, launched: int, run: Run) -> Multipliers:
    """Return the duals of the linear relaxation with two capacities."""
    largest = _largest(items)
    lam = [0.0, 0.0]
    mu = 0.0
    seconds = run.remaining()
    if largest and seconds > 0 and not _ample(items):
        value = np.array([value / largest for value in items.value.tolist()])
        lam, mu = _duals(items, value, launched, seconds)
    if launched == int(items.launch[items.starts].sum()):  # being idle never pays
        mu = -2.0 - sum(price * free for price, free in zip(lam, items.capacity, strict=True))
    return Multipliers(tuple([Fraction(v) * largest for v in lam]), Fraction(mu) * largest, [])


def _ample(items: Items) -> bool:
    """Whether every job can have the item that saves most, so that GPUs have no price."""
    best = np.maximum.reduceat(items.value, items.starts)
    attains = np.flatnonzero(items.value == best[items.row])
    first = attains[np.searchsorted(items.row[attains], np.arange(len(best)))]
    return bool((items.gpus[first].sum(axis=0) <= items.capacity).all())


def _duals(items: Items, value: Floats, launched: int, seconds: float) -> tuple[list[float], float]:
    """Return the duals of the capacities and of the number of jobs launched; 0 if stopped."""
    from scipy import optimize
    from scipy.sparse import csr_array, vstack

    count = len(items)
    jobs = len(items.starts)
    one_per_job = csr_array((np.ones(count), (items.row, np.arange(count))), shape=(jobs, count))
    linprog: Any = optimize.linprog  # its stubs have no sparse matrices
    solved = linprog(
        -value,
        A_ub=vstack([one_per_job, csr_array(items.gpus.T.astype(float))], format="csr"),
        b_ub=np.concatenate([np.ones(jobs), items.capacity]).astype(float),
        A_eq=csr_array(items.launch.reshape(1, -1).astype(float)),
        b_eq=[float(launched)],
        bounds=(0, None),
        method="highs-ipm" if count > MANY_ITEMS else "highs-ds",
        options={"time_limit": seconds} if seconds < float("inf") else {},
    )
    if solved.status != 0:
        return [0.0, 0.0], 0.0
    return (-solved.ineqlin.marginals[-2:]).tolist(), -float(solved.eqlin.marginals[0])


def launch_bound(items: Items, most: int) -> Bound:
    """Return the bound of level 1 that needs no table."""
    pools = ", in any pool" if len(items.capacity) > 1 else ""
    return Bound(most, "certified", f"smallest base demands{pools}")


def reduction_bound(items: Items, relaxation: Relaxation) -> Bound:
    """Return the relaxation's bound of level 2."""
    value = items.seconds(relaxation.bound >> relaxation.shift)
    return Bound(value, "certified", "hull relaxation")
