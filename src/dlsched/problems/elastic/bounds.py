"""Bounds for elastic."""

from __future__ import annotations

from fractions import Fraction

from dlsched.objective import Bound
from dlsched.problems.elastic.knapsack import Items, items_of
from dlsched.problems.elastic.lagrange import Relaxation, relax
from dlsched.problems.elastic.schema import Instance
from dlsched.registry import method
from dlsched.result import Claim, Status
from dlsched.run import Run
from dlsched.schema import Number


@method("elastic", kind="bound")
def lp(instance: Instance, run: Run) -> Claim:
    """Hull relaxation without an LP solver: two multipliers, evaluated in integers.

    Level 1 is exact: the smallest base demands fit up to L* jobs, and no L* + 1 of them do.
    Level 2 is the linear relaxation's value, rounded down to the grid of the reductions.
    """
    items = items_of(instance)
    bounds = relaxation_bounds(items, relax(items, run.stop_reason))
    return Claim(status=Status.NO_SOLUTION, reason="bound only", bounds=bounds)


def relaxation_bounds(items: Items, relaxation: Relaxation) -> list[list[Bound]]:
    """Return the two levels' certified bounds."""
    value = seconds(items, relaxation.bound >> relaxation.shift)
    return [[launch_bound(items)], [Bound(value, "certified", "hull relaxation")]]


def launch_bound(items: Items) -> Bound:
    """Return the number of pending jobs whose base demands fit, smallest first."""
    return Bound(items.most_launched, "certified", "smallest base demands")


def seconds(items: Items, units: int) -> Number:
    """Return grid units as seconds."""
    value = Fraction(units) * items.unit
    return int(value) if value.denominator == 1 else value
