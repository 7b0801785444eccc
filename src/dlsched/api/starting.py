"""The best of a problem's own heuristics, which its exact method starts from and is not worse than.

With a time limit the problem's `starts` run first, within it, so that the solution is no worse than
any of theirs whenever the limit strikes. Its `fallbacks`, and without a limit all of them, run only
after a search that proved nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from dlsched import registry
from dlsched.errors import OptionError
from dlsched.registry import Method, Problem
from dlsched.results.objective import Objective
from dlsched.results.result import Claim, Status
from dlsched.run import Run, Stage, StageListener
from dlsched.schema.envelope import Instance
from dlsched.schema.solution import Solution

logger = logging.getLogger(__name__)


class Known(NamedTuple):
    """A checked solution, its objective, and the name of the heuristic that found it."""

    solution: Solution
    objective: Objective
    name: str


class Heuristics(NamedTuple):
    """The heuristics that run before an exact method, and those that run if it proves nothing."""

    before: Sequence[Method] = ()
    after: Sequence[Method] = ()


def heuristics_of(
    owner: Problem, method: Method, instance: Instance, time_limit: float | None
) -> Heuristics:
    """Return the heuristics for an exact method: for the problem's `exact` only.

    A method that takes no run cannot be stopped, and needs none.
    """
    if not method.wants_run or owner.method("exact", instance).function is not method.function:
        return Heuristics()
    starts = [owner.method(name) for name in owner.starts]
    fallbacks = [owner.method(name) for name in owner.fallbacks]
    return (
        Heuristics((), [*starts, *fallbacks])
        if time_limit is None
        else Heuristics(starts, fallbacks)
    )


def prepare_all(
    methods: Sequence[Method], owner: Problem, listener: StageListener | None, instance: Instance
) -> None:
    """Import and compile what methods need, before a clock starts."""
    for method in methods:
        method.prepare(owner.package, listener, instance)


def best_of(
    methods: Sequence[Method], owner: Problem, instance: Instance, run: Run
) -> Known | None:
    """Return the best solution of heuristics, each run in what is left of the run's time."""
    best: Known | None = None
    for known in _solutions(methods, owner, instance, run):
        if best is None or known.objective.better_than(best.objective):
            best = known
            run.record(float(best.objective[0]), None)
    return best


def _solutions(
    methods: Sequence[Method], owner: Problem, instance: Instance, run: Run
) -> Iterator[Known]:
    for method in methods:
        run.announce(Stage.SEARCHING, f"a first solution, by {method.name}")
        try:
            claim = registry.call(method, instance, run.nested(gap=run.gap), {})
        except OptionError:  # the heuristic is not for this instance
            continue
        if isinstance(claim.solution, Solution):
            report = owner.check(instance, claim.solution)
            if report.feasible and report.objective is not None:
                yield Known(claim.solution, report.objective, method.name)
            else:
                logger.error("%s returned an infeasible solution of %s", method.name, instance.name)


def no_worse(
    claim: Claim, known: Known | None, owner: Problem, method: Method, instance: Instance
) -> Claim:
    """Return a method's claim with the known solution, if that is better than the claim's own."""
    if known is None:
        return claim
    if isinstance(claim.solution, Solution):
        own = owner.check(instance, claim.solution)
        if not own.feasible or own.objective is None:
            return claim  # which the evaluation refuses
        if not known.objective.better_than(own.objective):
            return claim
    solved = claim.status in (Status.OPTIMAL, Status.FEASIBLE)
    said = f"{claim.reason}; " if claim.reason else ""
    return replace(
        claim,
        solution=known.solution.model_copy(update={"method": method.name}),
        status=claim.status if solved else Status.FEASIBLE,
        objective=None,
        reason=f"{said}the solution is that of {known.name}",
    )
