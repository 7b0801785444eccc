"""One call of a method: limits, start, claim, and the check of the claim; bounds."""

from __future__ import annotations

import logging
import numbers
import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeGuard

from dlsched import registry
from dlsched.api.checking import certified, contested
from dlsched.api.evaluation import evaluate_claim, remembering
from dlsched.api.loading import InstanceLike, SolutionLike, load, load_solution
from dlsched.api.starting import (
    add_bounds,
    begin_from,
    bounds_of,
    joined,
    no_worse,
    proved,
    solutions_of,
    stages_of,
)
from dlsched.errors import DlschedError, OptionError, describe, spelled
from dlsched.registry import Kind, Method, MethodLike, Problem
from dlsched.registry.methods import Options
from dlsched.registry.option_types import validate_types
from dlsched.results.claims import read_claim
from dlsched.results.objective import Bounds
from dlsched.results.result import Claim, Point, Result, Start, Status, Termination
from dlsched.run import Run, Stage, StageListener, announce, is_usable
from dlsched.schema.envelope import Instance
from dlsched.schema.solution import Solution
from dlsched.solvers.backend import require_known
from dlsched.solvers.division import Division
from dlsched.variants import VariantLike, VariantProblem, owner_of

logger = logging.getLogger(__name__)


def solve(
    instance: InstanceLike,
    method: MethodLike = "exact",
    *,
    time_limit: float | None = None,
    gap: float = 0.0,
    threads: int = 1,
    seed: int = 0,
    solver: str = "highs",
    solver_options: Mapping[str, Any] | None = None,
    start: SolutionLike | None = None,
    variant: VariantLike = None,
    log: bool = False,
    certify: bool = False,
    on_progress: Callable[[Point], None] | None = None,
    on_stage: StageListener | None = None,
    **method_options: Any,
) -> Result:
    """Solve an instance and have the answer checked.

    Parameters
    ----------
    method
        Name of a method, ``module:function``, or any callable ``f(instance, rng) -> Solution``.
        ``"exact"`` is the best exact method for the instance.
    time_limit
        Wall-clock seconds for everything, or ``None``. A limit that strikes never raises: the
        status says whether there is a solution, the bound what holds.
    gap
        Relative gap at which a proof is good enough.
    threads, seed
        The same seed, by default 0, gives the same answer on one thread. More threads than the
        machine has are not used.
    solver
        ``"highs"`` or any solver that Pyomo knows, for methods that build a model. A warning is
        logged if the method passed no model to another one than ``"highs"``.
    solver_options
        Options of that solver by its own names, as ``{"MIPFocus": 1}`` for Gurobi, passed to it
        after the limits. A warning is logged if the method passed no model to it.
    start
        A solution to start from; the result's ``start`` says whether it was used.
    variant
        A change of the problem, which is then solved instead. The methods are ``"exact"`` and
        ``"relaxation"`` on the whole model, and heuristics, which know nothing of it: a solution
        that violates it is no answer, and the reason says what it violates.
    log
        Let the solver write to the terminal.
    certify
        Prove an optimal solution optimal, or that there is none, in what is left of the time limit,
        and check the proof: the result's ``proof``, whose kinds its bounds then have. Without one
        its reason says why. What another package's method claims without a proof is compared with
        the exact method's solution, and ends as refuted if that is better.
    on_progress
        Called with each `Point` (seconds, objective, bound).
    on_stage
        Called with each `StageEvent` (stage, detail): loading, compiling, building, searching,
        checking. Stages and points are also logged by the logger ``dlsched``.
    **method_options
        Options of the method; see `methods`.

    Raises
    ------
    InstanceError
        If instance or start cannot be used.
    UnknownName, OptionError, SolverMissing
        If there is no such method, option or solver.
    SolverDisagreement
        If the checker does not confirm what the method claims.
    """
    if not isinstance(instance, Instance):
        announce(on_stage, Stage.LOADING, "the instance")
    inst = load(instance)
    owner = owner_of(inst, variant)
    chosen = owner.resolve(method, inst)
    chosen.validate_options(method_options)
    validate_limits(time_limit, gap, threads, solver)
    validate_types(solve, {"log": log, "certify": certify})
    for needed in (chosen, *stages_of(owner, chosen, inst, time_limit).first):
        needed.load(on_stage)
    cores = os.cpu_count() or 1
    if threads > cores:
        logger.info("%d threads instead of %d: there are no more cores", cores, threads)
    run = Run(
        time_limit,
        gap,
        min(threads, cores),
        seed,
        solver,
        log=log,
        on_progress=on_progress,
        on_stage=on_stage,
        check=remembering(owner.check),
        solver_options=dict(solver_options or {}),
    )
    run.start, rejected = _start(owner, inst, start)
    why = owner.explain(inst)
    if why:
        claim = Claim(None, Status.INFEASIBLE, why, termination=Termination.INFEASIBLE)
    elif chosen.wants_run:
        with run.interruptible():
            claim = _started(owner, chosen, inst, run, method_options)
    else:
        claim = registry.call(chosen, inst, run, method_options)
    if isinstance(owner, VariantProblem):
        claim = owner.admit(claim, chosen, inst)
    trusted = chosen.own or bool(why)
    if run.solver_options:
        method_options = {**method_options, "solver_options": dict(run.solver_options)}
    _warn_of_unused(chosen.name, run)
    result = evaluate_claim(owner, inst, chosen, claim, run, method_options, trusted=trusted)
    if start is not None and result.start is None:
        reason = rejected or f"{chosen.name} takes no start"
        result = result.replaced(start=Start(False, reason))
    if result.start is not None and not result.start.accepted:
        logger.warning("the start is not used: %s", result.start.reason)
    if not certify:
        return result
    result = certified(result, inst, run, owner)
    rival = owner.method("exact", inst)
    claimed = (
        owner.label is None
        and result.termination is Termination.CLAIMED
        and rival.function is not chosen.function
    )
    return _contested(result, rival, inst, run) if claimed and not run.stop_reason() else result


