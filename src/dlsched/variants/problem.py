"""What a variant makes of a problem: other levels, another check, another model."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from dlsched import registry
from dlsched.registry import Problem
from dlsched.results.objective import ByLevel
from dlsched.results.result import UNDECIDED, Report, VariantLabel, Violation
from dlsched.schema.envelope import Instance
from dlsched.schema.solution import Solution
from dlsched.solvers.earlier import Earlier
from dlsched.variants.definition import Variant
from dlsched.variants.evaluation import Evaluation
from dlsched.variants.model import VariantModel


@dataclass(frozen=True)
class ChangedProblem(Problem):
    """A problem with a variant's levels, check and model.

    Attributes
    ----------
    earlier
        What is known of the whole model with less fixed, which its first solution states.
    first
        A solution, which is where the exact method begins if it is better than the heuristics'.
    """

    variant: Variant = field(kw_only=True)
    earlier: Earlier | None = field(default=None, kw_only=True, compare=False)
    first: Solution | None = field(default=None, kw_only=True, compare=False)

    @property
    def label(self) -> VariantLabel:
        """What results say of the variant."""
        return VariantLabel(self.variant.name, self.variant.sha256)

    @cached_property
    def base(self) -> Problem:
        """The problem that is changed."""
        return registry.problem(self.variant.problem)

    @cached_property
    def model(self) -> VariantModel:
        """The variant's model."""
        return VariantModel(self.variant, self.base)

    def module(self, name: str) -> Any:
        """Return a module of the problem's package; ``model`` is the variant's."""
        return self.model if name == "model" else self.base.module(name)

    def check(self, instance: Instance, solution: Solution) -> Report:
        """Check a solution against the problem's definition, then against the variant."""
        report = self.base.check(instance, solution)
        if not report.feasible or report.objective is None:
            return replace(report, objective=None)
        violations: tuple[Violation, ...] = ()
        known = report.objective.as_dict()
        if self.variant.rule is not None:
            allow = self.base.module("allow")
            violations = tuple(allow.violations(instance, solution, self.variant.rule))
        if self.variant.states_rows:
            changed = self.model.change(instance)
            self.model.assign_problem(instance, changed.model, solution)
            evaluation = Evaluation(changed)
            violations += tuple(evaluation.violations())
            if not any(v.kind in ("variables", UNDECIDED) for v in violations):
                known |= evaluation.levels()
        complete = all(level.name in known for level in self.levels)
        values = [known[level.name] for level in self.levels] if complete else None
        objective = None if values is None else ByLevel(self.levels, values)
        return replace(report, violations=violations, objective=objective)

    @property
    def estimated(self) -> tuple[str, ...]:
        """The problem's levels of which its model has only an estimate, which its method refines.

        So `solve_levels` would not be exact.
        """
        return getattr(self.base.module("model"), "ESTIMATED", ())

    @property
    def refined(self) -> bool:
        """Whether the problem's model only estimates a level, and its own method refines it."""
        return bool(self.estimated)
