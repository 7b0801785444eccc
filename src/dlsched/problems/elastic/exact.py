"""Exact methods for elastic: the integer program, and a dynamic program on a reduced knapsack."""

from __future__ import annotations

import time

from dlsched.problems.elastic.bounds import seconds
from dlsched.problems.elastic.knapsack import Items, items_of, solution_of
from dlsched.problems.elastic.schema import Instance, Solution
from dlsched.problems.elastic.search import Search
from dlsched.registry import method
from dlsched.result import Claim, Start
from dlsched.run import Run
from dlsched.solvers.levels import SOLVER_LIBRARIES, solve_levels


@method("elastic", kind="exact", preload=SOLVER_LIBRARIES)
def milp(instance: Instance, run: Run, levels: int = 2) -> Claim:
    """Integer program: first the jobs launched, then, held at its optimum, the reduction.

    Exact because the model's solutions are the instance's (models/elastic.md) and a branch and
    bound searches them all, but for choices that some optimum does without (`reduce.needless`); the
    certified part of the bound comes from the relaxation's duals. Where the seconds saved are no
    multiples of a unit of at least a billionth of the largest, the solver's tolerances can leave a
    gap of about 1e-9, which is stated; `dp` leaves none.

    Parameters
    ----------
    levels
        1 to stop after the jobs launched.
    """
    from dlsched.problems.elastic import model
    from dlsched.problems.elastic.reduce import Reduced, needless, uses

    # A start that makes such a choice would not be a point of the reduced model.
    start = run.start
    whole = isinstance(start, Solution) and uses(start, needless(instance))
    return solve_levels(instance, run, model if whole else Reduced, levels)


@method("elastic", kind="exact")
def dp(instance: Instance, run: Run, memory_gib: float = 2.0) -> Claim:
    """Dynamic program over the GPUs, after Lagrangian fixing where the table would be large.

    Exact because a table row holds the lexicographic optimum for every number of GPUs, and an item
    is left out only if the multipliers prove, in integers, that no allocation with it beats the
    incumbent. The table is re-checked by its inequalities, apart from the loop that filled it.

    Parameters
    ----------
    memory_gib
        Largest table; if it would not suffice, the incumbent and its bound are returned.
    """
    began = time.perf_counter()
    items = items_of(instance)
    search = Search(items, run, memory_gib)
    built = time.perf_counter() - began
    start = None
    if isinstance(run.start, Solution):
        search.offer(_items_within(instance, items, run.start))
        start = Start(True, "the first incumbent")
    search.solve()
    assert search.incumbent is not None
    return Claim(
        solution=solution_of(instance, items, search.incumbent, "dp"),
        status=search.status,
        reason=search.reason,
        objective=[search.launched, seconds(items, search.value)],
        bounds=search.bounds,
        build_seconds=built,
        start=start,
    )


def _items_within(instance: Instance, items: Items, solution: Solution) -> list[int]:
    """Return for each job its best item with no more workers than the solution gives it."""
    chosen = []
    for a, b in zip(items.starts, items.ends, strict=True):
        given = solution.workers.get(instance.jobs[items.job[a]].id, 0)
        chosen += [i for i in range(a, b) if items.workers[i] <= given][-1:]
    return chosen
