"""Variants of variants: what studies add to the change of a problem that they are given."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dlsched.errors import OptionError
from dlsched.schema.envelope import Instance
from dlsched.variants import (
    Level,
    Variant,
    VariantProblem,
    owner_of,
)


def extended(
    instance: Instance,
    variant: Variant | None,
    label: str,
    add: Callable[[Any, Any], None] | None = None,
    *,
    levels: Sequence[str | Level] | None = None,
    fix: Mapping[str, float] | None = None,
) -> Variant:
    """Return a variant with more constraints, other levels, more fixed variables.

    `label`: what is added to the variant's name. `add`: as `Variant.constrain`, after that of the
    variant.
    """
    base = variant or Variant(instance.problem, "problem")
    first = base.constrain

    def constrain(m: Any, given: Any) -> None:
        for function in (first, add):
            if function is not None:
                function(m, given)

    added = constrain if first or add else None
    fixed = dict(base.fix) | dict(fix or {})
    for name, value in base.fix.items():
        if fixed[name] != value:
            raise OptionError(
                f"{base} fixes {name} at {value:g}, so it cannot be fixed at {fixed[name]:g}; "
                f"leave that out, or take a variant that does not fix it"
            )
    name = f"{base.name}-{label}"[:80]
    return replace(base, name=name, constrain=added, levels=levels or base.levels, fix=fixed)


def changed_problem_of(instance: Instance, variant: Variant) -> VariantProblem:
    """Return the problem that a variant makes of an instance's."""
    owner = owner_of(instance, variant)
    assert isinstance(owner, VariantProblem)
    return owner
