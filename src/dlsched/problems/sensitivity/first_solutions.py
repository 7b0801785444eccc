"""What an exact method begins from: the best solution of every heuristic of the problem."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from dlsched.objective import Bound
from dlsched.problems.sensitivity.balance import balanced
from dlsched.problems.sensitivity.check import check, evaluate
from dlsched.problems.sensitivity.heuristics import QUICK
from dlsched.problems.sensitivity.packing import TooManyStates
from dlsched.problems.sensitivity.price_round import Rounding
from dlsched.problems.sensitivity.schema import Instance, Solution
from dlsched.run import Run

_NEAR = 1e-3
"""Relative gap of `price_round` at which no other heuristics are tried with many jobs."""
_MANY_JOBS = 100


class First(NamedTuple):
    """Solutions of heuristics, and the bounds on the throughput that come with them."""

    solutions: list[Solution]
    bounds: list[Bound]


def first_solutions(instance: Instance, run: Run) -> First:
    """Return what `price_round`, `balance` and the heuristics without a solver find.

    With many jobs the latter take longer than the former, and are left out if `price_round` is
    near its bound.
    """
    nested = run.nested()
    solutions: list[Solution | None] = []
    bounds: list[Bound] = []
    try:
        rounded = Rounding(instance, nested).best()
        solutions.append(rounded.solution)
        bounds += rounded.bounds
    except TooManyStates:
        pass  # `balanced` has another way
    solutions.append(balanced(instance, nested))
    found = [solution for solution in solutions if solution is not None]
    if len(instance.jobs) > _MANY_JOBS and _near(instance, found, bounds):
        return First(found, bounds)
    for heuristic in QUICK:
        solution = heuristic(instance).solution
        if isinstance(solution, Solution):
            found.append(solution)
    return First(found, bounds)


def best_of(instance: Instance, solutions: list[Solution]) -> Solution | None:
    """Return the best of the solutions that are feasible."""
    feasible = [solution for solution in solutions if check(instance, solution).feasible]
    best: Solution | None = None
    for solution in feasible:
        value = evaluate(instance, solution.allocation)
        if best is None or value.better_than(evaluate(instance, best.allocation)):
            best = solution
    return best


def _near(instance: Instance, solutions: list[Solution], bounds: list[Bound]) -> bool:
    """Whether a solution is near the bound."""
    values = [evaluate(instance, solution.allocation)[0] for solution in solutions]
    if not values or not bounds:
        return False
    least = min(Fraction(bound.value) for bound in bounds)
    return least - max(values) <= Fraction(_NEAR) * least
