"""An exact method begins from the best plan known, and returns nothing worse than it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from dlsched.problems.dispatch.definition.check import evaluate
from dlsched.problems.dispatch.definition.schema import Instance, Solution
from dlsched.problems.dispatch.heuristics import better_start, reinserted_solution
from dlsched.results.result import Claim, Status, Termination
from dlsched.run import Run
from dlsched.solvers.precision import BEYOND_PRECISION

ExactSearch: TypeAlias = Callable[[Solution], Claim]
"""A search from a feasible solution."""


def from_best(instance: Instance, run: Run, search: ExactSearch) -> Claim:
    """Return what an exact search finds, or what it begins from if that is better.

    It begins from what heuristics have found, else from the plan of `reinserted`, or from the run's
    start if that is better.
    """
    known = run.known if isinstance(run.known, Solution) else reinserted_solution(instance, run)
    best, start = better_start(instance, run, known, "the heuristics' plan")
    claim = search(best)
    claim = replace(claim, start=claim.start or start)
    if not isinstance(claim.solution, Solution):
        return replace(claim, solution=best, status=Status.FEASIBLE, objective=None)
    if not evaluate(instance, best).better_than(evaluate(instance, claim.solution)):
        return claim
    if claim.status is Status.OPTIMAL:  # of values that are equal to the solver
        claim = replace(claim, termination=Termination.TOLERANCES, reason=BEYOND_PRECISION)
    return replace(claim, solution=best, status=Status.FEASIBLE, objective=None)
