"""The model of a variant: the problem's, changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dlsched.errors import OptionError
from dlsched.registry import Problem
from dlsched.schema.envelope import Instance
from dlsched.schema.solution import Solution
from dlsched.variants.allowing import Rule
from dlsched.variants.changed_model import Change, change_model
from dlsched.variants.definition import Variant
from dlsched.variants.evaluation import Evaluation
from dlsched.variants.refixing import may_refix, refix


class VariantModel:
    """The module ``model`` of a variant: the problem's, changed. One model for each instance."""

    def __init__(self, variant: Variant, base: Problem) -> None:
        self.variant, self.module = variant, base.module("model")
        self.has_form = base.has_module("allow")
        homes = [base.module("allow"), self.module] if self.has_form else [self.module]
        self.forbidden = next((h.forbidden for h in homes if hasattr(h, "forbidden")), None)
        self.whole = base.module("whole_model" if base.has_module("whole_model") else "model")
        self._changes: dict[str, Change] = {}

    def change(self, instance: Instance) -> Change:
        """Return the changed model of an instance."""
        if instance.sha256 not in self._changes:
            self._changes[instance.sha256] = self.adapt(instance)(self._built(instance))
        return self._changes[instance.sha256]

    def digest(self, instance: Instance) -> str | None:
        """Return the digest of what the functions added; ``None`` where no model was built."""
        change = self._changes.get(instance.sha256)
        called = self.variant.constrain is not None or self.variant.own_levels
        return change.digest if change is not None and called else None

    def _built(self, instance: Instance) -> Any:
        """Return the problem's model; what it refuses has another remedy for a variant."""
        try:
            return self.module.build(instance)
        except OptionError as error:
            rule = "state it by allow alone, or " if self.has_form else ""
            raise OptionError(
                f"{self.variant}: {str(error).partition(';')[0]}; {rule}take a smaller instance: "
                f"the problem's other exact methods do not know what is changed"
            ) from error

    def take_over(self, other: Change, instance: Instance) -> None:
        """Use the model of a variant of the same rows and levels, with what is fixed here."""
        if may_refix(self.variant, other):
            self._changes[instance.sha256] = refix(self.variant, other)

    def nameable(self, model: Any) -> list[str]:
        """Return the names of the integer variables that a variant may name."""
        import pyomo.core as pyo

        components = model.component_objects(pyo.Var)
        known = [c for c in components if all(v.is_integer() or v.is_binary() for v in c.values())]
        named = getattr(self.module, "NAMEABLE", None)
        return [c.local_name for c in known if named is None or c.local_name in named]

    def adapt(self, instance: Instance) -> Callable[[Any], Change]:
        """Return what changes a model of an instance in place."""

        def apply(model: Any) -> Change:
            if hasattr(self.whole, "complete"):
                self.whole.complete(model, instance)
            named = getattr(self.module, "NAMEABLE", None)
            allowed = None if named is None else set(named)
            if self.variant.rule is not None:
                self._forbid(model, instance, self.variant.rule)
            state_named = getattr(self.whole, "state_named", None)
            return change_model(self.variant, model, instance, allowed, state_named)

        return apply

    def _forbid(self, model: Any, instance: Instance, rule: Rule) -> None:
        """State what is not allowed: these expressions are at most 0."""
        import pyomo.core as pyo

        if self.forbidden is None:
            raise OptionError(
                f"{self.variant}: the model of {self.variant.problem} cannot state allow, so that "
                f"it has no proof; leave out constrain, levels and fix, and use exact, which needs "
                f"no model"
            )
        model.not_allowed = pyo.ConstraintList()
        try:
            for expression in self.forbidden(instance, model, rule):
                model.not_allowed.add(expression <= 0)
        except OptionError as error:
            raise self.named(error) from error

    def named(self, error: OptionError) -> OptionError:
        """Return an error about a rule with the variant's name."""
        known = str(error).startswith(str(self.variant))
        return OptionError(str(error) if known else f"{self.variant}: {error}")

    def build(self, instance: Instance) -> Any:
        """Return the changed Pyomo model."""
        return self.change(instance).model

    def read(self, instance: Instance, model: Any) -> Solution:
        """Return the problem's solution that the model's variables hold."""
        read = getattr(self.whole, "read_complete", self.module.read)
        solution: Solution = read(instance, model)
        return solution

    def assign(self, instance: Instance, model: Any, solution: Solution) -> None:
        """Set every variable to its value in a solution; added ones to the best that fit it."""
        self.set_values(instance, self.change(instance), solution)

    def set_values(self, instance: Instance, change: Change, solution: Solution) -> None:
        """Do as `assign` with a model that was changed."""
        self._assign_problem(instance, change, solution)
        if change.variables:
            list(Evaluation(change).violations())

    def assign_problem(self, instance: Instance, model: Any, solution: Solution) -> None:
        """Set the problem's variables to their values in a solution, and added ones to none."""
        self._assign_problem(instance, replace(self.change(instance), model=model), solution)

    def _assign_problem(self, instance: Instance, change: Change, solution: Solution) -> None:
        assign = getattr(self.whole, "assign_complete", self.module.assign)
        for variable in change.variables:
            variable.set_value(None, skip_validation=True)
        assign(instance, change.model, solution)
