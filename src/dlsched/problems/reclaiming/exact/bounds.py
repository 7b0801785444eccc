"""Bounds for reclaiming."""

from __future__ import annotations

from dlsched.problems.reclaiming import model
from dlsched.problems.reclaiming.definition.schema import Instance
from dlsched.registry.own import method
from dlsched.results.result import Claim
from dlsched.run import Run
from dlsched.solvers.levels import SOLVER_LIBRARIES, relax_first_level


@method("reclaiming", kind="bound", preload=SOLVER_LIBRARIES)
def lp(instance: Instance, run: Run) -> Claim:
    """Linear relaxation of level 1, certified from its duals and rounded up.

    The preempted weight is a multiple of the weights' greatest common divisor, so the bound is
    rounded up to the next one. Level 2 gets no bound: its bound would depend on level 1's optimum.
    """
    return relax_first_level(instance, run, model)
