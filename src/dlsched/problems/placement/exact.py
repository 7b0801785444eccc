"""The exact method for placement: the estimate of the cost, refined until it is the cost."""

from __future__ import annotations

from dlsched.problems.placement.schema import Instance
from dlsched.registry import method
from dlsched.result import Claim
from dlsched.run import Run
from dlsched.solvers.levels import SOLVER_LIBRARIES


@method("placement", kind="exact", preload=(".local", ".squares", *SOLVER_LIBRARIES))
def milp(instance: Instance, run: Run) -> Claim:
    """Integer programs that estimate the cost from below, refined where a placement was found.

    Exact because each program's bound is a bound of the cost, and each placement found gets points
    at which the next program is exact; there are finitely many. It stops when the bound meets the
    best placement, or with the gap that is left. It starts from `annealing`.
    """
    from dlsched.problems.placement.refine import Refinement

    return Refinement(instance, run).search()
