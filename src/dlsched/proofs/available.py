"""The forms of an instance: of every problem the model; of some, restricted programs as well."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from dlsched.errors import UnknownName
from dlsched.proofs.forms.changed import changed_form, model_form
from dlsched.proofs.forms.compiled import form_of
from dlsched.proofs.forms.form import Form, Restricted, Row
from dlsched.proofs.forms.limit import poll
from dlsched.registry import Problem
from dlsched.schema.envelope import Instance
from dlsched.schema.quantities import Number
from dlsched.solvers.standard_form import compile_model
from dlsched.variants import VariantProblem, owner_of

MODEL = "model"
"""The form of the model on the problem's card."""

Builder = Callable[[Any, Mapping[str, Any]], Form]
Columns = Mapping[str, Mapping[Any, int]]
"""Of variables that a variant may name: their columns by the model's component, then by index."""
NamedForm = Callable[[Any, Mapping[str, Any]], tuple[Form, Columns]]
"""Of a problem whose model only estimates a level: a form with which variants are proved."""


def builders(owner: Problem) -> Mapping[str, Builder | Restricted]:
    """Return by name what builds the forms of a problem: its module ``forms``, and the model.

    Of a variant it is the model alone, unless that only estimates a level: then the problem's
    module states the form to which the variant's rows are added.
    """
    forms = owner.module("forms") if owner.has_module("forms") else None
    if not isinstance(owner, VariantProblem):
        return {MODEL: partial(_model, owner)} | (forms.FORMS if forms else {})
    if not owner.refined:
        return {MODEL: partial(_changed_model, owner)}
    named: Mapping[str, NamedForm] = getattr(forms, "NAMED_FORMS", {})
    return {name: partial(_changed_form, owner, build) for name, build in named.items()}


def form_choices(owner: Problem) -> Any:
    """Return a problem's module that chooses forms: ``form_choices``, or ``exact`` if that does."""
    names = filter(owner.has_module, ("form_choices", "exact"))
    return next((m for m in map(owner.module, names) if hasattr(m, "choices")), None)


class Forms:
    """The forms of one instance, each built once: several levels may have the same.

    Parameters
    ----------
    targets
        The objective of the solution, by level, on which restricted forms depend; empty if it is
        proved that there is no solution.
    owner
        The problem, or the variant of it; by default the instance's problem.
    """

    def __init__(
        self, instance: Instance, targets: Sequence[Number], owner: Problem | None = None
    ) -> None:
        self.instance, self.targets = instance, targets
        self.owner = owner or owner_of(instance)
        self._builders = builders(self.owner)
        self._built: dict[str, Form] = {}

    def build(self, name: str, parameters: Mapping[str, Any], level: int) -> Form:
        """Return a form for the proof of a level.

        Raises
        ------
        UnknownName
            If there is none of that name for the problem.
        ValueError
            If the instance has no such form, or none with these parameters.
        """
        if name not in self._builders:
            what = f"{self.owner.name}'s variants" if self.owner.label else self.owner.name
            raise UnknownName(f"form of {what}", name, list(self._builders))
        builder = self._builders[name]
        if isinstance(builder, Restricted):
            if not self.targets:
                raise ValueError(f"the form {name} leaves solutions out, so it need not have one")
            return builder.build(self.instance, parameters, level, self.targets)
        key = json.dumps([name, parameters], sort_keys=True, default=str)
        if key not in self._built:
            self._built[key] = builder(self.instance, parameters)
        return self._built[key]


def _no_parameters(parameters: Mapping[str, Any]) -> None:
    if parameters:
        raise ValueError(f"the form {MODEL} has no parameters")


def _model(owner: Problem, instance: Instance, parameters: Mapping[str, Any]) -> Form:
    from pyomo.common.errors import InfeasibleConstraintException

    _no_parameters(parameters)
    built = owner.module("model").build(instance)
    poll()
    try:
        return form_of(MODEL, compile_model(built))
    except InfeasibleConstraintException as error:
        if not _states_that_none_exists(built):
            raise ValueError(str(error)) from None
        return Form(MODEL, [], [], [], [Row({}, 1, None)], [])


def _states_that_none_exists(built: Any) -> bool:
    """Whether a constraint of a model is Pyomo's own that is never satisfied."""
    from pyomo.core import Constraint

    rows = built.component_data_objects(Constraint, active=True)
    return any(str(row.expr) == str(Constraint.Infeasible) for row in rows)


def _changed_model(
    owner: VariantProblem, instance: Instance, parameters: Mapping[str, Any]
) -> Form:
    _no_parameters(parameters)
    change = owner.model.change(instance)
    poll()
    return model_form(MODEL, change, compile_model(change.model))


def _changed_form(
    owner: VariantProblem, build: NamedForm, instance: Instance, parameters: Mapping[str, Any]
) -> Form:
    change = owner.model.change(instance)
    poll()
    form, columns = build(instance, parameters)
    by_id = {
        id(change.model.component(name)[index]): column
        for name, of_name in columns.items()
        for index, column in of_name.items()
    }
    return changed_form(form, change, by_id)
