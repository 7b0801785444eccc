"""What an exact method of a problem begins from, and is not worse than: heuristics and a bound.

Each `Start` of the problem says when its heuristic runs, `Division` what it may take of a limit.
Of a variant the heuristics know nothing, so what they return may be of no use. The bound method is
called unless the exact one begins with it, as `Method.begins_with` says.
"""

import itertools
import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from dlsched import registry
from dlsched.errors import OptionError
from dlsched.registry import Method, Problem, When
from dlsched.results.claims import read_claim
from dlsched.results.objective import Bound, Level, Objective, strongest
from dlsched.results.result import Claim, Status
from dlsched.run import Run, Stage
from dlsched.schema.envelope import Instance
from dlsched.schema.solution import Solution
from dlsched.solvers.division import Division

logger = logging.getLogger(__name__)


class Known(NamedTuple):
    """A checked solution, its objective, and the heuristic that found it, with its bounds."""

    solution: Solution
    objective: Objective
    name: str
    bounds: Sequence[Sequence[Bound]] = ()


class Stages(NamedTuple):
    """What runs before an exact method, and what runs if it proves nothing.

    Where heuristics run after the search, the bound method does so, too: such an instance is small,
    and mostly solved before either has begun.
    """

    before: Sequence[Method] = ()
    bound_before: Method | None = None
    after: Sequence[Method] = ()
    bound_after: Method | None = None

    @property
    def first(self) -> list[Method]:
        """What runs before the exact method."""
        return [*self.before, *([self.bound_before] if self.bound_before else [])]

    @property
    def last(self) -> list[Method]:
        """What runs after it."""
        return [*self.after, *([self.bound_after] if self.bound_after else [])]


def stages_of(
    owner: Problem, method: Method, instance: Instance, time_limit: float | None
) -> Stages:
    """Return the stages of an exact method: for the problem's `exact` only.

    A method that takes no run cannot be stopped, and needs none. Without a limit there is no bound
    method, as the search goes on until it has a better bound.
    """
    if not method.wants_run or owner.method("exact", instance).function is not method.function:
        return Stages()
    limited = time_limit is not None
    early = {When.FIRST, When.LIMITED} if limited else {When.FIRST}
    starts = [(owner.method(start.name), start.when) for start in owner.starts_for(instance)]
    before = [heuristic for heuristic, when in starts if when in early]
    after = [heuristic for heuristic, when in starts if when not in early]
    wanted = limited and method.begins_with != owner.bound
    bound = owner.method(owner.bound) if wanted else None
    if before or not after:
        return Stages(before, bound, after)
    return Stages(after=after, bound_after=bound)


def solutions_of(
    methods: Sequence[Method], owner: Problem, instance: Instance, run: Run, division: Division
) -> list[Known]:
    """Return the solutions of heuristics, the best of them last, each new best one recorded.

    Once one is at certified bounds that came with it, no other can be better, and none is asked.
    None is asked, either, once the heuristics' part of the limit is spent and there is a solution.
    """
    best: Known | None = None
    others = []
    for known in _solutions(methods, owner, instance, run, division):
        if best is None or known.objective.better_than(best.objective):
            best, worse = known, best
            run.record(float(best.objective[0]), None)
        else:
            worse = known
        others += [worse] if worse is not None else []
        if _optimal(known) or not division.left:
            break
    return others if best is None else [*others, best]


def bounds_of(
    method: Method | None, instance: Instance, run: Run, division: Division
) -> Sequence[Sequence[Bound]]:
    """Return the bounds of the problem's bound method; none if it is not for the instance."""
    if method is None:
        return ()
    run.announce(Stage.SEARCHING, f"a bound, by {method.name}")
    with division.bound() as part:
        try:
            return read_claim(registry.call(method, instance, part, {}), method.name).bounds
        except OptionError:
            return ()


def joined(
    levels: Sequence[Level], bounds: Sequence[Sequence[Bound]], others: Sequence[Sequence[Bound]]
) -> list[list[Bound]]:
    """Return bounds from two sources, by level.

    A bound of a later level holds for the solutions that attain the earlier bounds of its source.
    So from the first level on at which one source has the stronger bound, its bounds alone count.
    """
    result = [list(of_level) for of_level in bounds]
    for i, (level, more) in enumerate(zip(levels, others, strict=False)):
        result += [[]] if i == len(result) else []
        mine, theirs = strongest(level, result[i]), strongest(level, more)
        result[i] += more
        if theirs is None or (mine is not None and level.better(theirs.value, mine.value)):
            break
        if mine is None or mine.value != theirs.value:
            return [*result[: i + 1], *map(list, others[i + 1 :])]
    return result


def begin_from(found: Sequence[Known], run: Run) -> Known | None:
    """Give a run the solutions of heuristics and their bounds; return the best solution."""
    if not found:
        return None
    run.known = found[-1].solution
    run.found = [known.solution for known in found]
    for known in found:
        add_bounds(known.bounds, run)
    return found[-1]


def add_bounds(bounds: Sequence[Sequence[Bound]], run: Run) -> None:
    """Give a run bounds that hold."""
    levels = itertools.zip_longest(run.known_bounds, bounds, fillvalue=())
    run.known_bounds = [[*before, *more] for before, more in levels]


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
    methods: Sequence[Method], owner: Problem, instance: Instance, run: Run, division: Division
) -> Iterator[Known]:
    for method in methods:
        run.announce(Stage.SEARCHING, f"a first solution, by {method.name}")
        with division.heuristic() as part:
            part.start = run.start
            try:
                claim = registry.call(method, instance, part, {})
            except OptionError:  # the heuristic is not for this instance
                continue
        if isinstance(claim.solution, Solution):
            report = (run.check or owner.check)(instance, claim.solution)
            changed = owner.label is not None  # of which the heuristic knows nothing
            if report.feasible and report.objective is not None:
                bounds = () if changed else claim.bounds
                yield Known(claim.solution, report.objective, method.name, bounds)
            elif not changed:
                logger.error("%s returned an infeasible solution of %s", method.name, instance.name)


def no_worse(
    claim: Claim, known: Known | None, owner: Problem, method: Method, instance: Instance, run: Run
) -> Claim:
    """Return a method's claim with the known solution, if that is better than the claim's own."""
    if known is None:
        return claim
    if claim.solution == _of(known, method):
        return claim
    if isinstance(claim.solution, Solution):
        report = (run.check or owner.check)(instance, claim.solution)
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
