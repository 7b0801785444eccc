"""Bounds for utility: Lagrangian bounds from prices of GPUs by slot and type."""

from __future__ import annotations

from dlsched.problems.utility.definition.schema import Instance
from dlsched.problems.utility.exact.schedule_columns import LAGRANGIAN, ScheduleSearch
from dlsched.problems.utility.programs.lagrangian import lagrangian_bound
from dlsched.registry.own import method
from dlsched.results.objective import Bound
from dlsched.results.result import Claim, Status
from dlsched.run import Run
from dlsched.solvers.levels import SOLVER_LIBRARIES

__all__ = ["lagrangian", "lagrangian_bound"]


@method("utility", kind="bound", preload=SOLVER_LIBRARIES)
def lagrangian(instance: Instance, run: Run) -> Claim:
    """Lagrangian bound of the best prices found, which `lagrangian_bound` re-checks in one pass.

    Prices are duals of the restricted master, with slots merged into ever shorter periods.
    """
    search = ScheduleSearch(instance, run)
    if not search.gangs.masks:
        bound = Bound(0, "certified", "no job can run")
        return Claim(status=Status.NO_SOLUTION, reason="no job can run", bounds=[[bound]])
    search.bound_by_prices(run)
    bounds = [] if search.bound is None else [Bound(search.bound, "certified", LAGRANGIAN)]
    return Claim(status=Status.NO_SOLUTION, bounds=[bounds])
