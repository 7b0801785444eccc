"""Lower bounds on parts of the cost: what indivisible tables and jobs leave.

The searches calculate with doubles, each the nearest to a share that was calculated exactly. Their
rounding errors are bounded where they are made, in `cell_bound` and in `rounded_down`, and
subtracted; weights are applied to what they return in fractions.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dlsched.problems.placement.definition.check import TOLERANCE
from dlsched.problems.placement.definition.schema import Instance
from dlsched.problems.placement.kernels.cell_bound import least_cost
from dlsched.problems.placement.kernels.least_squares import min_squares
from dlsched.problems.placement.programs.coefficients import Shares
from dlsched.problems.placement.programs.cost_rows import Whole, WholeJobs
from dlsched.problems.placement.programs.gpu_cells import (
    Cell,
    cells_of,
    unplaced,
    weights_of,
    whole_cells_of,
)
from dlsched.problems.placement.programs.tunables import TUNABLES
from dlsched.run import Run

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


def storage_bound(instance: Instance) -> Fraction:
    """Return a lower bound on the storage part of the cost, weight included."""
    return storage_weight(instance) * Fraction(table_squares(instance))


def table_squares(instance: Instance) -> float:
    """Return the least sum over regions of squared differences of shares of bytes, from below."""
    if not storage_weight(instance):
        return 0.0
    tables, target = byte_shares(instance)
    shares = np.array(sorted(tables, reverse=True))
    value = min_squares(shares, np.array(target), TUNABLES.table_nodes)
    return rounded_down(value, len(shares), len(target))


Known = dict[bytes, float]
"""Bounds of cells that were searched before; see `cell_bound`."""


def gpu_bound(shares: Shares, run: Run | None = None, known: Known | None = None) -> Fraction:
    """Return a lower bound on the GPU part of the cost with its jobs' traffic, weights included.

    Searches after the end of the run have few nodes.
    """
    weights = weights_of(shares)
    total = Fraction(0)
    for key, cell in cells_of(shares).items():
        total += weights[key] * Fraction(cell_bound(cell, run, known))
    return total * GPU_SUM


def whole(shares: Shares, run: Run | None = None, known: Known | None = None) -> Whole:
    """Return what indivisible tables and jobs leave at least."""
    rows = {}
    for key, (cell, items) in whole_cells_of(shares).items():
        penalty = {
            item.group: item.penalty
            for item in items
            if item.penalty and not shares.groups[item.group].must_run
        }
        rows[key] = WholeJobs(cell_bound(cell, run, known), penalty)
    return Whole(table_squares(shares.instance), rows)


def cell_bound(cell: Cell, run: Run | None = None, known: Known | None = None) -> float:
    """Return a lower bound on the cost of a cell in units of its weight, which is not negative.

    Parameters
    ----------
    known
        What was found before, which is added to: cells are mostly the same whether groups have all
        of their bytes in each cell or a part of them.
    """
    hurried = run is not None and run.stop_reason() is not None
    name = b"".join(part.tobytes() for part in (cell.groups, cell.share, cell.penalty, cell.target))
    if known is not None and name in known:
        return known[name]
    nodes = max(TUNABLES.job_nodes, TUNABLES.job_steps // (len(cell.share) * len(cell.target)))
    least: float = max(
        0.0, least_cost(cell, unplaced(cell), TUNABLES.hurried_nodes if hurried else nodes)
    )
    if known is not None and not hurried:
        known[name] = least
    return least


def rounded_down(squares: float, items: int, regions: int) -> float:
    """Return a sum of squares of shares minus the largest possible rounding error.

    A load is calculated by at most an addition for each item, and an addition and a subtraction for
    each node; the level of what is divisible by at most eight operations for each region more. All
    numbers are at most 1, so each operation is off by at most 2^-53, and so are the shares all
    together. The absolute differences of shares add up to at most 2, so the sum of squares changes
    by at most four times the largest error of a load; and by as much again where loads that seem
    equal are not, as such regions count as alike.
    """
    if regions == 1:
        return 0.0
    operations = 2 * items + 2 * TUNABLES.table_nodes + 8 * regions + 16
    return max(0.0, float(squares) - operations * 2.0**-50)
