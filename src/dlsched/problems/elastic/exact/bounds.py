"""Bounds for elastic."""

from __future__ import annotations

from dlsched.problems.elastic.definition.schema import Instance
from dlsched.problems.elastic.programs import two_pools_lagrangian as pool_lagrangian
from dlsched.problems.elastic.programs.lagrangian import launch_bound, reduction_bound, relax
from dlsched.problems.elastic.structures import two_pools_knapsack as pool_knapsack
from dlsched.problems.elastic.structures.knapsack import items_of
from dlsched.registry.own import method
from dlsched.results.result import Claim, Status
from dlsched.run import Run


@method("elastic", kind="bound", preload=pool_lagrangian.LP_LIBRARIES)
def lp(instance: Instance, run: Run) -> Claim:
    """Hull relaxation without an LP solver: two multipliers, evaluated in integers.

    Level 1 is exact: the smallest base demands fit up to L* jobs, and no L* + 1 of them do.
    Level 2 is the value of the linear relaxation, rounded down to the granularity of the
    reductions.

    With two pools the multipliers are duals of a linear program, and level 1 is a bound: workers of
    jobs that can use the loan pool may be in any pool.
    """
    if instance.pools:
        return _with_pools(instance, run)
    items = items_of(instance)
    relaxation = relax(items, run.stop_reason)
    bounds = [[launch_bound(items)], [reduction_bound(items, relaxation)]]
    return Claim(status=Status.NO_SOLUTION, bounds=bounds)


def _with_pools(instance: Instance, run: Run) -> Claim:
    items = pool_knapsack.items_of(instance)
    first = pool_lagrangian.launch(items)
    relaxation = pool_lagrangian.relax(items, len(first.chosen), first.most, run.remaining())
    bounds = [
        [pool_lagrangian.launch_bound(first.most)],
        [pool_lagrangian.reduction_bound(items, relaxation)],
    ]
    return Claim(status=Status.NO_SOLUTION, bounds=bounds)
