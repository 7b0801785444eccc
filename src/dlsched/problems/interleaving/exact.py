"""Exact methods for interleaving."""

from __future__ import annotations

from dlsched.problem import method
from dlsched.problems.interleaving.schema import Instance
from dlsched.result import Claim
from dlsched.run import Run
from dlsched.solvers.levels import solve_levels


@method("interleaving", kind="exact", model=True)
def milp(instance: Instance, run: Run) -> Claim:
    """Integer program: set partitioning over every group, each at its best offsets.

    Exact because every allowed group is a column, and a grouping is a choice of columns that holds
    each job once (models/interleaving.md). Above 200,000 groups it refuses.
    """
    from dlsched.problems.interleaving import model

    return solve_levels(instance, run, model)
