"""A variant as a problem, which is solved and checked as any other."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TypeAlias

from dlsched import registry
from dlsched.errors import OptionError, spelled
from dlsched.registry import Method, Problem
from dlsched.results.objective import Level as ObjectiveLevel
from dlsched.results.result import Claim, Status
from dlsched.schema.envelope import Instance
from dlsched.schema.solution import Solution
from dlsched.variants.definition import Level, Variant
from dlsched.variants.evaluation import describe
from dlsched.variants.lookup import find_variant
from dlsched.variants.methods import BOUND, COLUMNS, EXACT, methods_of
from dlsched.variants.problem import ChangedProblem


@dataclass(frozen=True)
class VariantProblem(ChangedProblem):
    """A variant's problem with its methods.

    They are `EXACT`, `BOUND`, and the problem's heuristics and baselines, which know nothing of
    the variant: what they return is checked.
    """

    def fixed(
        self, variant: Variant, instance: Instance, first: Solution | None = None
    ) -> VariantProblem:
        """Return the problem of a variant that fixes more; its model is this one's, changed.

        So only one of the two can be used at a time.
        """
        other = replace(self, variant=variant, first=first)
        other.model.take_over(self.model.change(instance), instance)
        return other

    @cached_property
    def methods(self) -> dict[str, Method]:
        """The variant's own methods, and the problem's heuristics and baselines."""
        return methods_of(self)

    def admit(self, claim: Claim, method: Method, instance: Instance) -> Claim:
        """Return the claim of a method that does not know the variant.

        Its bounds and levels are the problem's; a solution that violates the variant is none.
        """
        if method.name in (EXACT, BOUND, COLUMNS) and method.own:
            return claim
        if not isinstance(claim.solution, self.solution):
            return replace(claim, objective=None, bounds=())
        if not self.base.check(instance, claim.solution).feasible:
            return replace(claim, objective=None, bounds=())
        status = Status.FEASIBLE if claim.status is Status.OPTIMAL else claim.status
        claim = replace(claim, status=status, termination=None, objective=None, bounds=())
        report = self.check(instance, claim.solution)
        if report.feasible:
            return claim
        return replace(
            claim,
            solution=None,
            status=Status.NO_SOLUTION,
            reason=f"{method.name} does not know the {self.variant}: {describe(report.violations)}",
        )


VariantLike: TypeAlias = "Variant | str | VariantProblem | None"
"""A variant, the text that means one (`find_variant`), or its problem; ``None`` for no change."""


def owner_of(instance: Instance, variant: VariantLike = None) -> Problem:
    """Return the problem of an instance, or the variant of it.

    Raises
    ------
    OptionError
        If the variant is another problem's, or none.
    """
    base = registry.problem(instance.problem)
    if variant is None:
        return base
    if isinstance(variant, VariantProblem):
        return variant
    if isinstance(variant, str):
        variant = find_variant(variant)
    if not isinstance(variant, Variant):
        raise no_variant(variant)
    if variant.problem != base.name:
        raise OptionError(f"{variant} is for {variant.problem}; {instance.name} is of {base.name}")
    return changed_problem(variant)


def no_variant(given: object) -> OptionError:
    """Return the error that something is no variant."""
    return OptionError(
        f"variant={spelled(given)} is no dlsched.Variant, nor a text as file.py:name that means one"
    )


def changed_problem(variant: Variant) -> VariantProblem:
    """Return the problem that a variant makes."""
    base = registry.problem(variant.problem)
    if not getattr(base.module("model"), "NAMEABLE", True):
        raise OptionError(f"{base.name} has no variants: they could name no variable of its model")
    known = {level.name: level for level in base.levels}
    levels = [
        known[level] if isinstance(level, str) else _objective_level(level)
        for level in variant.levels or known
    ]
    values = {entry.name: getattr(base, entry.name) for entry in fields(Problem)}
    exact = COLUMNS if variant.only_allows else EXACT
    values |= {"levels": tuple(levels), "exact": exact, "bound": BOUND, "choose": None}
    return VariantProblem(**values, variant=variant)


def _objective_level(level: Level) -> ObjectiveLevel:
    return ObjectiveLevel(level.name, "min" if level.sense == "minimize" else "max", "")
