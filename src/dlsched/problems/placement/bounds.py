"""Bounds for placement: what whole tables and whole jobs leave unbalanced."""

from __future__ import annotations

import numpy as np

from dlsched.objective import Bound
from dlsched.problems.placement.arrays import Data, arrays
from dlsched.problems.placement.check import TOLERANCE
from dlsched.problems.placement.schema import Instance
from dlsched.registry import method
from dlsched.result import Claim, Status
from dlsched.run import Run

MOST_NODES = 20_000
"""Of each search over lumps."""


@method("placement", kind="bound", preload=(".squares",))
def storage(instance: Instance, run: Run) -> Claim:
    """The least storage imbalance (3) that whole tables leave, at any size; traffic and (2) at 0.

    The largest tables go to every region in turn, the others are poured. In v1 it is 0.
    """
    value = storage_bound(arrays(instance))
    return _only(value, "search over the largest tables, the others poured")


@method("placement", kind="bound", preload=(".squares",))
def lumps(instance: Instance, run: Run) -> Claim:
    """`storage`, and the least GPU imbalance (2) that whole jobs leave, by type and priority.

    Each type and priority is taken by itself, with the sigmoid at 1/2, and a job may run nowhere.
    Strong where a priority has few jobs. Ours, not the paper's.
    """
    data = arrays(instance)
    return _only(storage_bound(data) + gpu_bound(data), "searches over the largest tables and jobs")


def storage_bound(data: Data) -> float:
    """Return a lower bound on the storage part of the cost, weight included."""
    from dlsched.problems.placement.squares import least

    if not data.storage_weight:
        return 0.0
    shares = np.sort(data.size / data.bytes_total)[::-1].copy()
    value = least(shares, data.capacity_share, True, MOST_NODES)
    return data.storage_weight * _safe(value, len(shares), len(data.capacity_share))


def gpu_bound(data: Data) -> float:
    """Return a lower bound on the GPU part of the cost, weight included."""
    return data.gpu_weight * sum(
        float(data.priority_weight[p]) / 2 * value for (_, p), value in job_squares(data).items()
    )


def job_squares(data: Data) -> dict[tuple[int, int], float]:
    """Return, by type and priority, the least sum over regions of squared differences of shares."""
    from dlsched.problems.placement.squares import least

    found: dict[tuple[int, int], float] = {}
    readers = np.repeat(np.arange(len(data.ml)), np.diff(data.hours_start))
    for k, p in np.argwhere(data.wanted > 0).tolist():
        mine = (data.hours_kind == k) & (data.priority[readers] == p)
        shares = np.sort(data.hours[mine] / data.wanted[k, p])[::-1].copy()
        value = least(shares, data.supply_share[:, k].copy(), False, MOST_NODES)
        found[k, p] = _safe(value, len(shares), len(data.capacity_share))
    return found


def _safe(squares: float, lumps: int, regions: int) -> float:
    """Return a sum of squares of shares less what rounding may have added.

    A share is off by 2**-50 and each of at most so many additions to it by 2**-53; the derivative
    of the sum of squares by all shares together is at most twice the number of regions.
    """
    additions = lumps + 2 * MOST_NODES + regions
    return max(0.0, float(squares) - 2 * regions * (lumps * 2.0**-50 + additions * 2.0**-53))


def _only(value: float, how: str) -> Claim:
    bound = Bound(value * (1 - TOLERANCE), "certified", how)
    return Claim(status=Status.NO_SOLUTION, reason="bound only", bounds=[[bound]])
