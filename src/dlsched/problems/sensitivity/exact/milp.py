"""The exact method that solves the model with every server."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TypeAlias

from dlsched.errors import SolverFailure
from dlsched.problems.sensitivity import model
from dlsched.problems.sensitivity.definition.check import value_of
from dlsched.problems.sensitivity.definition.schema import Instance, Solution
from dlsched.problems.sensitivity.exact.bounds import precision_reason
from dlsched.problems.sensitivity.heuristics.price_round import price_round
from dlsched.problems.sensitivity.programs.pooled import split_bound
from dlsched.registry.own import method
from dlsched.results.objective import TOLERANCE, Bound, ByLevel, relative_gap
from dlsched.results.result import Claim, Status, Termination
from dlsched.run import Run
from dlsched.schema import Number
from dlsched.solvers.incumbent import Incumbent
from dlsched.solvers.levels import SOLVER_LIBRARIES, solve_levels
from dlsched.solvers.single_level import ModelModule

Best: TypeAlias = Incumbent[Solution, ByLevel[Number]]
"""The best solution known; points show its throughput."""
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
    best = incumbent(run.nested(), partial(value_of, instance))
    for solution in (first, run.start):
        if isinstance(solution, Solution):
            best.offer(solution)
    try:
        claim = solve_levels(instance, run, module, levels, first=first)
    except SolverFailure as error:
        if best.solution is None:
            return Claim(status=Status.NO_SOLUTION, reason=str(error))
        return Claim(best.solution, Status.FEASIBLE, str(error), termination=Termination.UNDECIDED)
    return _checked(instance, claim, best)


def incumbent(run: Run, worth: Callable[[Solution], ByLevel[Number] | None]) -> Best:
    """Return the incumbent of a search, which has none yet."""
    return Incumbent(run, worth, ByLevel.better_than, lambda value: float(value[0]))


def _checked(instance: Instance, claim: Claim, best: Best) -> Claim:
    """Return a claim of the solver, without what exact arithmetic does not confirm."""
    solution = claim.solution
    if not isinstance(solution, Solution):
        return claim
    bounds = [list(level) for level in claim.bounds]
    value = value_of(instance, solution)
    if value is None:
        return _held_back(instance, best, bounds, _OVERLOADED)
    if best.value is not None and best.value.better_than(value):
        return _held_back(instance, best, bounds, Termination.TOLERANCES.sentence)
    least = min((Fraction(bound.value) for bound in bounds[0]), default=None)
    claim = replace(claim, objective=tuple(value)[: len(claim.objective or ())])
    if claim.status is Status.OPTIMAL and least is not None and not claim.reason:
        gap = relative_gap(value[0], least)
        if 0 < gap <= TOLERANCE:
            return replace(claim, reason=precision_reason(gap))
    return claim


def _held_back(instance: Instance, best: Best, bounds: list[list[Bound]], reason: str) -> Claim:
    """Return the best solution known and the bounds on the throughput, without a proof."""
    first = bounds[0] if bounds else []
    if best.value is not None:
        value = best.value[0]
        first = [bound for bound in first if bound.kind != "claimed" or bound.value >= value]
    return Claim(
        solution=best.solution,
        status=Status.NO_SOLUTION if best.solution is None else Status.FEASIBLE,
        reason=reason,
        termination=Termination.TOLERANCES,
        bounds=[first, [split_bound(instance)]],
    )
