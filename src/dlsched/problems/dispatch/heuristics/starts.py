"""An exact method begins from the heuristics' plans, and returns nothing worse than these."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

from dlsched.problems.dispatch import heuristics
from dlsched.problems.dispatch.definition.check import evaluate
from dlsched.problems.dispatch.definition.schema import Instance, Solution
from dlsched.problems.dispatch.heuristics.counted_plan import count
from dlsched.results.result import Claim, Start, Status, Termination
from dlsched.run import Run
from dlsched.solvers.precision import BEYOND_PRECISION

ExactSearch: TypeAlias = Callable[[Run, Solution], Claim]
"""A search within the limits of a run, from a feasible solution."""
Plan: TypeAlias = Callable[[Instance, Run, Solution], Solution]
"""A heuristic, which may begin from the best solution so far."""
_FIRST_SHARE = 0.1
"""The part of a time limit after which the heuristics are called, if nothing is proved by then."""
_QUICK = 0.01
"""If `mast` takes a larger part of the time limit, the heuristics are called before any search."""
_NO_MORE = (Termination.LEVELS_DONE, Termination.INTERRUPTED)


def improved(instance: Instance, run: Run, search: ExactSearch) -> Claim:
    """Return what an exact search finds, or a heuristic's solution if that is better.

    The search begins from the run's start or the plan of `mast`, whichever is better. If it proves
    no optimum in a tenth of the time limit, the other heuristics and the baselines are called, and
    the search begins again from the best solution in what is left.
    """
    began = run.elapsed()
    best, start = heuristics.mast_solution(instance), None
    quick = run.time_limit is None or (run.elapsed() - began) < _QUICK * run.remaining()
    if isinstance(run.start, Solution):
        better = evaluate(instance, run.start).better_than(evaluate(instance, best))
        start = Start(better, f"it is {'' if better else 'no '}better than the plan of mast")
        best = run.start if better else best
    claim = Claim(best, termination=Termination.TIME_LIMIT)
    if quick:
        limited = run.time_limit is not None
        with run.keeping((1 - _FIRST_SHARE) * run.remaining() if limited else 0.0):
            claim = search(run, best)
        best = _better(instance, claim.solution, best)
    if claim.status is Status.FEASIBLE and claim.termination not in _NO_MORE:
        for plan in (_counted, *_BASELINES):
            if plan in _BASELINES or not run.stop_reason():  # no limit stops a baseline
                best = _better(instance, best, plan(instance, run, best))
        if claim.termination is Termination.TIME_LIMIT and not run.stop_reason():
            claim = search(run, best)
            best = _better(instance, claim.solution, best)
    claim = replace(claim, start=claim.start or start)
    if best is claim.solution:
        return claim
    if claim.status is Status.OPTIMAL:  # of values that are equal to the solver
        claim = replace(claim, termination=Termination.TOLERANCES, reason=BEYOND_PRECISION)
    return replace(claim, solution=best, status=Status.FEASIBLE, objective=None)


def _counted(instance: Instance, run: Run, best: Solution) -> Solution:
    return count(instance, run.nested(), best)


def _baseline(function: Callable[[Instance, Any], Solution]) -> Plan:
    return lambda instance, run, best: function(instance, run.rng)


_BASELINES = [
    _baseline(function)
    for function in (
        heuristics.top_k,
        heuristics.federated,
        heuristics.local,
        heuristics.regional_queue,
        heuristics.global_queue,
        heuristics.regional,
    )
]


def _better(instance: Instance, first: object, second: Solution) -> Solution:
    """Return the better solution, the first of equally good ones; it may be missing."""
    if not isinstance(first, Solution):
        return second
    return second if evaluate(instance, second).better_than(evaluate(instance, first)) else first
