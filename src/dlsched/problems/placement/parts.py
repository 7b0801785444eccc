"""Lower bounds on parts of the cost: what indivisible tables and jobs leave."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dlsched.problems.placement.arrays import Data
from dlsched.problems.placement.cells import Cell, cells_of, unplaced
from dlsched.problems.placement.lumps import least_cost
from dlsched.problems.placement.shares import Shares
from dlsched.problems.placement.squares import min_squares

MOST_NODES = 20_000
"""Of the branch and bound over tables."""
MOST_STEPS, LEAST_NODES = 3_000_000, 200
"""Of each search over jobs: the nodes times jobs times regions, and at least as many nodes."""
_ROUNDING = 1e-12
"""More than the relative error of a quotient of rounded numbers."""


def storage_bound(data: Data) -> float:
    """Return a lower bound on the storage part of the cost, weight included."""
    return data.storage_weight * table_squares(data)


def table_squares(data: Data) -> float:
    """Return the least sum over regions of squared differences of shares of bytes, from below."""
    if not data.storage_weight:
        return 0.0
    shares = np.sort(data.size / data.bytes_total)[::-1].copy()
    value = min_squares(shares, data.capacity_share, True, MOST_NODES)
    return rounded_down(value, len(shares), len(data.capacity_share))


def gpu_bound(shares: Shares) -> float:
    """Return a lower bound on the GPU part of the cost with its jobs' traffic, weights included."""
    return sum(cell_bounds(cells_of(shares)).values())


class WholeJobs(NamedTuple):
    """A row of the model: squares, in units of 1, plus penalties of groups without a region."""

    least: float
    """A lower bound on the sum."""
    penalty: dict[int, float]
    """By group that may have no region, rounded up."""


class Whole(NamedTuple):
    """What the model states of indivisible tables and jobs; see `whole`."""

    tables: float
    """`table_squares`."""
    jobs: dict[tuple[int, int], WholeJobs]
    """By type and priority."""


def whole(data: Data, shares: Shares) -> Whole:
    """Return what indivisible tables and jobs leave at least."""
    rows = {}
    for key, cell in cells_of(shares, split=False).items():
        penalty = {
            g: cost / cell.weight * (1 + _ROUNDING)
            for g, cost in zip(cell.groups.tolist(), cell.penalty.tolist(), strict=True)
            if 0 < cost < math.inf
        }
        rows[key] = WholeJobs(cell_bound(cell) / cell.weight * (1 - _ROUNDING), penalty)
    return Whole(table_squares(data), rows)


def cell_bounds(cells: dict[tuple[int, int], Cell]) -> dict[tuple[int, int], float]:
    """Return lower bounds on the costs of cells, by type and priority."""
    return {key: cell_bound(cell) for key, cell in cells.items()}


def cell_bound(cell: Cell) -> float:
    """Return a lower bound on the cost of a cell, which is not negative."""
    nodes = max(LEAST_NODES, MOST_STEPS // (len(cell.share) * len(cell.target)))
    return max(0.0, least_cost(cell, unplaced(cell), nodes))


def rounded_down(squares: float, items: int, regions: int) -> float:
    """Return a sum of squares of shares minus the largest possible rounding error.

    The error of a share is at most 2**-50, and that of each addition 2**-53; the derivative of the
    sum of squares by all shares together is at most twice the number of regions.
    """
    additions = items + 2 * MOST_NODES + regions
    return max(0.0, float(squares) - 2 * regions * (items * 2.0**-50 + additions * 2.0**-53))
