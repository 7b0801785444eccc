"""What the checks of `check_problem` are given: a problem, its methods and drawn instances."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.errors import HypothesisException

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
