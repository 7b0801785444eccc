"""The exact methods for dispatch."""

from __future__ import annotations

import itertools

from dlsched.errors import OptionError
from dlsched.problems.dispatch import model
from dlsched.problems.dispatch.definition.check import LEVELS
from dlsched.problems.dispatch.definition.schema import Instance, Solution
from dlsched.problems.dispatch.exact.beginning import from_best
from dlsched.problems.dispatch.exact.bounds import bounds_of
from dlsched.problems.dispatch.heuristics.fill_remaining import filled
from dlsched.problems.dispatch.programs import batch_search
from dlsched.problems.dispatch.structures.fleet import Barred
from dlsched.registry.own import method
from dlsched.results.objective import Bound, strongest
from dlsched.results.result import Claim, Status, Termination
from dlsched.run import Run
from dlsched.solvers.levels import SOLVER_LIBRARIES, solve_levels

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
    later = bounds_of(instance, run.nested(), barred, held).bounds
    return [*bounds[: len(held)], *map(list, later[len(held) :])]
