"""The exact methods for dispatch, and bounds level by level."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from dlsched.errors import OptionError
from dlsched.problems.dispatch import model
from dlsched.problems.dispatch.definition.check import LEVELS, evaluate
from dlsched.problems.dispatch.definition.schema import Instance, Solution
from dlsched.problems.dispatch.heuristics import reinserted
from dlsched.problems.dispatch.heuristics.dispatcher import filled
from dlsched.problems.dispatch.programs import batch_search
from dlsched.problems.dispatch.programs.aggregated_program import Aggregate
from dlsched.problems.dispatch.programs.batch_search import BatchSearch, Best, incumbent
from dlsched.problems.dispatch.structures.fleet import Barred
from dlsched.proofs.forms.form import FormChoice
from dlsched.registry.own import method
from dlsched.results.objective import Bound, strongest
from dlsched.results.result import Claim, Status, Termination
from dlsched.run import Run, Stage
from dlsched.schema import Number
from dlsched.solvers.levels import SOLVER_LIBRARIES, solve_levels
from dlsched.solvers.precision import BEYOND_PRECISION


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
        instance,
        run,
        lambda best: solve_levels(instance, run, model, levels, first=best.solution),
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
    return from_best(instance, run, lambda best: solve_classes(instance, run, best, depth))


def solve_classes(
    instance: Instance, run: Run, best: Best, depth: int, barred: Barred | None = None
) -> Claim:
    """Solve the levels from a feasible solution, under a rule if there is one.

    Of a limit a part is left for bounds of the levels that it does not come to.
    """
    search = batch_search.BatchSearch(instance, run, best, barred)
    limit = run.time_limit
    run.time_limit = (
        None if limit is None else limit - batch_search.TUNABLES.bounds_part * run.remaining()
    )
    try:
        search.solve(depth)
    finally:
        run.time_limit = limit
    if not search.stopped and depth == len(LEVELS):
        value = list(search.value)
        return Claim(search.solution, Status.OPTIMAL, search.precision, value, bounds=search.bounds)
    search.offer(filled(instance, search.solution, barred))
    ended = search.stopped or Termination.LEVELS_DONE
    reason = f"only {depth} of {len(LEVELS)} levels asked for"
    bounds = search.bounds
    if search.stopped:
        reason = f"{ended.sentence} at level {len(search.bounds)} of {depth}"
        bounds = _with_later(instance, run, bounds, barred)
    return Claim(search.solution, Status.FEASIBLE, reason, termination=ended, bounds=bounds)


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


@method("dispatch", kind="bound", preload=("highspy", "scipy.sparse"))
def lp(instance: Instance, run: Run) -> Claim:
    """Linear relaxation of the aggregated program, each level certified from its duals.

    Machines of a cluster with equal capacity are one pool. A level is bounded with the earlier ones
    held at their bounds.
    """
    return bounds_of(instance, run)


def bounds_of(
    instance: Instance, run: Run, barred: Barred | None = None, known: Sequence[Number | float] = ()
) -> Claim:
    """Bound the levels in turn, under a rule if there is one.

    Parameters
    ----------
    known
        Bounds of the first levels, which are held; those of later ones are returned.
    """
    run.announce(Stage.BUILDING, f"the aggregated program of {instance.name}")
    form = Aggregate(instance, barred).form(whole=False)
    bounds: list[list[Bound]] = []
    termination = Termination.BOUND_ONLY
    for level, costs in enumerate(form.costs):
        of_level: list[Bound] = []
        bounds.append(of_level)
        if level < len(known):
            form = form.held(level, float(known[level])) if costs.any() else form
            continue
        if not costs.any():
            of_level.append(Bound(0, "certified", "a constant level"))
            continue
        outcome, bound = batch_search.relaxed(form, level, run)
        if bound is not None:
            of_level.append(bound)
        if outcome.status is not Status.OPTIMAL:
            infeasible = outcome.status is Status.INFEASIBLE  # but to start nothing is feasible
            termination = Termination.TOLERANCES if infeasible else outcome.termination
            break
        if bound is None:
            break
        form = form.held(level, float(bound.value))
    return Claim(status=Status.NO_SOLUTION, termination=termination, bounds=bounds)


def from_best(
    instance: Instance,
    run: Run,
    search: Callable[[Best], Claim],
    first: Callable[[], Solution] | None = None,
    allowed: Callable[[Solution], bool] = lambda _: True,
) -> Claim:
    """Return what an exact search finds, or what it begins from if that is better.

    Parameters
    ----------
    first
        The plan to begin from where the run knows of none; by default that of `reinserted`.
    allowed
        Whether a plan keeps the rule of a variant.
    """
    plan = first or (lambda: reinserted(instance, run))
    best = incumbent(instance, run, lambda: [plan()], allowed)
    known, value = best.solution, best.value
    claim = search(best)
    claim = replace(claim, start=claim.start or best.start)
    if known is None or value is None:
        return claim
    if not isinstance(claim.solution, Solution):
        return replace(claim, solution=known, status=Status.FEASIBLE, objective=None)
    if not value.better_than(evaluate(instance, claim.solution)):
        return claim
    if claim.status is Status.OPTIMAL:  # of values that are equal to the solver
        claim = replace(claim, termination=Termination.TOLERANCES, reason=BEYOND_PRECISION)
    return replace(claim, solution=known, status=Status.FEASIBLE, objective=None)


def choices(instance: Instance, solution: Solution, level: int, run: Run) -> Iterator[FormChoice]:
    """Yield the forms to try for a level, the most promising first.

    The first has the blocks and cuts with which `classes` closes the level.
    """
    racks = {"racks": True} if level == len(LEVELS) - 1 else {}
    yield FormChoice("counts", racks)
    search = BatchSearch(instance, run, incumbent(instance, run.nested(), lambda: [solution]))
    search.solve(level + 1)
    if search.stopped is None:
        found: dict[str, Any] = dict(racks)
        found["cuts"] = [[[s.kind, *s.need, part] for s, part in cut] for cut in search.cuts]
        found["blocks"] = [[block.site, *block.machines] for block in search.batch.blocks]
        yield FormChoice("counts", found)
    yield FormChoice("model")
