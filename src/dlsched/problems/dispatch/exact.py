"""The exact methods for dispatch."""

from __future__ import annotations

from typing import Any

from dlsched.errors import OptionError
from dlsched.objective import Bound
from dlsched.problems.dispatch import model
from dlsched.problems.dispatch.check import evaluate
from dlsched.problems.dispatch.dispatcher import Dispatcher
from dlsched.problems.dispatch.fleet import Fleet
from dlsched.problems.dispatch.one import Search
from dlsched.problems.dispatch.ranking import startable
from dlsched.problems.dispatch.schema import Instance, Solution
from dlsched.registry import method
from dlsched.result import Claim, Start, Status
from dlsched.run import Run
from dlsched.solvers.levels import SOLVER_LIBRARIES, solve_levels


@method("dispatch", kind="exact", preload=SOLVER_LIBRARIES)
def milp(instance: Instance, run: Run, levels: int | None = None) -> Claim:
    """Integer program with a variable for each job and machine, level by level.

    Exact because the model's solutions are the instance's, of the same value.

    Parameters
    ----------
    levels
        Levels to solve; all by default.
    """
    return solve_levels(instance, run, model, levels)


@method("dispatch", kind="exact", preload=("highspy", "scipy.sparse"))
def clusters(instance: Instance, run: Run) -> Claim:
    """For the scope one: by region and cluster, an integer program over classes of machines.

    Exact because clusters that need victims of a higher priority than others are worse at an
    earlier level, and equal machines may be exchanged: the program counts, for each class, the
    machines with each maximal number of tasks.

    Raises
    ------
    OptionError
        If the scope is batch.
    """
    if instance.scope != "one":
        raise OptionError("clusters is for the scope one; use milp for a batch")
    fleet = Fleet(instance)
    dispatcher = Dispatcher(fleet, cache=False)
    order = startable(instance)
    search = None
    if order:
        search = Search(fleet, order[0], run)
        if run.stop_reason():
            search.stopped = run.stop_reason()
        else:
            sites = fleet.sites_of(instance.pending[order[0].position])
            search.best = dispatcher.auction(order[0], sites)
            search.solve()
        if search.best is not None:
            dispatcher.execute(order[0], search.best)
    return _claim(instance, run, dispatcher.solution(), search.stopped if search else None)


def _claim(instance: Instance, run: Run, found: Solution, stopped: Any) -> Claim:
    start = None
    value = evaluate(instance, found)
    if run.start is not None:
        assert isinstance(run.start, Solution)
        start = Start(False, "the search starts from the plan of mast")
        if stopped and evaluate(instance, run.start).better_than(value):
            found = run.start
            start = Start(True, "it is better than what was found before the limit")
    if stopped:
        return Claim(found, Status.FEASIBLE, termination=stopped, start=start)
    bounds = [[Bound(level, "claimed", "clusters")] for level in value]
    return Claim(found, Status.OPTIMAL, objective=list(value), bounds=bounds, start=start)
