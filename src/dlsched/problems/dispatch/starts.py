"""An exact method begins from the heuristics' plans, and returns nothing worse than these."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from dlsched.problems.dispatch.check import evaluate
from dlsched.problems.dispatch.counted import count
from dlsched.problems.dispatch.heuristics import mast_solution
from dlsched.problems.dispatch.improve import ROUNDS, improve
from dlsched.problems.dispatch.schema import Instance, Solution
from dlsched.result import Claim, Start, Status, Termination
from dlsched.run import Run

ExactSearch = Callable[[Run, Solution], Claim]
"""A search within the limits of a run, from a feasible solution."""
_LARGEST_SHARE = 0.5
"""The largest part of what is left of a time limit that is kept for the heuristics."""


def improved(instance: Instance, run: Run, search: ExactSearch) -> Claim:
    """Return what an exact search finds, or a heuristic's solution if it is better.

    The search begins from the run's start or the plan of `mast`, whichever is better. If it does
    not prove an optimum, `joint` and `counted` are called in what is kept of a time limit: as long
    as they may take, judged by the time of `mast`, but at most half.
    """
    began = time.perf_counter()
    best = mast_solution(instance)
    kept = min(2 * ROUNDS * (time.perf_counter() - began), _LARGEST_SHARE * run.remaining())
    start = None
    if isinstance(run.start, Solution):
        better = evaluate(instance, run.start).better_than(evaluate(instance, best))
        start = Start(better, f"it is {'' if better else 'no '}better than the plan of mast")
        best = run.start if better else best
    with run.keeping(kept):
        claim = search(run, best)
    claim = replace(claim, start=claim.start or start)
    if claim.status not in (Status.FEASIBLE, Status.NO_SOLUTION):
        return claim
    found = [best]
    if isinstance(claim.solution, Solution):
        found.insert(0, claim.solution)
    if claim.termination is not Termination.LEVELS_DONE:
        found.append(improve(instance, run.nested(run.remaining() / 2), ROUNDS))
        found.append(count(instance, run.nested(), _best(instance, found)))
    chosen = _best(instance, found)
    if chosen is claim.solution:
        return claim
    return replace(claim, solution=chosen, status=Status.FEASIBLE, objective=None)


def _best(instance: Instance, solutions: Sequence[Solution]) -> Solution:
    """Return the best solution, the first one of equally good ones."""
    best, *others = solutions
    value = evaluate(instance, best)
    for other in others:
        worth = evaluate(instance, other)
        if worth.better_than(value):
            best, value = other, worth
    return best
