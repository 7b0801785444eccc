"""Bounds for workers."""

from __future__ import annotations

from dlsched.problems.workers import model
from dlsched.problems.workers.definition.schema import Instance
from dlsched.problems.workers.programs.arc_program import ArcProgram
from dlsched.problems.workers.programs.choice import choose
from dlsched.registry.own import method
from dlsched.results.result import Claim
from dlsched.run import Run
from dlsched.solvers.levels import SOLVER_LIBRARIES, relax_first_level


@method("workers", kind="bound", preload=SOLVER_LIBRARIES)
def lp(instance: Instance, run: Run) -> Claim:
    """Linear relaxation of level 1 of the flow program, certified from its duals, rounded down.

    With too many arcs it is that of the card's model, which is weaker: there free GPUs count also
    where no worker fits.
    """
    if choose(instance) == "milp":
        return relax_first_level(instance, run, model)
    return relax_first_level(instance, run, ArcProgram(instance))
