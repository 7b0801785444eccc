"""Variants in which a rule says which jobs may be on one server.

First the instance is solved without the rule, whose bound is one with it; jobs that can replace
each other then change places until the rule allows every server, and where they do, that is the
optimum. Else patterns of a server are sets of jobs, of which the rule allows some: column
generation over these, and an integer program over all that can be in a better solution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from dlsched.errors import OptionError
from dlsched.problems.sensitivity.definition.allow import Allow, require_downward, violations
from dlsched.problems.sensitivity.definition.check import check, evaluate
from dlsched.problems.sensitivity.definition.schema import Instance, Solution
from dlsched.problems.sensitivity.exact import patterns
from dlsched.problems.sensitivity.exact.bounds import pooled
from dlsched.problems.sensitivity.exact.job_columns import JobColumns
from dlsched.problems.sensitivity.heuristics.allowed_swaps import rearranged
from dlsched.problems.sensitivity.programs.allowed_rows import require_fewer_allowed
from dlsched.problems.sensitivity.structures.server_patterns import TooManyStates
from dlsched.results.objective import Bound
from dlsched.results.result import Claim, Start, Status, Termination
from dlsched.run import Run, Stage

PRELOAD = ("highspy", "scipy.sparse")
small = None
_SHARE = 0.7
"""Of the time limit for the instance without the rule."""


def solve_allowed(instance: Instance, run: Run, allow: Allow) -> Claim:
    """Whole-server patterns without the rule, then patterns of jobs with it, where it matters.

    Exact because an optimum without the rule that the rule allows is one with it; else pricing
    searches all sets of jobs on a server that the rule allows, and the integer program has every
    such set that can be in a solution better than the best one found.
    """
    limit = run.time_limit or float("inf")
    free = run.nested(_SHARE * limit, run.gap)
    free.found = list(run.found)
    free.start = run.start
    claim = patterns(instance, free)
    if claim.status is Status.INFEASIBLE or not instance.jobs:
        return claim
    run.announce(Stage.SEARCHING, "jobs change places until the rule allows every server")
    known = [*run.found, run.start, run.known]
    for solution in (claim.solution, *known):
        if isinstance(solution, Solution):
            placed = _allowed(instance, solution, allow, run)
            decided = claim.status is Status.OPTIMAL or run.stop_reason() is not None
            if placed is not None and solution is claim.solution and decided:
                require_downward(instance, placed, allow)
                start = claim.start or _accepted(run)
                return replace(claim, solution=placed, objective=None, start=start)
            known.append(placed)
    require_fewer_allowed(instance, allow)
    bounds = _valid(claim)
    try:
        columns = JobColumns(instance, run, allow, bounds)
    except TooManyStates as error:
        return _without_proof(instance, bounds, known, str(error), run)
    for solution in known:
        if isinstance(solution, Solution) and not any(violations(instance, solution, allow)):
            columns.offer(solution)
    result = columns.solve()
    if isinstance(result.solution, Solution):
        # What can be added to a server is asked with it: without it, nothing is.
        for broken in violations(instance, result.solution, allow):
            raise OptionError(
                f"{broken.message}, but it is with more; what allow allows it must allow with "
                f"fewer jobs or GPUs"
            )
        require_downward(instance, result.solution, allow)
    return replace(result, start=_accepted(run))


def bound_allowed(instance: Instance, run: Run, allow: Allow) -> Claim:
    """Bounds of stage one on all servers together, which no rule of servers raises."""
    return pooled(instance, run)


def _allowed(instance: Instance, solution: Solution, allow: Allow, run: Run) -> Solution | None:
    """Return a solution, or one with the same choices, that the rule allows; None if none."""
    if not check(instance, solution).feasible:
        return None
    if not any(violations(instance, solution, allow)):
        return solution
    return rearranged(instance, solution, allow, run.nested())


def _accepted(run: Run) -> Start | None:
    return None if run.start is None else Start(True, "the search had it")


def _valid(claim: Claim) -> list[list[Bound]]:
    """Return the bounds of a solve without the rule; that of the split jobs holds only with it."""
    bounds = [list(level) for level in claim.bounds]
    first = bounds[0] if bounds else []
    forced = [b for b in (bounds[1] if len(bounds) > 1 else []) if b.method != "highs"]
    return [first, forced[:1]]


def _without_proof(
    instance: Instance, bounds: list[list[Bound]], known: Sequence[object], reason: str, run: Run
) -> Claim:
    """Return the best solution known where the patterns of jobs cannot be searched."""
    solutions = [s for s in known if isinstance(s, Solution)]
    best = max(solutions, key=lambda s: Fraction(evaluate(instance, s.allocation)[0]), default=None)
    return Claim(
        solution=best,
        status=Status.NO_SOLUTION if best is None else Status.FEASIBLE,
        termination=run.stop_reason() or Termination.UNDECIDED,
        reason=reason,
        bounds=bounds,
    )
