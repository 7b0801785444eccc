"""How a variant's whole model is decided: by a solver in doubles, or exactly if it is small.

A solver takes what differs by its tolerances for the same. Where a row has terms that it may leave
out, where its answer is refuted by the check, and where it finds no solution, the answer is that of
the program in fractions. Where that is too large, nothing is claimed that rests on tolerances.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from dlsched.errors import SolverDisagreement, SolverFailure
from dlsched.results.objective import (
    SLACK,
    TOLERANCE,
    Bound,
    Level,
    Objective,
    at_bound,
    relative_gap,
)
from dlsched.results.result import Claim, Status, Termination
from dlsched.run import Run
from dlsched.schema import Number
from dlsched.schema.envelope import Instance
from dlsched.solvers.levels import solve_levels
from dlsched.solvers.precision import BEYOND_PRECISION, undecided_row
from dlsched.solvers.standard_form import compile_model
from dlsched.variants.exact_whole import solve_exactly

if TYPE_CHECKING:
    from dlsched.variants.problem import VariantProblem


def decide(problem: VariantProblem, instance: Instance, run: Run) -> Claim:
    """Return the optimum of a variant by its whole model, or what is known of it."""
    change = problem.model.change(instance)
    read = partial(problem.model.read, instance, change.model)
    check = partial(problem.check, instance)
    wide = undecided_row(compile_model(change.model), change.model.ROW_SCALES) is not None
    exactly = solve_exactly(change, run, read, check) if wide else None
    if exactly is not None:
        return exactly
    try:
        claim = solve_levels(instance, run, problem.model, earlier=problem.earlier)
    except (SolverDisagreement, SolverFailure) as error:
        reason = f"{BEYOND_PRECISION}: {error}"
        claim = Claim(status=Status.NO_SOLUTION, reason=reason, termination=Termination.TOLERANCES)
    objective = None if claim.solution is None else check(claim.solution).objective
    refuted = objective is not None and _refuted(claim, objective)
    doubtful = refuted or claim.status is Status.INFEASIBLE or claim.termination in _UNDECIDED
    if doubtful and not wide:
        exactly = solve_exactly(change, run, read, check)
    if exactly is not None:
        return exactly
    return _without_tolerances(claim) if refuted else claim


_UNDECIDED = (Termination.TOLERANCES, Termination.UNDECIDED)


def _refuted(claim: Claim, objective: Objective) -> bool:
    """Whether the check finds other values than a solver, or better ones than its bound."""
    stated = claim.objective or ()
    pairs = zip(objective, stated, strict=False)
    if any(relative_gap(value, other) > TOLERANCE for value, other in pairs):
        return True
    for (level, value), bounds in zip(objective.pairs(), claim.bounds, strict=False):
        claimed = [bound for bound in bounds if bound.kind == "claimed"]
        if any(_beaten(level, value, bound) for bound in claimed):
            return True
        if not any(at_bound(value, bound) for bound in bounds):
            return False
    return False


def _beaten(level: Level, value: Number, bound: Bound) -> bool:
    beaten = relative_gap(value, bound.value) > SLACK[bound.kind]
    return beaten and level.better(value, bound.value)


def _without_tolerances(claim: Claim) -> Claim:
    """Return a claim without what rests on a solver's tolerances, which the check refutes."""
    reason = f"{BEYOND_PRECISION}: the check refutes what the solver states"
    bounds = [[bound for bound in level if bound.kind == "certified"] for level in claim.bounds]
    return replace(
        claim,
        status=Status.FEASIBLE,
        reason=reason,
        termination=Termination.TOLERANCES,
        objective=None,
        bounds=bounds,
    )
