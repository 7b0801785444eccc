"""Exact methods and the bound for elastic: the integer program, and a dynamic program."""

from dataclasses import replace
from typing import Any, TypeAlias

from dlsched.errors import OptionError
from dlsched.problems.elastic import model
from dlsched.problems.elastic.definition.job_choices import held_by, splits, workers_of
from dlsched.problems.elastic.definition.schema import Instance, Solution
from dlsched.problems.elastic.programs.knapsack_search import TUNABLES, KnapsackSearch
from dlsched.problems.elastic.programs.lagrangian import (
    LP_LIBRARIES,
    launch_bound,
    launches_of,
    reduction_bound,
    relax,
)
from dlsched.problems.elastic.structures.knapsack import items_of
from dlsched.problems.elastic.structures.undominated_choices import undominated
from dlsched.registry.own import method
from dlsched.results.result import Claim, Status
from dlsched.run import Run, Stage
from dlsched.solvers.levels import SOLVER_LIBRARIES, solve_levels


@method("elastic", kind="exact", preload=SOLVER_LIBRARIES)
def milp(instance: Instance, run: Run, levels: int = 2) -> Claim:
    """Integer program: first the jobs launched, then, held at its optimum, the reduction.

    Exact because solutions of the model and of the instance correspond (models/elastic.md) and
    branch and bound searches all of them except those with choices that some optimum does not use
    (`needless`). The certified bound comes from the relaxation's duals. If the granularity
    of the reductions is below a billionth of the largest one, the solver's tolerances can leave a
    gap of about 1e-9, which is stated; `dp` leaves none.

    Parameters
    ----------
    levels
        1 to stop after the jobs launched.
    """
    # A start that uses such a choice is not a point of the reduced model.
    whole = isinstance(run.start, Solution) and uses(instance, run.start, needless(instance))
    return solve_levels(instance, run, model if whole else Reduced, levels)


@method("elastic", kind="exact", preload=LP_LIBRARIES, begins_with="lp")
def dp(instance: Instance, run: Run, memory_gib: float = TUNABLES.memory_gib) -> Claim:
    """Dynamic program over the GPUs, after Lagrangian fixing where the table would be large.

    Exact because a row of the table holds the lexicographic optimum for every number of GPUs, and
    an item is left out only if the multipliers prove, in integers, that no allocation with it beats
    the incumbent. The finished table is certified by checking its inequalities. With two pools the
    table is over the GPUs of both.

    Parameters
    ----------
    memory_gib
        Largest table; if more is needed, the incumbent and the relaxation's bound are returned.
    """
    if memory_gib < 0:
        raise OptionError(f"memory_gib={memory_gib} must be from 0")
    run.announce(Stage.BUILDING, f"the knapsack of {instance.name}")
    search = KnapsackSearch(items_of(instance), run, replace(TUNABLES, memory_gib=memory_gib))
    items, best = search.items, search.best
    run.announce(Stage.SEARCHING, f"a table of {len(items.starts):,} jobs over the GPUs")
    best.begin(lambda: [], lambda solution: items.within(instance, solution))
    search.solve()
    assert best.solution is not None
    return Claim(
        solution=items.solution(instance, best.solution),
        status=search.status,
        termination=search.termination,
        reason=search.reason,
        objective=[search.launched, items.seconds(search.value)],
        bounds=search.bounds,
        start=best.start,
    )


@method("elastic", kind="bound", preload=LP_LIBRARIES)
def lp(instance: Instance, run: Run) -> Claim:
    """Hull relaxation without an LP solver: two multipliers, evaluated in integers.

    Level 1 is exact: the smallest base demands fit up to L* jobs, and no L* + 1 of them do.
    Level 2 is the value of the linear relaxation, rounded down to the granularity of the
    reductions.

    With two pools the multipliers are duals of a linear program, and level 1 is a bound: workers of
    jobs that can use the loan pool may be in any pool.
    """
    items = items_of(instance)
    launches = launches_of(items)
    relaxation = relax(items, len(launches.chosen), launches.most, run)
    bounds = [[launch_bound(items, launches.most)], [reduction_bound(items, relaxation)]]
    return Claim(status=Status.NO_SOLUTION, bounds=bounds)


Key: TypeAlias = tuple[str | int, ...]
"""A job, and its workers: of an instance with pools those in training and on loan."""


def needless(instance: Instance) -> set[Key]:
    """Return keys of the model's variables such that an optimum exists that uses none of them.

    These are choices that do not fit or that another one of the job dominates: with no more GPUs of
    any capacity it saves no less. Without them a solver's tolerances cannot add to its bound: if
    nothing can be saved, the bound is 0.
    """
    kept = {(choice.job, *choice.workers) for choice in undominated(instance)}
    return {
        (job.id, *workers)
        for j, job in enumerate(instance.jobs)
        for workers in splits(instance, job)
        if (j, *workers) not in kept and workers != held_by(instance, job)
    }


class Reduced:
    """The model with needless choices fixed at 0, as `solve_levels` takes it."""

    read = staticmethod(model.read)
    assign = staticmethod(model.assign)

    @staticmethod
    def build(instance: Instance) -> Any:
        """Return the Pyomo model; its sets are the instance's, as on the card."""
        m = model.build(instance)
        for key in needless(instance):
            m.x[key].setub(0)
        return m


def uses(instance: Instance, solution: Solution, keys: set[Key]) -> bool:
    """Whether a solution uses one of these choices."""
    return any((job.id, *workers_of(instance, solution, job)) in keys for job in instance.jobs)
