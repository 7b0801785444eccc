"""The exact method that solves the model with every server."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from dlsched.errors import SolverFailure
from dlsched.problems.sensitivity import model
from dlsched.problems.sensitivity.definition.check import check, evaluate
from dlsched.problems.sensitivity.definition.schema import Instance, Solution
from dlsched.problems.sensitivity.exact.bounds import precision_reason
from dlsched.problems.sensitivity.heuristics.price_round import price_round
from dlsched.problems.sensitivity.programs.pooled import split_bound
from dlsched.registry.own import method
from dlsched.results.objective import TOLERANCE, Bound, relative_gap
from dlsched.results.result import Claim, Status, Termination
from dlsched.run import Run
from dlsched.solvers.levels import SOLVER_LIBRARIES, solve_levels
from dlsched.solvers.single_level import ModelModule

_OVERLOADED = "CPUs or memory have too many digits for the solver: its point overloads a server"


@method("sensitivity", kind="exact", preload=SOLVER_LIBRARIES)
def milp(instance: Instance, run: Run, levels: int = 2) -> Claim:
    """Integer program: every job's choice and its GPUs on every server, level by level.

    Exact because the model's solutions are the instance's except those with dominated choices,
    which no optimum needs (models/sensitivity.md). For few servers, as they are identical. It
    begins from the solution of `price_round`. Where CPUs or memory have more digits than a
    solver's tolerances allow, the model's capacities are rounded so that no solution is lost; a
    point that overloads a server is not returned, and nothing is called optimal then.

    Parameters
    ----------
    levels
        1 to stop after the throughput.
    """
    model.validate_size(instance)
    first = run.known or price_round(instance, run.nested()).solution
    return solve_model(instance, run, first if isinstance(first, Solution) else None, levels)


def solve_model(
    instance: Instance,
    run: Run,
    first: Solution | None,
    levels: int | None = None,
    module: ModelModule[Instance] = model,
) -> Claim:
    """Solve a model from a first solution; what it returns is within exact capacities."""
    given = [s for s in (first, run.start) if isinstance(s, Solution)]
    best = _best_of(instance, given)
    try:
        claim = solve_levels(instance, run, module, levels, first=first)
    except SolverFailure as error:
        if best is None:
            return Claim(status=Status.NO_SOLUTION, reason=str(error))
        return Claim(best, Status.FEASIBLE, str(error), termination=Termination.UNDECIDED)
    return _checked(instance, claim, best)


def _best_of(instance: Instance, solutions: list[Solution]) -> Solution | None:
    """Return the best of the solutions that are feasible."""
    best: Solution | None = None
    for solution in solutions:
        if check(instance, solution).feasible:
            value = evaluate(instance, solution.allocation)
            if best is None or value.better_than(evaluate(instance, best.allocation)):
                best = solution
    return best


def _checked(instance: Instance, claim: Claim, best: Solution | None) -> Claim:
    """Return a claim of the solver, without what exact arithmetic does not confirm."""
    solution = claim.solution
    if not isinstance(solution, Solution):
        return claim
    bounds = [list(level) for level in claim.bounds]
    if not check(instance, solution).feasible:
        return _held_back(instance, best, bounds, _OVERLOADED)
    value = evaluate(instance, solution.allocation)
    if best is not None and evaluate(instance, best.allocation).better_than(value):
        return _held_back(instance, best, bounds, Termination.TOLERANCES.sentence)
    least = min((Fraction(bound.value) for bound in bounds[0]), default=None)
    claim = replace(claim, objective=tuple(value)[: len(claim.objective or ())])
    if claim.status is Status.OPTIMAL and least is not None and not claim.reason:
        gap = relative_gap(value[0], least)
        if 0 < gap <= TOLERANCE:
            return replace(claim, reason=precision_reason(gap))
    return claim


def _held_back(
    instance: Instance, best: Solution | None, bounds: list[list[Bound]], reason: str
) -> Claim:
    """Return the best solution known and the bounds on the throughput, without a proof."""
    first = bounds[0] if bounds else []
    if best is not None:
        value = evaluate(instance, best.allocation)[0]
        first = [bound for bound in first if bound.kind != "claimed" or bound.value >= value]
    return Claim(
        solution=best,
        status=Status.NO_SOLUTION if best is None else Status.FEASIBLE,
        reason=reason,
        termination=Termination.TOLERANCES,
        bounds=[first, [split_bound(instance)]],
    )