def _warn_of_unused(name: str, run: Run) -> None:
    """Log a warning if a method used no solver that was named, or not its options."""
    unused = []
    if run.solver != "highs" and run.solver not in run.solvers:
        unused.append("solver is not used")
    if run.solver_options and not run.options_used:
        unused.append("solver_options are not used")
    if unused:
        logger.warning("%s passed no model to %s: %s", name, run.solver, ", ".join(unused))


def _started(
    owner: Problem, chosen: Method, instance: Instance, run: Run, options: Options
) -> Claim:
    """Call a method; the exact one of a problem returns nothing worse than the heuristics do.

    Where one of these has proved its solution optimal, and nothing else is asked for, that is it.
    """
    stages = stages_of(owner, chosen, instance, run.time_limit)
    division = Division(run)
    known = begin_from(solutions_of(stages.before, owner, instance, run, division), run)
    claim = None if options or run.start is not None else proved(known, chosen, run)
    if claim is not None:
        return claim
    bounds = bounds_of(stages.bound_before, instance, run, division)
    add_bounds([[b for b in level if b.kind == "certified"] for level in bounds], run)
    with division.search(heuristics_follow=bool(stages.after)):
        claim = registry.call(chosen, instance, run, options)
    claim = no_worse(claim, known, owner, chosen, instance, run)
    decided = claim.status in (Status.OPTIMAL, Status.INFEASIBLE, Status.UNBOUNDED)
    if decided or claim.termination is Termination.LEVELS_DONE:
        return claim
    try:
        with run.paused():
            for later in stages.last:
                later.load(run.on_stage)
        if stages.bound_after is not None and not run.interrupted:
            bounds = bounds_of(stages.bound_after, instance, run, division)
        found = solutions_of(stages.after, owner, instance, run, division)
    except KeyboardInterrupt:  # the solution that is there must not be lost
        return claim
    if bounds:
        claim = read_claim(claim, chosen.name)
        claim = replace(claim, bounds=joined(owner.levels, claim.bounds, bounds))
    return no_worse(claim, found[-1] if found else None, owner, chosen, instance, run)


def _contested(result: Result, rival: Method, instance: Instance, run: Run) -> Result:
    """Return a claimed result, refuted if an exact method finds better in what is left of the time.

    Whatever goes wrong there, the claim stays what it was.
    """
    limit = None if run.time_limit is None else run.remaining()
    try:
        rival_result = solve(instance, rival, time_limit=limit, threads=run.threads, seed=run.seed)
    except (DlschedError, MemoryError, KeyboardInterrupt) as error:
        logger.warning("the claim of %s is not compared: %s", result.method, describe(error))
        return result
    seconds = result.seconds._replace(total=run.elapsed())
    return contested(result, rival_result).replaced(seconds=seconds)


def bound(
    instance: InstanceLike,
    method: MethodLike | None = None,
    *,
    variant: VariantLike = None,
    **solve_options: Any,
) -> Bounds:
    """Return a bound per level, each certified or claimed.

    Parameters
    ----------
    method
        A bound or exact method; by default the problem's own bound method.

    Raises
    ------
    OptionError
        If the method is a heuristic, which proves nothing.
    """
    inst = load(instance)
    owner = owner_of(inst, variant)
    chosen = owner.resolve(method or owner.bound, inst)
    if chosen.kind in (Kind.HEURISTIC, Kind.BASELINE):
        raise OptionError(f"{chosen.name} is a {chosen.kind}: it proves no bound")
    name = chosen if variant is None else chosen.name
    return solve(inst, name, variant=variant, **solve_options).bound


def validate_limits(time_limit: object, gap: object, threads: Any, solver: object) -> None:
    """Raise OptionError if a limit has a wrong type or value, or `solver` is no solver's name."""
    if time_limit is not None and not (_is_number(time_limit) and time_limit > 0):
        raise OptionError(f"time_limit={spelled(time_limit)} must be above 0 seconds, or None")
    if not (_is_number(gap) and 0 <= gap < 1):
        raise OptionError(f"gap={spelled(gap)} must be a fraction from 0 to below 1")
    whole = isinstance(threads, numbers.Integral) and not isinstance(threads, bool)
    if not (whole and 1 <= threads < 2**31):
        raise OptionError(f"threads={spelled(threads)} must be at least 1, and a whole number")
    if not isinstance(solver, str):
        raise OptionError(f"solver={spelled(solver)} must be a solver's name, as highs")
    require_known(solver)
    if time_limit is not None and time_limit > 1e9:
        warnings.warn("a time limit beyond 30 years is no limit", stacklevel=3)


def _start(
    owner: Problem, inst: Instance, start: SolutionLike | None
) -> tuple[Solution | None, str]:
    """Return the start if the checker accepts it, else why not."""
    if start is None:
        return None, ""
    given = load_solution(start, inst.problem)
    # A start may be of another version of the instance: only its feasibility matters.
    solution = given.model_copy(update={"instance_sha256": inst.sha256, "credit": None})
    report = owner.check(inst, solution)
    if report.feasible:
        return solution, ""
    first = report.violations[0]
    return None, f"rejected by the checker: {first.where}: {first.message}"


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and is_usable(value)
