"""Evaluation of a method's claim: the checker's verdict, bounds and gaps as a result."""

import itertools
import logging
import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from dlsched.errors import SolverDisagreement
from dlsched.registry import Kind, Method, Problem
from dlsched.registry.methods import Options
from dlsched.results.claims import read_claim
from dlsched.results.objective import (
    SLACK,
    SOLVER_PRECISION,
    TOLERANCE,
    Bound,
    ByLevel,
    at_bound,
    gap,
    relative_gap,
    strongest,
)
from dlsched.results.result import (
    Claim,
    Limits,
    Report,
    Result,
    Seconds,
    Status,
    Termination,
    default_termination,
)
from dlsched.run import Run, Stage
from dlsched.schema.envelope import Instance, link_instance
from dlsched.schema.solution import Solution

logger = logging.getLogger(__name__)

Check: TypeAlias = Callable[[Any, Any], Report]
_REPORTS = 4
"""Number of reports that are remembered: of the best heuristic solution and of the method's."""

_DECISIONS = {
    Status.OPTIMAL: (Termination.PROVED, Termination.GAP_REACHED, Termination.CLAIMED),
    Status.INFEASIBLE: (Termination.INFEASIBLE, Termination.CLAIMED),
    Status.UNBOUNDED: (Termination.UNBOUNDED, Termination.CLAIMED),
}
"""The terminations that state the same as a status; no other status may have them."""
_DECIDED = {ended for terminations in _DECISIONS.values() for ended in terminations}
_DECIDED.add(Termination.REFUTED)  # what no method says of itself


def evaluate_claim(
    problem: Problem,
    instance: Instance,
    method: Method,
    claim: Claim,
    run: Run,
    options: Options,
    *,
    trusted: bool,
) -> Result:
    """Check a claim and return the result.

    `trusted`: whether the claim is this library's own. What another's calls proved or certified is
    stated as a claim: status and bounds stay, their termination, reason and kinds say so.
    `SolverDisagreement` is raised if the solution is infeasible, its objective differs from the
    claimed one, it beats the method's own bound, or it is called optimal with a gap above the one
    asked for; or if the answer is no solution of this problem, there is one where the status
    excludes it, or status, termination, objective or bounds are not what `Claim` says.
    """
    solved = run.elapsed()
    claim = _validated(problem, method, claim)
    building = claim.build_seconds or min(run.built, solved)
    if claim.solution is not None:
        run.announce(Stage.CHECKING, f"the answer of {method.name}")
    report = _check(problem, instance, method, claim, run)
    checked = run.elapsed()
    bounds = claim.bounds
    if not trusted:  # code outside this package cannot certify a bound
        bounds = [[b._replace(kind="claimed") for b in level] for level in claim.bounds]
    bound = _strongest(problem, bounds, list(SLACK))
    certified = _strongest(problem, bounds, [kind for kind in SLACK if kind != "claimed"])
    objective = report.objective if report else None
    if objective is not None:
        bound = _reconcile(method, objective, bound)
        certified = _reconcile(method, objective, certified)
    gaps = gap(objective, bound) if objective is not None else problem.by_level([None] * len(bound))
    if claim.status is Status.OPTIMAL and not _proved(bound, gaps, run.gap):
        raise SolverDisagreement(
            f"{method.name} calls {objective} optimal, but its own bound {bound} leaves gap {gaps}"
        )
    ended = _termination(claim, method, run, gaps, trusted)
    solver = run.solver if run.solver in run.solvers else next(iter(run.solvers), None)
    limit = run.time_limit if run.time_limit is not None and run.time_limit < math.inf else None
    result = Result(
        problem=problem.name,
        instance=instance.name,
        instance_sha256=instance.sha256,
        method=method.name,
        kind=method.kind,
        status=claim.status,
        termination=ended,
        reason=_reason(claim, method, ended, trusted),
        solution=claim.solution,
        objective=objective,
        bound=bound,
        certified=certified,
        gap=gaps,
        seconds=Seconds(building, solved - building, checked - solved, run.elapsed()),
        seed=run.seed,
        options=dict(options),
        details=report.details if report else {},
        trajectory=tuple(run.trajectory),
        start=claim.start,
        solver=solver,
        solver_version=run.solvers[solver] if solver else None,
        solver_message=claim.solver_message,
        limits=Limits(limit, run.gap, run.threads),
        variant=problem.label
        and problem.label._replace(model_sha256=problem.module("model").digest(instance)),
        spent=dict(run.spent),
    )
    link_instance(result, instance)
    if claim.solution is not None:
        link_instance(claim.solution, instance)
    answer = f"{result.status} ({result.reason}), objective {objective}, bound {bound}"
    spent = f"{result.seconds.total:.2f} s"
    logger.info("%s by %s in %s: %s", instance.name, method.name, spent, answer)
    return result


