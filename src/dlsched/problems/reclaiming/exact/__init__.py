"""The exact method for reclaiming: the integer program."""

from __future__ import annotations

from dlsched.problems.reclaiming import model
from dlsched.problems.reclaiming.definition.schema import Instance, Solution
from dlsched.problems.reclaiming.heuristics.densest import densest
from dlsched.problems.reclaiming.programs.fixed_jobs import Reduced
from dlsched.registry.own import method
from dlsched.results.result import Claim
from dlsched.run import Run
from dlsched.solvers.levels import SOLVER_LIBRARIES, solve_levels


def _is_weighted(instance: Instance) -> bool:
    """Return whether jobs differ in weight."""
    return len({job.weight for job in instance.jobs}) > 1


@method(
    "reclaiming",
    kind="exact",
    preload=SOLVER_LIBRARIES,
    begins_with="lp",
)
def milp(instance: Instance, run: Run, levels: int = 2) -> Claim:
    """Integer program: first the preempted weight, then, held at its optimum, the collateral.

    Exact because solutions of the model and of the instance correspond (models/reclaiming.md) and
    branch and bound searches all of them except those that preempt a job heavier than the whole
    preempted weight of `densest`, or of the start. The certified bound comes from the relaxation's
    duals. If the weights add up to more than about 400,000 multiples of their greatest common
    divisor, the solver's tolerances can leave a gap of about 1e-9, which is stated.

    Parameters
    ----------
    levels
        1 to stop after the preempted weight.
    """
    known = run.start or run.known
    if known is None and _is_weighted(instance) and instance.demand <= len(instance.servers):
        known = densest(instance, run)
    reduced = Reduced.by(instance, known) if isinstance(known, Solution) else model
    return solve_levels(instance, run, reduced, levels)
