"""Exact methods for reclaiming: the integer program, and a decomposition into components."""

from __future__ import annotations

from dlsched.problem import method
from dlsched.problems.reclaiming import model
from dlsched.problems.reclaiming.schema import Instance
from dlsched.result import Claim
from dlsched.run import Run
from dlsched.solvers.levels import solve_levels


@method("reclaiming", kind="exact")
def milp(instance: Instance, run: Run, levels: int = 2) -> Claim:
    """Integer program: first the preempted weight, then, held at its optimum, the collateral.

    Exact because the model's solutions are the instance's (models/reclaiming.md) and a branch and
    bound searches them all; the certified part of the bound comes from the relaxation's duals.

    Parameters
    ----------
    levels
        1 to stop after the preempted weight.
    """
    return solve_levels(instance, run, model, levels)
