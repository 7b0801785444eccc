"""The exact methods for dispatch."""

from __future__ import annotations

import itertools
from fractions import Fraction

from dlsched.errors import OptionError
from dlsched.problems.dispatch import model
from dlsched.problems.dispatch.definition.check import LEVELS, YOUNG, evaluate
from dlsched.problems.dispatch.definition.ranking import startable
from dlsched.problems.dispatch.definition.schema import Instance, Solution
from dlsched.problems.dispatch.exact.beginning import from_best
from dlsched.problems.dispatch.exact.bounds import bounds_of
from dlsched.problems.dispatch.exact.one_workload import WorkloadSearch
from dlsched.problems.dispatch.heuristics.dispatcher import Dispatcher
from dlsched.problems.dispatch.heuristics.fill_remaining import filled
from dlsched.problems.dispatch.programs import batch_search
from dlsched.problems.dispatch.structures.fleet import Barred, Fleet
from dlsched.registry.own import method
from dlsched.results.objective import SOLVER_PRECISION, TOLERANCE, Bound, strongest
from dlsched.results.result import Claim, Status, Termination
from dlsched.run import Run
from dlsched.schema import granularity
from dlsched.solvers.levels import SOLVER_LIBRARIES, solve_levels
from dlsched.solvers.precision import precision_reason

_BOUNDS_PART = 0.1
"""Of a limit, for the bounds of later levels."""


@method("dispatch", kind="exact", preload=SOLVER_LIBRARIES)
def milp(instance: Instance, run: Run, levels: int | None = None) -> Claim:
    """Integer program with a variable for each job and machine, level by level.

    Exact because the model's solutions are the instance's, of the same value.

    Parameters
    ----------
    levels
        Levels to solve; all by default.
    """
    return from_best(
        instance, run, lambda start: solve_levels(instance, run, model, levels, first=start)
    )


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
    return from_best(instance, run, lambda start: _clusters(instance, run))


def _clusters(instance: Instance, run: Run) -> Claim:
    """Solve the programs of the first workload's clusters."""
    fleet = Fleet(instance)
    dispatcher = Dispatcher(fleet, cache=False)
    order = startable(instance)
    stopped = None
    if order:
        search = WorkloadSearch(fleet, order[0], run)
        search.best = dispatcher.auction(order[0], dispatcher.everywhere(order[0]))
        search.stopped = run.stop_reason()
        if search.stopped is None:
            search.solve()
        stopped = search.stopped
        if search.best is not None:
            dispatcher.execute(order[0], search.best)
    solution = dispatcher.solution()
    if stopped:
        return Claim(solution, Status.FEASIBLE, termination=stopped)
    value = evaluate(instance, solution)
    bounds = [[Bound(level, "claimed", "clusters")] for level in value]
    reason = ""
    if granularity(fleet.young) < value.young * Fraction(
        TOLERANCE
    ):  # HiGHS knows the youth to nine digits only
        weaker = float(value.young) * (1 - SOLVER_PRECISION)
        bounds[value.levels.index(YOUNG)] = [Bound(weaker, "claimed", "clusters")]
        reason = precision_reason(YOUNG.name, SOLVER_PRECISION)
    return Claim(solution, Status.OPTIMAL, reason, objective=list(value), bounds=bounds)


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
    priority before anything gains there (see `unjustified_victims.justified`). So no optimum of all
    levels has one.

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
    return from_best(instance, run, lambda start: solve_classes(instance, run, start, depth))


def solve_classes(
    instance: Instance, run: Run, start: Solution, depth: int, barred: Barred | None = None
) -> Claim:
    """Solve the levels from a feasible solution, under a rule if there is one.

    Of a limit a part is left for bounds of the levels that it does not come to.
    """
    search = batch_search.BatchSearch(instance, run, start, barred)
    limit = run.time_limit
    run.time_limit = None if limit is None else limit - _BOUNDS_PART * run.remaining()
    try:
        search.solve(depth)
    finally:
        run.time_limit = limit
    if not search.stopped and depth == len(LEVELS):
        value = list(search.value)
        return Claim(search.best, Status.OPTIMAL, search.precision, value, bounds=search.bounds)
    search.accept(filled(instance, search.best, barred))
    ended = search.stopped or Termination.LEVELS_DONE
    reason = f"only {depth} of {len(LEVELS)} levels asked for"
    bounds = search.bounds
    if search.stopped:
        reason = f"{ended.sentence} at level {len(search.bounds)} of {depth}"
        bounds = _with_later(instance, run, bounds, barred)
    return Claim(search.best, Status.FEASIBLE, reason, termination=ended, bounds=bounds)


def _with_later(
    instance: Instance, run: Run, bounds: list[list[Bound]], barred: Barred | None
) -> list[list[Bound]]:
    """Return the bounds of a search, and of later levels those of linear relaxations."""
    known = [strongest(level, of_level) for level, of_level in zip(LEVELS, bounds, strict=False)]
    held = [bound.value for bound in itertools.takewhile(lambda bound: bound, known) if bound]
    if run.stop_reason():
        return bounds
    later = bounds_of(instance, run.nested(), False, barred, held).bounds
    return [*bounds[: len(held)], *map(list, later[len(held) :])]
