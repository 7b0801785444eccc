"""What a variant must leave as it is: the components and attributes of the problem's model."""

from typing import Any

from dlsched.errors import OptionError
from dlsched.solvers.standard_form import COMPILED
from dlsched.variants.definition import Variant
from dlsched.variants.names import named_later

OWN = (
    "NAMED",
    "ROW_SCALES",
    "UNITS",
    "GRANULARITY",
    "INTEGRAL",
    "NAMED_LATER",
    "NAMES_ALL",
    "UNFIXED",
    COMPILED,
)
"""Attributes of a model that say how to read it, which a variant may not add either."""


class Kept:
    """A model as it was before a variant's functions were called, if it has any."""

    def __init__(self, variant: Variant, model: Any) -> None:
        self.variant = variant
        self.model = model
        self.components = {c.local_name: c for c in model.component_objects(descend_into=False)}
        self.called = variant.constrain is not None or bool(variant.own_levels)
        self.states = {name: _state(c) for name, c in self.components.items() if self.called}
        self.attributes = _attributes(model)
        self.granularity = dict(getattr(model, "GRANULARITY", {}))

    def added(self) -> list[Any]:
        """Return the components that were not there."""
        components = self.model.component_objects(descend_into=False)
        return [c for c in components if c.local_name not in self.components]

    def validate(self) -> None:
        """Raise `OptionError` if a component or attribute is gone, another one, or changed."""
        if not self.called:
            return
        owner = f"{self.variant.problem}'s model"
        if not self.model.active:
            raise OptionError(
                f"{self.variant}: the model itself was deactivated; deactivate only components "
                f"that the variant added"
            )
        after = _attributes(self.model)
        changed = [k for k, value in self.attributes.items() if after.get(k, self) is not value]
        changed += [name for name in OWN if (name in after) != (name in self.attributes)]
        if self.granularity != getattr(self.model, "GRANULARITY", {}):
            changed.append("GRANULARITY")
        if changed:
            raise OptionError(
                f"{self.variant}: m.{changed[0]} belongs to {owner}, and was set or changed; use "
                f"another name"
            )
        later = named_later(self.model)
        for name, component in self.components.items():
            if self.model.component(name) is not component:
                raise OptionError(
                    f"{self.variant}: {name} is a component of {owner}, and was removed or "
                    f"replaced; add a component of another name"
                )
            if name in later:  # variables that are there once they are named
                limits = later[name]
                same = all(v.bounds == limits(*k) and not v.fixed for k, v in component.items())
            else:
                before, state = self.states[name], _state(component)
                same = len(before) == len(state) and all(map(_same, before, state))
            if not same:
                raise OptionError(
                    f"{self.variant}: {name}, a component of {owner}, was changed; add a component "
                    f"of another name, as a constraint where a bound is to be tightened"
                )


def _attributes(model: Any) -> dict[str, Any]:
    """Return what a model has beside components, by name."""
    return {
        name: value
        for name, value in vars(model).items()
        if not name.startswith("_") and not hasattr(value, "ctype")
    }


def _state(component: Any) -> list[Any]:
    """Return what of a component must not change: its entries, and some of their attributes."""
    import pyomo.core as pyo

    if component.ctype is pyo.Set:
        return list(component)
    names = {
        pyo.Var: ("lb", "ub", "domain", "fixed"),
        pyo.Constraint: ("expr", "active"),
        pyo.Objective: ("expr", "active", "sense"),
    }.get(component.ctype, ())
    entries = component.values() if names else ()
    return [part for e in entries for part in (e, *(getattr(e, name) for name in names))]


def _same(old: Any, new: Any) -> bool:
    plain = (int, float, bool, str, tuple, type(None))
    return old is new or (isinstance(old, plain) and isinstance(new, plain) and old == new)
