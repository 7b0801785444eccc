"""One call of a heuristic on one instance: what came back, and what the checker says of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from dlsched import problem as catalogue
from dlsched.problem import Kind, Method
from dlsched.result import Objective, relative_gap
from dlsched.run import Run
from dlsched.schema import Instance, Solution

Heuristic: TypeAlias = str | Callable[..., Any]
"""A method's name, or a function ``f(instance, rng)`` as `dlsched.solve` takes it."""


class Broken(AssertionError):
    """A property that does not hold for an instance.

    Attributes
    ----------
    kind
        Name of the property; see `dlsched.testing.check_heuristic`.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind, self.message = kind, message


@dataclass(frozen=True)
class Trial:
    """What one call returned: a feasible solution and its worth, or neither."""

    solution: Solution | None
    objective: Objective | None


def method_of(problem: str, heuristic: Heuristic) -> Method:
    """Return a method of a problem, or a function as one."""
    if isinstance(heuristic, str):
        return catalogue.problem(problem).method(heuristic)
    name = getattr(heuristic, "__name__", type(heuristic).__name__)
    return Method(name, problem, Kind.HEURISTIC, heuristic)


def attempt(method: Method, instance: Instance, seed: int = 0) -> Trial:
    """Call a method and check its answer.

    Raises
    ------
    Broken
        ``crash``, ``no_solution_object``, ``infeasible`` or ``wrong_claim``.
    """
    owner = catalogue.problem(method.problem)
    try:
        claim = method(instance, Run(seed=seed), {})
    except Exception as error:  # whatever a heuristic raises is a finding
        raise Broken("crash", f"{type(error).__name__}: {error}") from error
    solution = claim.solution
    if solution is None:
        return Trial(None, None)
    if not isinstance(solution, owner.solution):
        raise Broken("no_solution_object", f"it returned {type(solution).__qualname__}")
    report = owner.check(instance, solution)
    if not report.feasible or report.objective is None:
        first = report.violations[0]
        raise Broken("infeasible", f"{first.kind} at {first.where}: {first.message}")
    for level, said in zip(report.objective.pairs(), claim.objective or (), strict=False):
        if relative_gap(level[1], said) > 1e-6:
            raise Broken("wrong_claim", f"it claims {level[0].name} = {said}, in truth {level[1]}")
    return Trial(solution, report.objective)


def gap_to(truth: Objective, found: Objective) -> float:
    """Return the relative gap at the first level where the two differ; 0 if none does."""
    for true, mine in zip(truth, found, strict=True):
        if true != mine:
            return relative_gap(mine, true)
    return 0.0
