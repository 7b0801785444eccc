"""The forms of an instance: of every problem the model; of some, restricted programs as well."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dlsched import registry
from dlsched.errors import UnknownName
from dlsched.proofs.forms.compiled import form_of
from dlsched.proofs.forms.form import Form
from dlsched.proofs.forms.limit import poll
from dlsched.proofs.forms.restricted import Restricted
from dlsched.schema.envelope import Instance
from dlsched.schema.quantities import Number
from dlsched.solvers.standard_form import compile_model

MODEL = "model"
"""The form of the model on the problem's card."""

Builder = Callable[[Any, Mapping[str, Any]], Form]


def builders(problem: str) -> Mapping[str, Builder | Restricted]:
    """Return by name what builds the forms of a problem: its module ``forms``, and the model."""
    owner = registry.problem(problem)
    forms = owner.module("forms").FORMS if owner.has_module("forms") else {}
    return {MODEL: _model} | forms


class Forms:
    """The forms of one instance, each built once: several levels may have the same.

    Parameters
    ----------
    targets
        The objective of the solution, by level, on which restricted forms depend.
    """

    def __init__(self, instance: Instance, targets: Sequence[Number]) -> None:
        self.instance, self.targets = instance, targets
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
        known = builders(self.instance.problem)
        if name not in known:
            raise UnknownName(f"form of {self.instance.problem}", name, list(known))
        builder = known[name]
        if isinstance(builder, Restricted):
            return builder.build(self.instance, parameters, level, self.targets)
        key = json.dumps([name, parameters], sort_keys=True, default=str)
        if key not in self._built:
            self._built[key] = builder(self.instance, parameters)
        return self._built[key]


def _model(instance: Instance, parameters: Mapping[str, Any]) -> Form:
    if parameters:
        raise ValueError(f"the form {MODEL} has no parameters")
    model = registry.problem(instance.problem).module("model")
    built = model.build(instance)
    poll()
    return form_of(MODEL, compile_model(built))
