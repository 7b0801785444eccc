"""Bounds for reclaiming."""

from __future__ import annotations

from dlsched.problems.reclaiming.schema import Instance
from dlsched.registry import method
from dlsched.result import Claim
from dlsched.run import Run
from dlsched.solvers.levels import SOLVER_LIBRARIES, relax_first_level


@method("reclaiming", kind="bound", preload=SOLVER_LIBRARIES)
def lp(instance: Instance, run: Run) -> Claim:
    """Linear relaxation of level 1, certified from its duals and rounded up.

    The preempted weight is a whole number when all weights are, so the bound may be rounded up to
    the next multiple of their greatest common divisor. Level 2 has no bound apart from level 1.
    """
    from dlsched.problems.reclaiming import model

    return relax_first_level(instance, run, model)
