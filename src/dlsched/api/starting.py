"""The heuristics that the exact method of a problem starts from, and is not worse than.

Each `Start` of the problem says when it runs; the time that each may take is decided here. The
first one has the whole time limit, as if it were called by itself, each other one what is left. So
where the limit strikes, the result is at least that of the first one alone. A heuristic that no
limit stops takes its time in any case, and is therefore one of the last. Of a variant they know
nothing, so what they return may be of no use: together they have half of the limit.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from dlsched import registry
from dlsched.errors import OptionError
from dlsched.registry import Method, Problem, When
from dlsched.results.objective import Bound, Objective
from dlsched.results.result import Claim, Status
from dlsched.run import Run, Stage, StageListener
from dlsched.schema.envelope import Instance
from dlsched.schema.solution import Solution

logger = logging.getLogger(__name__)

LEAST_SECONDS = 0.1
"""What each heuristic has even if less is left of a limit: so all of them have a shorter one."""

_PART_OF_VARIANT = 0.5
"""Of the limit of a variant's exact method, for all heuristics together."""


class Known(NamedTuple):
    """A checked solution, its objective, and the heuristic that found it, with its bounds."""

    solution: Solution
    objective: Objective
    name: str
    bounds: Sequence[Sequence[Bound]] = ()


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
    before = {When.FIRST} if time_limit is None else {When.FIRST, When.LIMITED}
    starts = [(owner.method(start.name), start.when) for start in owner.starts_for(instance)]
    return Heuristics(
        [heuristic for heuristic, when in starts if when in before],
        [heuristic for heuristic, when in starts if when not in before],
    )


def prepare_all(
    methods: Sequence[Method], owner: Problem, listener: StageListener | None, instance: Instance
) -> None:
    """Import and compile what methods need, before a clock starts."""
    for method in methods:
        method.prepare(owner.package, listener, instance)


def solutions_of(
    methods: Sequence[Method], owner: Problem, instance: Instance, run: Run
) -> list[Known]:
    """Return the solutions of heuristics, the best of them last, each new best one recorded.

    Once one is at certified bounds that came with it, no other can be better, and none is asked.
    """
    best: Known | None = None
    others = []
    for known in _solutions(methods, owner, instance, run):
        if best is None or known.objective.better_than(best.objective):
            best, worse = known, best
            run.record(float(best.objective[0]), None)
        else:
            worse = known
        others += [worse] if worse is not None else []
        if _optimal(known):
            break
    return others if best is None else [*others, best]


def begin_from(found: Sequence[Known], run: Run) -> Known | None:
    """Give a run the solutions of heuristics and their bounds; return the best solution."""
    if not found:
        return None
    run.known = found[-1].solution
    run.found = [known.solution for known in found]
    levels = max(len(known.bounds) for known in found)
    run.known_bounds = [
        [
            bound
            for known in found
            for of_level in known.bounds[level : level + 1]
            for bound in of_level
        ]
        for level in range(levels)
    ]
    return found[-1]


def proved(known: Known | None, method: Method, run: Run) -> Claim | None:
    """Return the claim of an exact method that begins with an optimal solution; else ``None``.

    Heuristics of this library alone can prove that theirs is one.
    """
    if known is None or not method.own or not _optimal(known):
        return None
    value = float(known.objective[0])
    run.record(value, value)
    return Claim(_of(known, method), Status.OPTIMAL, bounds=known.bounds)


def _optimal(known: Known) -> bool:
    """Whether a solution equals a certified bound of its own in every level."""
    return len(known.bounds) == len(known.objective) and all(
        any(bound.kind == "certified" and bound.value == value for bound in stated)
        for value, stated in zip(known.objective, known.bounds, strict=True)
    )


def _solutions(
    methods: Sequence[Method], owner: Problem, instance: Instance, run: Run
) -> Iterator[Known]:
    least = min(LEAST_SECONDS, run.time_limit or 0.0)
    for method in methods:
        run.announce(Stage.SEARCHING, f"a first solution, by {method.name}")
        nested = run.nested(_seconds(owner, run), gap=run.gap, least=least)
        nested.start = run.start
        try:
            claim = registry.call(method, instance, nested, {})
        except OptionError:  # the heuristic is not for this instance
            continue
        if isinstance(claim.solution, Solution):
            report = owner.check(instance, claim.solution)
            changed = owner.label is not None  # of which the heuristic knows nothing
            if report.feasible and report.objective is not None:
                bounds = () if changed else claim.bounds
                yield Known(claim.solution, report.objective, method.name, bounds)
            elif not changed:
                logger.error("%s returned an infeasible solution of %s", method.name, instance.name)


def _seconds(owner: Problem, run: Run) -> float:
    """Return what a heuristic has at most, where it knows the problem."""
    if owner.label is None or run.time_limit is None:
        return float("inf")
    return max(_PART_OF_VARIANT * run.time_limit - run.elapsed(), 0.0)


def no_worse(
    claim: Claim, known: Known | None, owner: Problem, method: Method, instance: Instance
) -> Claim:
    """Return a method's claim with the known solution, if that is better than the claim's own."""
    if known is None:
        return claim
    if claim.solution == _of(known, method):
        return claim
    if isinstance(claim.solution, Solution):
        report = owner.check(instance, claim.solution)
        if not report.feasible or report.objective is None:
            return claim  # which the evaluation refuses
        if not known.objective.better_than(report.objective):
            return claim
    solved = claim.status in (Status.OPTIMAL, Status.FEASIBLE)
    said = f"{claim.reason}; " if claim.reason else ""
    return replace(
        claim,
        solution=_of(known, method),
        status=claim.status if solved else Status.FEASIBLE,
        objective=None,
        reason=f"{said}the solution is that of {known.name}",
    )


def _of(known: Known, method: Method) -> Solution:
    """Return a heuristic's solution with the name of the method that returns it."""
    return known.solution.model_copy(update={"method": method.name})
