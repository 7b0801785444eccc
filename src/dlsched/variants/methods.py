"""The methods of a variant: its own, and those of the problem that serve it."""

from __future__ import annotations

from collections.abc import Callable

from dlsched.errors import OptionError
from dlsched.registry import Kind, Method
from dlsched.registry.trusted import trust
from dlsched.results.result import Claim
from dlsched.run import Run
from dlsched.schema.envelope import Instance
from dlsched.schema.solution import Solution
from dlsched.solvers.levels import SOLVER_LIBRARIES, relax_first_level
from dlsched.variants.changed_model import Change
from dlsched.variants.decision import decide
from dlsched.variants.estimated_levels import EstimatedLevels
from dlsched.variants.problem import ChangedProblem

EXACT = "whole_model"
"""The exact method of all variants."""
BOUND = "relaxation"
"""The bound method of all variants."""
COLUMNS = "columns"
"""The exact method of variants that only allow less: the problem's for large instances."""


Function = Callable[[Instance, Run], Claim]


def methods_of(problem: ChangedProblem) -> dict[str, Method]:
    """Return the variant's own methods, and the problem's heuristics and baselines."""
    base, name = problem.base, problem.name
    loops = base.methods[base.exact] if problem.refined else None
    preload = loops.preload if loops else SOLVER_LIBRARIES
    exact = Method(EXACT, name, Kind.EXACT, _whole_model(problem), preload, BOUND)
    bound = Method(BOUND, name, Kind.BOUND, _relaxation(problem), preload)
    heuristics = {
        name: method
        for name, method in base.methods.items()
        if method.kind in (Kind.HEURISTIC, Kind.BASELINE)
    }
    if not problem.variant.only_allows:
        return {EXACT: exact, BOUND: bound, **heuristics}
    whole = {EXACT: exact} if problem.model.forbidden else {}
    return {**_with_rule(problem), **whole, **heuristics}


def _whole_model(problem: ChangedProblem) -> Function:
    def whole_model(instance: Instance, run: Run) -> Claim:
        """Integer program of the problem's whole model with the variant's changes.

        Exact because every solution of the problem is a point of the whole model, and the
        variant's constraints and levels are stated there.
        """
        if problem.refined:
            return _by_estimates(problem, instance, run).solve()
        run.known = _better(problem, instance, run.known)
        return decide(problem, instance, run)

    trust(whole_model, problem.name)
    return whole_model


def _better(problem: ChangedProblem, instance: Instance, known: Solution | None) -> Solution | None:
    """Return the better one of a known solution and `first`, which may be none of the variant."""
    other = problem.first
    if other is None:
        return known
    report = problem.check(instance, other)
    if not report.feasible or report.objective is None:
        return known
    before = None if known is None else problem.check(instance, known).objective
    return other if before is None or report.objective.better_than(before) else known


def _relaxation(problem: ChangedProblem) -> Function:
    def relaxation(instance: Instance, run: Run) -> Claim:
        """Bound of the first level by the duals of the whole model's linear relaxation."""
        if problem.refined:
            return _by_estimates(problem, instance, run).bound()
        return relax_first_level(instance, run, problem.model)

    trust(relaxation, problem.name)
    return relaxation


def _by_estimates(problem: ChangedProblem, instance: Instance, run: Run) -> EstimatedLevels:
    """Return the search for variants of a problem whose model is refined."""
    exact, model = problem.base.module("exact"), problem.model

    def assign(change: Change, solution: Solution) -> None:
        model.set_values(instance, change, solution)

    return EstimatedLevels(
        problem,
        instance,
        run,
        refinable=lambda adapt, accept: exact.refinable(instance, run, adapt, accept),
        adapt=model.adapt(instance),
        read=lambda built: model.read(instance, built),
        assign=assign,
    )


def _with_rule(problem: ChangedProblem) -> dict[str, Method]:
    """Return the problem's structured methods, under the variant's rule."""
    allowed = problem.base.module("allowed")
    rule = problem.variant.rule

    def columns(instance: Instance, run: Run) -> Claim:
        try:
            claim: Claim = allowed.solve_allowed(instance, run, rule)
        except OptionError as error:
            raise problem.model.named(error) from error
        return claim

    def relaxation(instance: Instance, run: Run) -> Claim:
        claim: Claim = allowed.bound_allowed(instance, run, rule)
        return claim

    columns.__doc__ = allowed.solve_allowed.__doc__
    relaxation.__doc__ = allowed.bound_allowed.__doc__
    base = problem.base
    first = BOUND if base.methods[base.exact].begins_with == base.bound else ""
    methods = {}
    for name, kind, function, begins_with in (
        (COLUMNS, Kind.EXACT, columns, first),
        (BOUND, Kind.BOUND, relaxation, ""),
    ):
        trust(function, problem.name)
        methods[name] = Method(name, problem.name, kind, function, allowed.PRELOAD, begins_with)
    return methods