def _validated(problem: Problem, method: Method, claim: Claim) -> Claim:
    """Return a claim whose fields have their types; raise if it cannot be read or is inconsistent.

    Status and termination may be plain text.
    """
    claim = read_claim(claim, method.name)
    if claim.termination in _DECIDED and claim.termination not in _DECISIONS.get(claim.status, ()):
        raise SolverDisagreement(
            f"{method.name} says {claim.status!s}, but ended with {claim.termination!s}"
        )
    solution = claim.solution
    if solution is not None and not isinstance(solution, problem.solution):
        raise SolverDisagreement(
            f"{method.name} returned {type(solution).__module__}.{type(solution).__qualname__}, "
            f"not a solution of {problem.name} ({problem.solution.__module__}.Solution)"
        )
    solved = claim.status in (Status.OPTIMAL, Status.FEASIBLE)
    if solved and solution is None:
        raise SolverDisagreement(
            f"{method.name} returned no solution; a method that found none returns "
            f"Claim(status=Status.NO_SOLUTION, reason=...)"
        )
    if not solved and solution is not None and claim.status is not Status.UNBOUNDED:
        raise SolverDisagreement(f"{method.name} claims {claim.status!s}, and returns a solution")
    return claim


def _proved(bound: ByLevel[Bound | None], gaps: ByLevel[float | None], asked: float) -> bool:
    """Whether every level has a bound, and every stated gap is within the gap asked for."""
    within = all(g is None or g <= asked + TOLERANCE for g in gaps)
    return within and gaps[0] is not None and None not in bound


def _termination(
    claim: Claim, method: Method, run: Run, gaps: ByLevel[float | None], trusted: bool
) -> Termination:
    """Return why a method ended: derived where the status decides it, or none is stated."""
    if claim.status in _DECISIONS and not trusted:
        return Termination.CLAIMED
    if claim.status is Status.OPTIMAL:
        proved = all(g is not None and g <= TOLERANCE for g in gaps)
        return Termination.PROVED if proved else Termination.GAP_REACHED
    if claim.status in _DECISIONS or claim.termination is not None:
        usual = default_termination(claim.status)
        if usual is Termination.INFEASIBLE:  # a solver's word, where the method does not prove it
            usual = Termination.CLAIMED
        return claim.termination or usual
    stopped = run.stop_reason()
    if stopped and (method.kind is Kind.EXACT or claim.solution is None):
        return stopped
    if claim.status is Status.NO_SOLUTION and method.kind is Kind.BOUND:
        return Termination.BOUND_ONLY
    return default_termination(claim.status)


def _reason(claim: Claim, method: Method, ended: Termination, trusted: bool) -> str:
    """Return why a method ended, in words; those of another's method are quoted as its own."""
    if trusted:
        said = claim.reason or ended.sentence
        return f"{ended.sentence}; {said}" if ended is Termination.CLAIMED != said else said
    said = f"{method.name} says: {claim.reason}" if claim.reason else ""
    return "; ".join(filter(None, (ended.sentence, said)))


def remembering(check: Check) -> Check:
    """Return a check that knows its last reports: several methods may return one solution."""
    known: deque[tuple[Instance, Solution, Report]] = deque(maxlen=_REPORTS)

    def remembered(instance: Instance, solution: Solution) -> Report:
        bare = solution.model_copy(update={"method": None})
        for of, before, report in known:
            if of is instance and before == bare:
                return report
        known.append((instance, bare, check(instance, solution)))
        return known[-1][2]

    return remembered


def _check(
    problem: Problem, instance: Instance, method: Method, claim: Claim, run: Run
) -> Report | None:
    if claim.solution is None:
        return None
    report = (run.check or problem.check)(instance, claim.solution)
    if not report.feasible:
        first = report.violations[0]
        raise SolverDisagreement(
            f"{method.name} returned a solution of {instance.name} with "
            f"{len(report.violations)} violations; the first: {first.where}: {first.message}"
        )
    for (level, value), claimed in zip(
        report.objective.pairs() if report.objective else (), claim.objective or (), strict=False
    ):
        if relative_gap(value, claimed) > TOLERANCE:
            raise SolverDisagreement(
                f"{method.name} claims {level.name} = {claimed}, the checker finds {value}"
            )
    return report


def _strongest(
    problem: Problem, bounds: Sequence[Sequence[Bound]], kinds: Sequence[str]
) -> ByLevel[Bound | None]:
    """Pick per level the strongest bound of the given kinds; the first kind wins ties."""
    chosen = []
    for level, stated in itertools.zip_longest(problem.levels, bounds[: len(problem.levels)]):
        chosen.append(strongest(level, [b for b in stated or () if b.kind in kinds]))
    return problem.by_level(chosen)


def _reconcile(
    method: Method, objective: ByLevel[Any], bounds: ByLevel[Bound | None]
) -> ByLevel[Bound | None]:
    """Raise if an objective beats a bound; weaken a claimed bound that differs by rounding only.

    A later level's bound holds only for solutions that attain the earlier bounds: one that is at
    them but for rounding may beat it.
    """
    result: list[Bound | None] = []
    attained = exactly = True
    for (level, value), bound in zip(objective.pairs(), bounds, strict=True):
        kept = bound
        if bound is not None and attained and level.better(value, bound.value):
            beaten = relative_gap(value, bound.value) > SLACK[bound.kind]
            if beaten and not exactly:
                break
            if beaten:
                raise SolverDisagreement(
                    f"{method.name}: {level.name} = {value} beats its bound {bound}"
                )
            # The solver's figure has at least this error, of unknown sign.
            error = max(abs(float(value - bound.value)), SOLVER_PRECISION * abs(float(value)))
            outward = error if level.sense == "max" else -error
            kept = bound._replace(value=float(value) + outward)
        result.append(kept)
        attained = attained and kept is not None and at_bound(value, kept)
        exactly = exactly and kept is not None and value == kept.value
    return ByLevel(objective.levels, [*result, *bounds[len(result) :]])
