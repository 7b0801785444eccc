"""Bounds for placement: the imbalance that indivisible tables and jobs leave."""

from __future__ import annotations

import numpy as np

from dlsched.objective import Bound
from dlsched.problems.placement.arrays import Data, arrays
from dlsched.problems.placement.check import TOLERANCE
from dlsched.problems.placement.schema import Instance
from dlsched.problems.placement.sizes import few_tables
from dlsched.problems.placement.squares import min_squares
from dlsched.registry import method
from dlsched.result import Claim, Status
from dlsched.run import Run

MOST_NODES = 20_000
"""Of each branch and bound."""


@method("placement", kind="bound", preload=(".squares",), small=few_tables)
def storage(instance: Instance, run: Run) -> Claim:
    """The least storage imbalance (3) with indivisible tables, at any size; traffic and (2) at 0.

    Branch and bound over the largest tables, with the others divisible. In v1 it is 0.
    """
    value = storage_bound(arrays(instance))
    return _claim(value, "search over the largest tables, the others divisible")


@method("placement", kind="bound", preload=(".squares",), small=few_tables)
def indivisible_bound(instance: Instance, run: Run) -> Claim:
    """`storage`, and the least GPU imbalance (2) with indivisible jobs, by type and priority.

    Each type and priority is taken by itself, with the sigmoid at 1/2, and a job may run nowhere.
    Strong where a priority has few jobs. Ours, not the paper's.
    """
    data = arrays(instance)
    value = storage_bound(data) + gpu_bound(data)
    return _claim(value, "searches over the largest tables and jobs")


def storage_bound(data: Data) -> float:
    """Return a lower bound on the storage part of the cost, weight included."""
    if not data.storage_weight:
        return 0.0
    shares = np.sort(data.size / data.bytes_total)[::-1].copy()
    value = min_squares(shares, data.capacity_share, True, MOST_NODES)
    return data.storage_weight * _rounded_down(value, len(shares), len(data.capacity_share))


def gpu_bound(data: Data) -> float:
    """Return a lower bound on the GPU part of the cost, weight included."""
    return data.gpu_weight * sum(
        float(data.priority_weight[p]) / 2 * value for (_, p), value in job_squares(data).items()
    )


def job_squares(data: Data) -> dict[tuple[int, int], float]:
    """Return, by type and priority, the least sum over regions of squared differences of shares."""
    found: dict[tuple[int, int], float] = {}
    jobs = np.repeat(np.arange(len(data.ml)), np.diff(data.hours_start))
    for k, p in np.argwhere(data.wanted > 0).tolist():
        chosen = (data.hours_kind == k) & (data.priority[jobs] == p)
        shares = np.sort(data.hours[chosen] / data.wanted[k, p])[::-1].copy()
        value = min_squares(shares, data.supply_share[:, k].copy(), False, MOST_NODES)
        found[k, p] = _rounded_down(value, len(shares), len(data.capacity_share))
    return found


def _rounded_down(squares: float, items: int, regions: int) -> float:
    """Return a sum of squares of shares minus the largest possible rounding error.

    The error of a share is at most 2**-50, and that of each addition 2**-53; the derivative of the
    sum of squares by all shares together is at most twice the number of regions.
    """
    additions = items + 2 * MOST_NODES + regions
    return max(0.0, float(squares) - 2 * regions * (items * 2.0**-50 + additions * 2.0**-53))


def _claim(value: float, how: str) -> Claim:
    bound = Bound(value * (1 - TOLERANCE), "certified", how)
    return Claim(status=Status.NO_SOLUTION, bounds=[[bound]])
