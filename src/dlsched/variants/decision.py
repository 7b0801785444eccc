"""How a variant's whole model is decided: by a solver in doubles, or exactly if it is small.

A solver takes what differs by its tolerances for the same. Where a row has terms that it may leave
out, where its answer is refuted by the check, and where it finds no solution, the answer is that of
the program in fractions. Where that is too large, nothing is claimed that rests on tolerances.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

from dlsched.errors import SolverDisagreement, SolverFailure
from dlsched.results.objective import (
    SLACK,
    SOLVER_PRECISION,
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
from dlsched.solvers.precision import BEYOND_PRECISION, undecided_level, undecided_row
from dlsched.solvers.standard_form import compile_model
from dlsched.variants.exact_whole import solve_in_fractions
from dlsched.variants.problem import ChangedProblem


def decide(problem: ChangedProblem, instance: Instance, run: Run) -> Claim:
    """Return the optimum of a variant by its whole model, or what is known of it."""
    change = problem.model.change(instance)
    form = compile_model(change.model)
    wide = undecided_row(form, change.model.ROW_SCALES) or undecided_level(form)
    exactly = solve_in_fractions(problem, instance, run, run.known) if wide else None
    if exactly is not None:
        return exactly
    try:
        claim = solve_levels(instance, run, problem.model, earlier=problem.earlier)
    except (SolverDisagreement, SolverFailure) as error:
        reason = f"{BEYOND_PRECISION}: {error}"
        claim = Claim(status=Status.NO_SOLUTION, reason=reason, termination=Termination.TOLERANCES)
    solution = claim.solution
    objective = None if solution is None else problem.check(instance, solution).objective
    reason = ""
    refuted = None if objective is None else _refuted(claim, objective)
    if refuted is not None:
        reason = f"{BEYOND_PRECISION}: the check refutes what the solver states"
        bounds = [
            [bound for bound in level if i < refuted or bound.kind == "certified"]
            for i, level in enumerate(claim.bounds)
        ]
        claim = replace(claim, objective=None, bounds=bounds)
    elif objective is not None and claim.status is Status.OPTIMAL:
        continuous = change.model.UNITS.keys()
        chosen = {n for n, e in change.levels.items() if not continuous.isdisjoint(e.terms)}
        gap = _gap_of(chosen, claim, objective)
        if gap > run.gap + SOLVER_PRECISION:
            reason = f"{run.solver}'s tolerances leave a gap of {gap:.3g}"
    if reason:
        ended = Termination.TOLERANCES
        claim = replace(claim, status=Status.FEASIBLE, reason=reason, termination=ended)
    if not wide and (claim.status is Status.INFEASIBLE or claim.termination in _UNDECIDED):
        proved = [] if objective is None else _proved(claim, objective)
        exactly = solve_in_fractions(problem, instance, run, claim.solution, proved)
        if exactly is not None and exactly.status is not claim.status:
            before = claim.bounds[: len(proved)]
            return replace(exactly, bounds=[*before, *exactly.bounds[len(proved) :]])
    return claim


def _proved(claim: Claim, objective: Objective) -> list[Number]:
    """Return the values of the first levels that are at their bounds."""
    proved = []
    for value, bounds in zip(objective, claim.bounds, strict=False):
        if not any(value == bound.value for bound in bounds):
            break
        proved.append(value)
    return proved


_UNDECIDED = (Termination.TOLERANCES, Termination.UNDECIDED)


def _refuted(claim: Claim, objective: Objective) -> int | None:
    """Return the first level whose value the check finds another than a solver, or beyond a bound.

    ``None`` if there is none.
    """
    stated = [*(claim.objective or ()), *objective][: len(objective)]
    attained = True
    for i, (level, value) in enumerate(objective.pairs()):
        bounds = claim.bounds[i] if i < len(claim.bounds) else ()
        claimed = [bound for bound in bounds if bound.kind == "claimed"]
        beaten = attained and any(_beaten(level, value, bound) for bound in claimed)
        if beaten or relative_gap(value, stated[i]) > TOLERANCE:
            return i
        attained = attained and any(at_bound(value, bound) for bound in bounds)
    return None


def _gap_of(levels: Container[str], claim: Claim, objective: Objective) -> float:
    """Return the largest gap to its bounds that one of some levels has."""
    gaps = [
        min((relative_gap(value, bound.value) for bound in bounds), default=1.0)
        for (level, value), bounds in zip(objective.pairs(), claim.bounds, strict=False)
        if level.name in levels
    ]
    return max(gaps, default=0.0)


def _beaten(level: Level, value: Number, bound: Bound) -> bool:
    beaten = relative_gap(value, bound.value) > SLACK[bound.kind]
    return beaten and level.better(value, bound.value)
