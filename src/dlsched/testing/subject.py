"""What the checks of `check_problem` are given: a problem, its methods, and drawn instances.

What these can show is asked, too. A method that ignores a level is found only on an instance with
two solutions that differ at that level and are equal before it. The brute force counts them.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hypothesis
from hypothesis import strategies as st
from hypothesis.errors import HypothesisException, Unsatisfiable

from dlsched import api
from dlsched.errors import ExtraMissing, OptionError, describe
from dlsched.registry import Kind, Method, Problem
from dlsched.results.objective import Objective
from dlsched.results.result import Result
from dlsched.schema.envelope import Instance
from dlsched.schema.solution import Solution
from dlsched.testing.search import Finding, first_finding
from dlsched.testing.strategies import instances_of
from dlsched.testing.trials import Broken


@dataclass(frozen=True)
class Subject:
    """The problem under test, how many instances to draw, and its card."""

    problem: Problem
    examples: int
    card: Path | None = None

    def methods(self, *kinds: Kind) -> list[Method]:
        """Return its own methods of these kinds, without those of other packages."""
        home = f"{self.problem.package}."
        known = self.problem.methods.values()
        return [m for m in known if m.kind in kinds and f"{m.home}.".startswith(home)]

    def instances(self) -> st.SearchStrategy[Instance]:
        """Return the strategy, with the options of each entry of its module's ``VARIATIONS``."""
        variations: Sequence[dict[str, Any]] = self.stated("VARIATIONS", ({},))
        return st.one_of([instances_of(self.problem)(**options) for options in variations])

    def stated(self, name: str, default: Any) -> Any:
        """Return what the module ``strategy`` states beside the strategy, if there is one."""
        known = self.problem.has_module("strategy")
        return getattr(self.problem.module("strategy"), name, default) if known else default

    def each(self, check: Callable[[Any], None]) -> Finding | None:
        """Return the smallest drawn instance for which a check raises, whatever it raises."""

        def broken(instance: Any) -> None:
            try:
                check(instance)
            except (Broken, ExtraMissing, HypothesisException):
                raise
            except Exception as error:  # a problem's code may raise anything
                raise Broken("conformance", describe(error)) from error

        return first_finding(broken, self.instances(), self.examples)

    def optimum(self, instance: Instance) -> Objective | None:
        """Return the optimum by brute force."""
        best: Objective | None = self.problem.module("oracle").brute_force(instance)
        return best

    def example(self) -> Instance:
        """Return the first of the generator's examples."""
        instance: Instance = self.problem.module("generate").examples()[0]
        return instance

    def solve(self, instance: Instance, *kinds: Kind, **limits: Any) -> list[Result]:
        """Return the results of the methods of these kinds that take the instance.

        A method that raises `OptionError` does not take it; the problem's choice of exact method
        must.
        """
        results = []
        needed = self.problem.resolve("exact", instance).name
        for method in self.methods(*kinds):
            try:
                results.append(api.solve(instance, method.name, **limits))
            except OptionError:
                require(method.name != needed, f"{needed}, chosen for {instance.name}, refuses it")
        return results

    def feasible(self, instance: Instance) -> list[Solution]:
        """Return the solutions of the heuristics."""
        results = self.solve(instance, Kind.HEURISTIC, Kind.BASELINE)
        return [r.solution for r in results if r.solution is not None]


class NothingToCheck(Exception):
    """Raised by a check that has nothing to look at."""


def require(condition: object, message: str) -> None:
    """Raise `Broken` unless the condition holds."""
    if not condition:
        raise Broken("conformance", message)


_MOST = 2000
"""Instances of which the brute force looks at more solutions are not compared."""


def enumerated(subject: Subject, instance: Instance) -> list[Solution] | None:
    """Return the feasible solutions that the brute force looks at by ``check``.

    ``None`` if it evaluates by something else. With too many, the drawn instance is rejected.
    """
    oracle = subject.problem.module("oracle")
    if hasattr(oracle, "solutions"):
        return list(oracle.solutions(instance))
    if not hasattr(oracle, "check"):
        return None
    with _recording(oracle) as kept:
        oracle.brute_force(instance)
    return kept


@contextmanager
def _recording(oracle: Any) -> Iterator[list[Solution]]:
    """Keep the feasible solutions that a module evaluates within the block."""
    check = oracle.check
    kept: list[Solution] = []

    def recorded(instance: Any, solution: Any) -> Any:
        report = check(instance, solution)
        if report.feasible:
            kept.append(solution)
        if len(kept) > _MOST:
            hypothesis.reject()
        return report

    oracle.check = recorded
    try:
        yield kept
    finally:
        oracle.check = check


def blind_spots(subject: Subject) -> str:
    """Return at which levels no drawn instance has two values to choose from; "" if at none.

    If the solutions of one cannot be counted, the text says why.
    """
    unseen = [level.name for level in subject.problem.levels]
    drawn = solvable = 0

    def look(instance: Instance) -> None:
        nonlocal drawn, solvable
        known = enumerated(subject, instance)
        if known is None:
            unseen.clear()
            return
        drawn, solvable = drawn + 1, solvable + bool(known)
        for name in _deciding(subject, instance, known):
            if name in unseen:
                unseen.remove(name)

    try:
        failed = subject.each(look)
    except Unsatisfiable:  # all have too many solutions
        return ""
    if failed is not None:
        return f"exact: the solutions of a drawn instance could not be counted: {failed.message}"
    if not unseen:
        return ""
    return (
        f"exact: {solvable} of {drawn} drawn instances have a solution, and none has two that "
        f"differ first at {', '.join(unseen)}: a method that ignores this is not found; raise "
        f"examples, or let the module strategy draw such instances"
    )


def _deciding(subject: Subject, instance: Instance, known: Sequence[Solution]) -> set[str]:
    """Return the levels at which a solution first falls behind the best one."""
    reports = (subject.problem.definition(instance, solution) for solution in known)
    objectives = [report.objective for report in reports if report.objective is not None]
    if not objectives:
        return set()
    best = objectives[0]
    for objective in objectives:
        best = objective if objective.better_than(best) else best
    found = set()
    for objective in objectives:
        pairs = zip(best.pairs(), objective, strict=True)
        found |= set([level.name for (level, value), mine in pairs if mine != value][:1])
    return found
