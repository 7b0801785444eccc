"""Bounds for elastic."""

from __future__ import annotations

from dlsched.problems.elastic.definition.schema import Instance
from dlsched.problems.elastic.programs.lagrangian import (
    LP_LIBRARIES,
    launch_bound,
    launches_of,
    reduction_bound,
    relax,
)
from dlsched.problems.elastic.structures.knapsack import items_of
from dlsched.registry.own import method
from dlsched.results.result import Claim, Status
from dlsched.run import Run


@method("elastic", kind="bound", preload=LP_LIBRARIES)
def lp(instance: Instance, run: Run) -> Claim:
    """Hull relaxation without an LP solver: two multipliers, evaluated in integers.

    Level 1 is exact: the smallest base demands fit up to L* jobs, and no L* + 1 of them do.
    Level 2 is the value of the linear relaxation, rounded down to the granularity of the
    reductions.

    With two pools the multipliers are duals of a linear program, and level 1 is a bound: workers of
    jobs that can use the loan pool may be in any pool.
    """
    items = items_of(instance)
    launches = launches_of(items)
    relaxation = relax(items, len(launches.chosen), launches.most, run)
    bounds = [[launch_bound(items, launches.most)], [reduction_bound(items, relaxation)]]
    return Claim(status=Status.NO_SOLUTION, bounds=bounds)
