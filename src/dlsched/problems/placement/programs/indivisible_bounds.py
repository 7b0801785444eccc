"""Lower bounds on parts of the cost: what indivisible tables and jobs leave.

The searches calculate with doubles, each the nearest to a share that was calculated exactly. Their
rounding errors are bounded where they are made, in `cell_bound` and in `rounded_down`, and
subtracted; weights are applied to what they return in fractions.
"""

from fractions import Fraction
from itertools import product

import numpy as np

from dlsched.problems.placement.definition.check import TOLERANCE
from dlsched.problems.placement.definition.schema import Instance
from dlsched.problems.placement.kernels.cell_bound import least_cost
from dlsched.problems.placement.programs.coefficients import Shares
from dlsched.problems.placement.programs.cost_rows import Whole, WholeJobs
from dlsched.problems.placement.programs.gpu_cells import (
    Cell,
    cells_of,
    penalties_of,
    unplaced,
    weights_of,
)
from dlsched.problems.placement.programs.tunables import TUNABLES
from dlsched.run import Run
from dlsched.solvers.arrays import Floats

GPU_SUM = 1 - Fraction(TOLERANCE)
"""The least part of the exact GPU cost that the definition's sum of doubles can be."""


def storage_weight(instance: Instance) -> Fraction:
    """Return the weight of (3), 0 if it does not count."""
    counts = instance.version == "v2" and instance.tables and instance.total_capacity
    return Fraction(instance.weights.storage) if counts else Fraction(0)


def byte_shares(instance: Instance) -> tuple[list[float], list[float]]:
    """Return tables' shares in all bytes and regions' in all capacity, as the nearest doubles."""
    size = instance.total_size
    capacity = instance.total_capacity
    tables = [float(table.size / size) for table in instance.tables]
    return tables, [float(region.storage_capacity / capacity) for region in instance.regions]


def table_squares(instance: Instance) -> float:
    """Return the least sum over regions of squared differences of shares of bytes, from below.

    It is the least over all homes of the largest tables, with the others divisible.
    """
    if not storage_weight(instance):
        return 0.0
    tables, target = byte_shares(instance)
    shares = np.array(sorted(tables, reverse=True))
    tried = 0
    while tried < len(shares) and len(target) ** (tried + 1) <= TUNABLES.most_homes:
        tried += 1
    rest = float(shares[tried:].sum())
    squares = []
    for homes in product(range(len(target)), repeat=tried):
        load = np.bincount(np.array(homes, dtype=np.int64), shares[:tried], len(target))
        squares.append(relaxed_squares(load.astype(float) - target, rest))
    return rounded_down(min(squares), len(shares), len(target))


def relaxed_squares(difference: Floats, rest: float) -> float:
    """Return the least sum over regions of (difference + added)^2 if `rest` is divisible.

    It fills the lowest regions to a level, which is (rest + their sum) / number for the number of
    them for which that is least.
    """
    sums = rest + np.cumsum(np.sort(difference))
    level = (sums / np.arange(1, len(sums) + 1)).min()
    filled = np.maximum(difference, level)
    return float(filled @ filled)


def indivisible_cost(shares: Shares, whole: Whole) -> Fraction:
    """Return a lower bound on the cost, given what indivisible tables and jobs leave at least."""
    weights = weights_of(shares)
    gpu = sum(weights[key] * Fraction(jobs.least) for key, jobs in whole.jobs.items())
    return storage_weight(shares.instance) * Fraction(whole.tables) + gpu * GPU_SUM


def whole(shares: Shares, run: Run | None = None) -> Whole:
    """Return what indivisible tables and jobs leave at least.

    Searches after the end of the run have few nodes.
    """
    rows = {}
    penalties = penalties_of(shares)
    for key, cell in cells_of(shares).items():
        paid = {g: p for g, p in penalties[key].items() if p and not shares.groups[g].must_run}
        rows[key] = WholeJobs(cell_bound(cell, run), paid)
    return Whole(table_squares(shares.instance), rows)


def cell_bound(cell: Cell, run: Run | None = None) -> float:
    """Return a lower bound on the cost of a cell in units of its weight, which is not negative."""
    nodes = max(TUNABLES.job_nodes, TUNABLES.job_steps // (len(cell.share) * len(cell.target)))
    if run is not None and run.stop_reason() is not None:
        nodes = TUNABLES.hurried_nodes
    least: float = least_cost(cell, unplaced(cell), nodes)
    return max(0.0, least)


def rounded_down(squares: float, items: int, regions: int) -> float:
    """Return a sum of squares of shares minus the largest possible rounding error.

    A load is calculated by at most an addition for each item, the level of what is divisible by at
    most eight operations for each region more. All numbers are at most 1, so each operation is off
    by at most 2^-53, and so are the shares all together. The absolute differences of shares add up
    to at most 2, so the sum of squares changes by at most four times the largest error of a load.
    """
    if regions == 1:
        return 0.0
    operations = 2 * items + 8 * regions + 16
    return max(0.0, float(squares) - operations * 2.0**-50)
