"""An exact pass over the groups of many jobs, which proves a bound wherever it is stopped.

A pass at some prices finds, for each job, the largest share that a job has in the reduced value of
a group with it (`price_pairs`). Prices raised by these shares are exceeded by no group: the shares
of a group's jobs add up to its reduced value at least. A pass goes through the groups by the first
of their jobs in the order of stage sums, so groups that it has not come to when it is stopped have
jobs only from some place of that order on. For these jobs prices known before are taken where they
are higher; in the beginning there are those of full efficiency, weight / k for each job. If the
pass lists all groups above its prices, the least increase that none of these exceeds is better.
"""

from typing import NamedTuple

import numpy as np

from dlsched.problems.interleaving.kernels.pricing import price_pairs
from dlsched.problems.interleaving.programs.column_pool import GroupPool
from dlsched.problems.interleaving.programs.columns import Groups, Prices, Query, growth_tables
from dlsched.problems.interleaving.programs.master import matrix
from dlsched.problems.interleaving.programs.tunables import LARGE
from dlsched.results.result import Status
from dlsched.run import Run
from dlsched.solvers import highs
from dlsched.solvers.arrays import Flags, Floats
from dlsched.solvers.standard_form import StandardForm

SIZES = (3, 4)
"""Most jobs of a group for which there is such a pass."""


class Pass(NamedTuple):
    """What a pass found.

    Attributes
    ----------
    groups
        Groups with a reduced value above that of the query: all if ``complete``, else many.
    share
        By row of the pool: at least the largest share of a job in the reduced value of a group
        with it, and at least 0.
    searched
        By row: whether all groups were searched of which this is the first job.
    """

    groups: Groups
    share: Floats
    searched: Flags
    complete: bool


def search(pool: GroupPool, prices: Prices, above: float, capacity: int, run: Run) -> Pass:
    """Search all groups at some prices, until a limit of the run strikes.

    Parameters
    ----------
    above
        Reduced value, per unit of a class's weight and from 0, up to which groups are not told
        apart: a pass is then faster, and its shares are at least those of groups of this value.
    capacity
        Most groups of a class that are returned.
    """
    if pool.largest not in SIZES:
        return _by_class(pool, prices, above, capacity, run)
    share = np.zeros(len(pool.multiplicity))
    searched = np.zeros(len(share), dtype=bool)
    parts = [pool.groups([])]
    complete = True
    for part in pool.classes:
        profiles = part.at(prices)
        tables = growth_tables(profiles)
        moved = np.ascontiguousarray(profiles.rotated.transpose(0, 2, 1))
        n = len(part.rows)
        members = np.full((capacity, pool.largest), -1, dtype=np.int64)
        values = np.zeros(capacity)
        threshold = above * profiles.weight
        of_class = np.full(n, threshold / pool.smallest)
        found = first = 0
        while first < n and not run.stop_reason():
            last = min(n, first + max(1, LARGE.pairs_at_once // (n - first) ** 2))
            found = price_pairs(
                first, last, tables, profiles, moved, threshold, found, members, values, of_class
            )
            searched[part.rows[first:last]] = True
            first = last
        share[part.rows] = of_class
        complete = complete and found <= capacity
        members = members[: min(found, capacity)]
        rows = np.where(members >= 0, part.rows[members], -1)
        parts.append(pool.groups_of_rows(rows))
    return Pass(Groups.join(parts), share, searched, complete and bool(searched.all()))


def _by_class(pool: GroupPool, prices: Prices, above: float, capacity: int, run: Run) -> Pass:
    """Search as `search` does, by one job after the other: nothing is known if it is stopped."""
    least = min((above * weight for weight in pool.class_weights.tolist()), default=0.0)
    priced = pool.price(prices, Query(least, capacity, capacity), run)
    count = len(pool.multiplicity)
    if priced is None:
        return Pass(pool.groups([]), np.zeros(count), np.zeros(count, dtype=bool), False)
    share = np.maximum(priced.highest, 0.0)[pool.class_of] / pool.smallest
    return Pass(priced.groups, share, np.ones(count, dtype=bool), priced.complete)


def full_efficiency(pool: GroupPool) -> Prices:
    """Return prices that no group exceeds: a group of s jobs has an efficiency of at most s / k."""
    k = len(pool.instance.resources)
    return without_rounding(pool, Prices(pool.class_weights[pool.class_of] / k, 0.0))


def proved(pool: GroupPool, prices: Prices, found: Pass, before: Prices) -> Prices:
    """Return prices that no group exceeds, in exact arithmetic.

    Parameters
    ----------
    prices
        Those of the pass.
    before
        Other prices that no group exceeds, for the groups that the pass has not come to.
    """
    higher = without_rounding(pool, Prices(prices.rows + found.share, prices.gpu))
    # A GPU that costs less than before is paid for by each job of a group.
    gpu = max(0.0, before.gpu - prices.gpu) * pool.class_gpus[pool.class_of]
    known = without_rounding(pool, Prices(before.rows + gpu, prices.gpu))
    rows = np.where(found.searched, higher.rows, np.maximum(higher.rows, known.rows))
    return Prices(rows, prices.gpu)


def raised(pool: GroupPool, prices: Prices, groups: Groups, run: Run) -> Prices | None:
    """Return prices that no group exceeds, of least increase; None without a group or an optimum.

    The increase is the dual of a packing of the groups by their reduced values.

    Parameters
    ----------
    prices
        Those of the pass.
    groups
        All groups above these prices.
    """
    if not len(groups):
        return None
    limit = pool.multiplicity.astype(float)
    form = StandardForm.of(
        matrix(pool, groups)[: len(limit)],
        np.full(len(limit), -np.inf),
        limit,
        np.full(len(groups), np.inf),
        np.maximum(pool.reduced(prices, groups), 0.0),
        sense="max",
    )
    outcome = highs.solve(form, 0, run, relax=True, quiet=True)
    if outcome.status is not Status.OPTIMAL or outcome.duals is None:
        return None
    higher = Prices(prices.rows + np.maximum(outcome.duals, 0.0), prices.gpu)
    highest = np.zeros(len(pool.classes))
    np.maximum.at(highest, groups.class_of, pool.reduced(higher, groups))
    # The values of the other groups were at most 0 up to the rounding of the pass.
    highest += [pool.rounding(part, prices) for part in pool.classes]
    return without_rounding(pool, pool.without_excess(higher, highest))


def without_rounding(pool: GroupPool, prices: Prices) -> Prices:
    """Return prices that are higher by more than the rounding of reduced values and of prices."""
    error = np.array([2 * pool.rounding(part, prices) for part in pool.classes])
    return Prices(prices.rows + error[pool.class_of], prices.gpu)
