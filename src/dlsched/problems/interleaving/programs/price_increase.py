"""The least increase of prices which a list of groups no longer exceeds."""

from __future__ import annotations

import numpy as np

from dlsched.problems.interleaving.programs.column_pool import Pool
from dlsched.problems.interleaving.programs.columns import Priced, Prices
from dlsched.problems.interleaving.programs.master import matrix
from dlsched.problems.interleaving.structures.groups import Vector
from dlsched.results.result import Status
from dlsched.run import Run
from dlsched.solvers import highs
from dlsched.solvers.standard_form import StandardForm


def raised(pool: Pool, prices: Prices, priced: Priced, run: Run) -> tuple[Prices, Vector]:
    """Return prices of a better bound, and each class's largest reduced value there.

    All groups above the prices are known, so prices that are nowhere lower and that none of these
    exceeds are exceeded by no group. The cheapest increase is the dual of a packing of the groups
    by their reduced values. If the list is not complete, the prices stay.

    Parameters
    ----------
    priced
        The result of an exact pass at these prices, with threshold 0 and without a quota.
    """
    groups = priced.groups
    if not priced.complete or not len(groups):
        return prices, priced.highest
    value = pool.reduced(prices, groups)
    rows = matrix(pool, groups)[: len(pool.multiplicity)]
    limit = pool.multiplicity.astype(float)
    form = StandardForm.of(
        rows,
        np.full(len(limit), -np.inf),
        limit,
        np.full(len(groups), np.inf),
        np.maximum(value, 0.0),
        sense="max",
    )
    outcome = highs.solve(form, 0, run, relax=True, quiet=True)
    if outcome.status is not Status.OPTIMAL or outcome.duals is None:
        return prices, priced.highest
    higher = Prices(prices.rows + np.maximum(outcome.duals, 0.0), prices.gpu)
    reduced = pool.reduced(higher, groups)
    highest = np.zeros(len(pool.classes))
    np.maximum.at(highest, groups.class_of, reduced)
    # The values of the other groups were at most 0 up to the rounding of the exact pass.
    highest += [pool.rounding(part, prices) for part in pool.classes]
    return higher, highest
