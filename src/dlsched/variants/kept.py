"""What a variant must leave as it is: the components and attributes of the problem's model."""

from __future__ import annotations

from typing import Any, NamedTuple

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


class _Part(NamedTuple):
    """What must not change of a component's entry."""

    entry: Any
    state: tuple[Any, ...]


class Kept:
    """A model as it was before a variant's functions were called, if it has any."""

    def __init__(self, variant: Variant, model: Any) -> None:
        self.variant = variant
        self.model = model
        self.components = {c.local_name: c for c in model.component_objects(descend_into=False)}
        called = variant.constrain is not None or bool(variant.own_levels)
        self.parts = {
            name: _parts(component) for name, component in self.components.items() if called
        }
        self.attributes = _attributes(model)
        self.granularity = dict(getattr(model, "GRANULARITY", {}))

    def __contains__(self, name: object) -> bool:
        """Whether the problem has a component of this name."""
        return name in self.components

    def added(self) -> list[Any]:
        """Return the components that were not there."""
        components = self.model.component_objects(descend_into=False)
        return [c for c in components if c.local_name not in self.components]

    def validate(self) -> None:
        """Raise `OptionError` if a component or attribute is gone, another one, or changed."""
        if not self.parts:
            return
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
                f"{self.variant}: m.{changed[0]} belongs to {self.variant.problem}'s model, and "
                f"was set or changed; use another name"
            )
        later = named_later(self.model)
        for name, component in self.components.items():
            self._validate_component(name, component, later.get(name))

    def _validate_component(self, name: str, component: Any, limits: Any) -> None:
        remedy = "add a component of another name"
        if self.model.component(name) is not component:
            raise OptionError(
                f"{self.variant}: {name} is a component of {self.variant.problem}'s model, and was "
                f"removed or replaced; {remedy}"
            )
        after = _parts(component)
        before = self.parts[name]
        if limits is None:
            same = len(after) == len(before)
        else:  # variables that are there once they are named
            same = all(v.bounds == limits(*key) and not v.fixed for key, v in component.items())
            after = before
        same = same and all(_same(old, new) for old, new in zip(before, after, strict=True))
        if not same:
            raise OptionError(
                f"{self.variant}: {name}, a component of {self.variant.problem}'s model, was "
                f"changed; {remedy}, as a constraint where a bound is to be tightened"
            )


def _attributes(model: Any) -> dict[str, Any]:
    """Return what a model has beside components, by name."""
    return {
        name: value
        for name, value in vars(model).items()
        if not name.startswith("_") and not hasattr(value, "ctype")
    }


def _parts(component: Any) -> list[_Part]:
    """Return the entries of a component with what of them must not change."""
    import pyomo.core as pyo

    if component.ctype is pyo.Var:
        return [_Part(v, (v.lb, v.ub, v.domain, v.fixed)) for v in component.values()]
    if component.ctype is pyo.Constraint:
        return [_Part(c, (c.expr, c.active)) for c in component.values()]
    if component.ctype is pyo.Objective:
        return [_Part(c, (c.expr, c.active, c.sense)) for c in component.values()]
    if component.ctype is pyo.Set:
        return [_Part(component, (tuple(component),))]
    return []


def _same(old: _Part, new: _Part) -> bool:
    if old.entry is not new.entry:
        return False
    return all(a is b or _equal(a, b) for a, b in zip(old.state, new.state, strict=True))


def _equal(a: Any, b: Any) -> bool:
    plain = (int, float, bool, str, tuple, type(None))
    return isinstance(a, plain) and isinstance(b, plain) and a == b
