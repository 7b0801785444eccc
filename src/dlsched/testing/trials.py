"""One call of a heuristic on one instance: its answer, and the checker's findings."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn

import hypothesis

from dlsched import registry
from dlsched.api.solving import solve
from dlsched.errors import InstanceChanged, OptionError, describe
from dlsched.registry import Method, Problem
from dlsched.results.claims import beaten_level
from dlsched.results.objective import (
    SOLVER_PRECISION,
    TOLERANCE,
    Bound,
    ByLevel,
    Objective,
    relative_gap,
    strongest,
)
from dlsched.results.result import Claim, Status
from dlsched.run import Run
from dlsched.schema.envelope import Instance
from dlsched.schema.solution import Solution
from dlsched.testing.strategies import instances_of
from dlsched.variants import VariantLike, VariantProblem, changed_problem, variant_of


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
    """What one call returned: a feasible solution and its worth, or neither; and its claims.

    Attributes
    ----------
    solution, objective
        The solution, and what the checker finds; both None if there is none.
    status
        The status that the method claims.
    bounds
        Per level, what the method proved or claims to have proved.
    """

    solution: Solution | None
    objective: Objective | None
    status: Status = Status.FEASIBLE
    bounds: Sequence[Sequence[Bound]] = field(default=(), repr=False)


def strategy_of(problem: str) -> Any:
    """Return the Hypothesis strategy for small instances of a problem.

    `OptionError` is raised if it has none.
    """
    owner = registry.problem(problem)
    try:
        return instances_of(owner)()
    except OptionError as error:
        message = f"there is no strategy for {problem}; pass one as instances="
        raise OptionError(message) from error


def owner_for(problem: str, variant: VariantLike) -> Problem:
    """Return the problem, or a variant of it.

    `OptionError` is raised if the variant is another problem's.
    """
    found = variant_of(variant)
    if found is None:
        return registry.problem(problem)
    if found.problem != problem:
        raise OptionError(f"{found} is for {found.problem}, not for {problem}")
    return changed_problem(found)


def optimum_of(owner: Problem, remedy: str) -> Callable[[Any], Objective | None]:
    """Return the function that finds the optimum: by brute force, or of a variant by `exact`.

    No enumeration of a problem knows what a variant adds; the optimum of its whole model is proved.
    An instance whose optimum is not proved is not one to compare with.

    `OptionError` is raised if the problem has no brute force.
    """
    if not isinstance(owner, VariantProblem):
        if not owner.has_module("oracle"):
            raise OptionError(f"there is no oracle for {owner.name}; {remedy}")
        brute_force: Callable[[Any], Objective | None] = owner.module("oracle").brute_force
        return brute_force

    def proved(instance: Any) -> Objective | None:
        result = solve(instance, variant=owner)
        decided = (Status.OPTIMAL, Status.INFEASIBLE)
        if result.status not in decided:
            hypothesis.reject()
        return result.objective

    return proved


class _Exited(SystemExit):
    """A call of `os._exit`, which would end the test process."""


@contextmanager
def _contained() -> Iterator[None]:
    """Make `os._exit` raise, and end the processes that a method has forked."""
    process, true = os.getpid(), os._exit

    def raising(status: int = 0) -> NoReturn:
        if os.getpid() != process:
            true(status)
        raise _Exited(status)

    os._exit = raising
    try:
        yield
    finally:
        os._exit = true
        if os.getpid() != process:
            true(0)


def attempt(
    method: Method, instance: Instance, seed: int = 0, owner: Problem | None = None
) -> Trial:
    """Call a method and check its answer.

    `owner`: the variant that the answer is checked for; by default the method's problem. `Broken`
    is raised of the kinds ``crash``, ``exits``, ``changes_instance``, ``no_solution_object``,
    ``infeasible``, ``wrong_claim`` or ``wrong_status``.
    """
    try:
        with _contained():
            owner = owner or registry.problem(method.problem)
            claim = registry.call(method, instance, Run(seed=seed, check=owner.check), {})
    except InstanceChanged as error:
        raise Broken("changes_instance", str(error)) from error
    except SystemExit as error:
        raise Broken("exits", f"it ends the process with {error.code!r}") from error
    except Exception as error:  # whatever a heuristic raises is a finding
        raise Broken("crash", describe(error)) from error
    try:
        return _examined(owner, instance, claim)
    except (TypeError, ValueError, AttributeError, LookupError, ArithmeticError) as error:
        message = f"what it returned cannot be read: {describe(error)}"
        raise Broken("no_solution_object", message) from error


def _examined(owner: Problem, instance: Instance, claim: Claim) -> Trial:
    solution, status = claim.solution, Status(claim.status)
    solved = status in (Status.OPTIMAL, Status.FEASIBLE)
    if solution is None:
        if solved:
            message = "it returned no solution; one that found none returns a Claim that says so"
            raise Broken("no_solution_object", message)
        return Trial(None, None, status, claim.bounds)
    if not isinstance(solution, owner.solution):
        raise Broken("no_solution_object", f"it returned {type(solution).__qualname__}")
    report = owner.check(instance, solution)
    if not report.feasible or report.objective is None:
        first = report.violations[0]
        raise Broken("infeasible", f"{first.kind} at {first.where}: {first.message}")
    if not solved:
        raise Broken("wrong_status", f"it says {status!s}, and returns a feasible solution")
    for level, said in zip(report.objective.pairs(), claim.objective or (), strict=False):
        if relative_gap(level[1], said) > TOLERANCE:
            message = f"it claims {level[0].name} = {said}, the checker finds {level[1]}"
            raise Broken("wrong_claim", message)
    return Trial(solution, report.objective, status, claim.bounds)


def false_claim(trial: Trial, optimum: Objective | None) -> Broken | None:
    """Return what a method's own status or bounds say that the optimum shows to be false.

    The optimum is ``None`` if there is no solution.
    """
    if optimum is None:
        return None  # it has no solution either, or an oracle is wrong, which is another finding
    if trial.status in (Status.INFEASIBLE, Status.UNBOUNDED):
        return Broken("wrong_status", f"it says {trial.status!s}; the optimum is {optimum}")
    if trial.status is Status.OPTIMAL and trial.objective is not None:
        for (level, best), mine in zip(optimum.pairs(), trial.objective, strict=True):
            if level.better(best, mine):
                message = f"it calls {trial.objective} optimal; the optimum is {optimum}"
                return Broken("wrong_status", message)
    stated = [*trial.bounds, *[()] * len(optimum)]
    levels = zip(optimum.levels, stated, strict=False)
    bounds = ByLevel(optimum.levels, [strongest(level, of_level) for level, of_level in levels])
    beaten = beaten_level(bounds, optimum)
    if beaten is None:
        return None
    level, value = beaten
    said = f"{level.name} is at best {getattr(bounds, level.name)}"
    return Broken("wrong_bound", f"it says that {said}; the optimum has {value}")


def precision_of(owner: Problem) -> float:
    """Return up to which relative difference values agree: 0, unless solutions are rounded."""
    model = owner.module("model") if owner.has_module("model") else None
    return SOLVER_PRECISION if getattr(model, "ROUNDED", False) else 0.0


def gap_to(optimum: Objective, found: Objective) -> float:
    """Return the relative gap at the first level where the two differ; 0 if none does."""
    for true, mine in zip(optimum, found, strict=True):
        if true != mine:
            return relative_gap(mine, true)
    return 0.0
