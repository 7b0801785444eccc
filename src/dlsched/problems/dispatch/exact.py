"""The exact methods for dispatch."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dlsched.errors import OptionError
from dlsched.objective import SOLVER_PRECISION, TOLERANCE, Bound
from dlsched.problems.dispatch import batch, model
from dlsched.problems.dispatch.check import DAY, LEVELS, evaluate
from dlsched.problems.dispatch.dispatcher import Dispatcher
from dlsched.problems.dispatch.filling import filled
from dlsched.problems.dispatch.fleet import Fleet
from dlsched.problems.dispatch.heuristics import mast_solution
from dlsched.problems.dispatch.one import Search
from dlsched.problems.dispatch.ranking import startable
from dlsched.problems.dispatch.schema import Instance, Solution
from dlsched.registry.own import method
from dlsched.result import Claim, Start, Status, Termination
from dlsched.run import Run
from dlsched.schema import granularity
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
        raise OptionError("clusters is for the scope one; use classes for a batch")
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


@method("dispatch", kind="exact", preload=("highspy", "scipy.sparse"))
def classes(instance: Instance, run: Run, levels: int | None = None) -> Claim:
    """Integer program that counts tasks on classes of equal machines, which are divided on demand.

    Machines of a cluster that are alike in type, capacity, free resources and occupants are a
    class; the program knows how many tasks of each shape a class has, and by resource its total
    room. So it is a relaxation: its optimum bounds the level. If its counts can be placed on the
    single machines, the level is solved. Else an inequality for one machine that the counts violate
    is added for all classes, or the class is divided, and the level is solved again.

    Exact because this ends, at the latest with one machine to a class, where counts are places;
    and because the condition on victims needs no row: a victim on whose machines nothing of a
    higher priority starts is worth less than what is lost if it stays, as it costs a job at its
    priority before anything gains there (see `justify.justified`). So no optimum of all levels
    has one.

    Parameters
    ----------
    levels
        Levels to solve; all by default.

    Raises
    ------
    OptionError
        If there are fewer levels.
    """
    depth = len(LEVELS) if levels is None else levels
    if not (isinstance(depth, int) and 1 <= depth <= len(LEVELS)):
        raise OptionError(f"levels={depth} must be from 1 to {len(LEVELS)}")
    own, start = mast_solution(instance), None
    if run.start is not None:
        assert isinstance(run.start, Solution)
        better = evaluate(instance, run.start).better_than(evaluate(instance, own))
        start = Start(better, f"it is {'' if better else 'no '}better than the plan of mast")
        own = run.start if better else own
    search = batch.Search(instance, run, own)
    search.solve(depth)
    bounds = search.bounds
    if search.stopped:
        search.accept(filled(instance, search.best))
        reason = f"{search.stopped.sentence} at level {len(bounds)} of {depth}"
        return Claim(search.best, Status.FEASIBLE, reason, bounds=bounds,
                     termination=search.stopped, start=start)  # fmt: skip
    if depth < len(LEVELS):
        search.accept(filled(instance, search.best))
        reason = f"only {depth} of {len(LEVELS)} levels asked for"
        return Claim(search.best, Status.FEASIBLE, reason, bounds=bounds,
                     termination=Termination.LEVELS_DONE, start=start)  # fmt: skip
    return Claim(search.best, Status.OPTIMAL, objective=list(search.value), bounds=bounds,
                 start=start)  # fmt: skip


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
    youth = [level.name for level in LEVELS].index("young")
    grain = granularity(max(0, DAY - victim.seconds) for victim in instance.running)
    if grain < value.young * Fraction(TOLERANCE):  # HiGHS is right to nine digits
        weaker = float(value.young) * (1 - SOLVER_PRECISION)
        bounds[youth] = [Bound(weaker, "claimed", "clusters")]
    return Claim(found, Status.OPTIMAL, objective=list(value), bounds=bounds, start=start)
