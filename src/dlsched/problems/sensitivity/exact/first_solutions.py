"""What an exact method begins from: the best solution of every heuristic of the problem."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from dlsched.problems.sensitivity.definition.check import check, evaluate
from dlsched.problems.sensitivity.definition.schema import Instance, Solution
from dlsched.problems.sensitivity.heuristics import QUICK
from dlsched.problems.sensitivity.heuristics.balance import balanced
from dlsched.problems.sensitivity.heuristics.price_round import Rounding
from dlsched.problems.sensitivity.structures.server_patterns import TooManyStates
from dlsched.results.objective import Bound
from dlsched.results.result import Claim
from dlsched.run import Run

_NEAR = 1e-3
"""Relative gap of `price_round` at which no other heuristics are tried with many jobs."""
_MANY_JOBS = 100


class First(NamedTuple):
    """Solutions of heuristics, and the bounds on the throughput that come with them."""

    solutions: list[Solution]
    bounds: list[Bound]


def first_solutions(instance: Instance, run: Run) -> First:
    """Return what `balance`, `price_round` and the heuristics without a solver find.

    With many jobs the others take longer than `price_round`, and are left out if that is near its
    bound or a limit strikes; `balance` comes first under a limit, as `price_round` may use it up.
    """
    nested = run.nested()
    many = len(instance.jobs) > _MANY_JOBS
    found: list[Solution | None] = []
    bounds: list[Bound] = []
    if not many or run.time_limit is not None:
        found.append(balanced(instance, nested))
    with contextlib.suppress(TooManyStates):  # `balanced` has another way
        rounded = Rounding(instance, nested).best()
        bounds += rounded.bounds
        found.append(rounded.solution)
    if many and not _near(instance, found, bounds):
        found.append(balanced(instance, nested))
    if not many or not _near(instance, found, bounds):
        for heuristic in QUICK:
            if many and run.stop_reason():
                break
            found.append(solution_in(heuristic(instance)))
    return First([solution for solution in found if solution is not None], bounds)


def solution_in(claim: Claim) -> Solution | None:
    """Return the solution of a claim."""
    return claim.solution if isinstance(claim.solution, Solution) else None


def best_of(instance: Instance, solutions: list[Solution]) -> Solution | None:
    """Return the best of the solutions that are feasible."""
    feasible = [solution for solution in solutions if check(instance, solution).feasible]
    best: Solution | None = None
    for solution in feasible:
        value = evaluate(instance, solution.allocation)
        if best is None or value.better_than(evaluate(instance, best.allocation)):
            best = solution
    return best


def _near(
    instance: Instance, solutions: Sequence[Solution | None], bounds: Sequence[Bound]
) -> bool:
    """Whether a solution is near the bound."""
    values = [evaluate(instance, s.allocation)[0] for s in solutions if s is not None]
    if not values or not bounds:
        return False
    least = min(Fraction(bound.value) for bound in bounds)
    return least - max(values) <= Fraction(_NEAR) * least
