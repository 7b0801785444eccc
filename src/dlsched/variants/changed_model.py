"""The Pyomo model of a variant: the problem's whole model, and what the variant adds to it."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

from dlsched.errors import DlschedError, OptionError, describe
from dlsched.schema import granularity
from dlsched.solvers.standard_form import RowScale
from dlsched.variants.definition import Level, Variant
from dlsched.variants.exact_values import coefficients, exact_coefficients, exact_value

FIXED = "fixed"
"""The model's constraint that holds what a variant fixes, by the variables' names."""
_LARGEST = 2**40
"""Rows are not scaled to integers above this, beyond which solvers cannot tell them apart."""


@dataclass(frozen=True)
class Change:
    """What a variant has added to a model.

    Attributes
    ----------
    model
        The Pyomo model, whose objectives are the variant's levels in their order.
    constraints
        The added ones that are active, with those of what is fixed.
    variables
        The added ones.
    expressions
        Of the variant's own levels, by name.
    """

    model: Any
    constraints: list[Any]
    variables: list[Any]
    expressions: dict[str, Any]


class _Part(NamedTuple):
    """What must not change of a component's entry."""

    entry: Any
    state: tuple[Any, ...]


def change_model(variant: Variant, model: Any, instance: Any, nameable: set[str] | None) -> Change:
    """Change a model in place.

    Parameters
    ----------
    model
        The problem's whole model of the instance, with its levels as objectives.
    nameable
        Names of the variables that a variant may name; ``None`` for all.

    Raises
    ------
    OptionError
        If the variant's function raises, adds nothing, changes a component of the problem, names a
        variable that it may not, or adds something that is not linear; or if a variable that is to
        be fixed is not there.
    """
    import pyomo.environ as pyo

    before = {c.local_name: c for c in model.component_objects(descend_into=False)}
    parts = {name: _parts(component) for name, component in before.items()}
    if variant.constrain is not None:
        _call(variant, "constrain", variant.constrain, model, instance)
        _validate_kept(variant, model, before, parts)
        if all(c.local_name in before for c in model.component_objects(descend_into=False)):
            raise OptionError(
                f"{variant}: constrain added nothing to the model of {instance.name}; assign "
                f"components to m, as m.few = pyo.Constraint(...)"
            )
    expressions = {
        level.name: _call(variant, f"level {level.name}", level.expr, model, instance)
        for level in variant.levels or ()
        if isinstance(level, Level)
    }
    _validate_kept(variant, model, before, parts)
    added = [c for c in model.component_objects(descend_into=False) if c.local_name not in before]
    known = (pyo.Var, pyo.Constraint, pyo.Set, pyo.Param, pyo.Expression, pyo.RangeSet)
    for component in added:
        if component.ctype is pyo.Objective:
            raise OptionError(
                f"{variant}: {component.local_name} is an objective; give it as a Level in levels"
            )
        if component.ctype not in known:
            raise OptionError(
                f"{variant}: {component.local_name} is a {component.ctype.__name__}, which "
                f"variants have no use for; add variables and constraints to m itself"
            )
    _fix(variant, model)
    rows = [
        entry
        for component in model.component_objects(pyo.Constraint, active=True)
        if component.local_name not in before
        for entry in component.values()
        if entry.active
    ]
    variables = [
        entry
        for component in model.component_objects(pyo.Var)
        if component.local_name not in before
        for entry in component.values()
    ]
    for row in rows:
        _validate_linear(variant, row.name, row.body, before, nameable)
    for name, expression in expressions.items():
        _validate_linear(variant, f"level {name}", expression, before, nameable)
    _set_levels(variant, model, expressions)
    model.ROW_SCALES = {row.name: _row_scale(row) for row in rows}
    return Change(model, rows, variables, expressions)


def refix(variant: Variant, other: Change) -> Change:
    """Return a change of the same model with other variables fixed, which replace those before."""
    model = other.model
    if model.component(FIXED) is not None:
        model.del_component(FIXED)
    _fix(variant, model)
    fixed = model.component(FIXED)
    before = [row for row in other.constraints if row.parent_component() is not None]
    rows = [row for row in before if row.parent_component().local_name != FIXED]
    rows += list(fixed.values()) if fixed is not None else []
    model.ROW_SCALES = {row.name: _row_scale(row) for row in rows}
    return replace(other, constraints=rows)


def _call(variant: Variant, what: str, function: Any, model: Any, instance: Any) -> Any:
    """Call a function of the variant's, and turn whatever it raises into one error."""
    log = logging.getLogger("pyomo")
    before = log.level
    log.setLevel(logging.CRITICAL)  # the error says what Pyomo logs
    try:
        return function(model, instance)
    except (KeyboardInterrupt, MemoryError, DlschedError):
        raise
    except BaseException as error:
        raise OptionError(f"{variant}: {what} raised {describe(error)}") from error
    finally:
        log.setLevel(before)


def _parts(component: Any) -> list[_Part]:
    """Return the entries of a component with what of them must not change."""
    import pyomo.environ as pyo

    if component.ctype is pyo.Var:
        return [_Part(v, (v.lb, v.ub, v.domain.name, v.fixed)) for v in component.values()]
    if component.ctype in (pyo.Constraint, pyo.Objective):
        return [_Part(c, (c.expr, c.active)) for c in component.values()]
    return []


def _validate_kept(
    variant: Variant, model: Any, before: dict[str, Any], parts: dict[str, list[_Part]]
) -> None:
    """Raise if the variant has removed, replaced or changed a component of the problem's."""
    for name, component in before.items():
        remedy = "add a component of another name"
        if model.component(name) is not component:
            raise OptionError(
                f"{variant}: {name} is a component of {variant.problem}'s model, and was removed "
                f"or replaced; {remedy}"
            )
        after = _parts(component)
        same = len(after) == len(parts[name]) and all(
            old.entry is new.entry and all(a is b or _equal(a, b) for a, b in pairs)
            for old, new in zip(parts[name], after, strict=True)
            for pairs in [list(zip(old.state, new.state, strict=True))]
        )
        if not same:
            raise OptionError(
                f"{variant}: {name}, a component of {variant.problem}'s model, was changed; "
                f"{remedy}, as a constraint where a bound is to be tightened"
            )


def _equal(a: Any, b: Any) -> bool:
    plain = (int, float, bool, str, type(None))
    return isinstance(a, plain) and isinstance(b, plain) and a == b


def variables_by_name(model: Any) -> dict[str, Any]:
    """Return the model's variables, by Pyomo's names and by those without quotation marks."""
    import pyomo.environ as pyo

    known: dict[str, Any] = {}
    for component in model.component_objects(pyo.Var):
        for index, entry in component.items():
            parts = index if isinstance(index, tuple) else (index,)
            label = "" if index is None else f"[{','.join(map(str, parts))}]"
            known.setdefault(f"{component.local_name}{label}", entry)
    known |= {v.name: v for v in model.component_data_objects(pyo.Var)}
    return known


def _fix(variant: Variant, model: Any) -> None:
    """Add a row for each variable that is to be fixed."""
    import pyomo.environ as pyo

    if not variant.fix:
        return
    if model.component(FIXED) is not None:
        raise OptionError(f"{variant}: {FIXED} is the name of what fix adds; rename yours")
    known = variables_by_name(model)
    model.add_component(FIXED, pyo.Constraint(pyo.Any))
    for name, value in variant.fix.items():
        if name not in known:
            near = ", ".join(list(known)[:3])
            raise OptionError(
                f"{variant}: fix names {name!r:.80}, which is no variable of the model; they are "
                f"called {near}, ..."
            )
        model.component(FIXED).add(name, known[name] == value)


def _validate_linear(
    variant: Variant, what: str, expression: Any, before: dict[str, Any], nameable: set[str] | None
) -> None:
    """Raise if an expression is not linear with finite numbers in variables that may be named."""
    try:
        terms = list(coefficients(expression))
    except (OptionError, AttributeError, TypeError, ValueError) as error:
        raise OptionError(
            f"{variant}: {what} is not a linear expression in the model's variables; state it with "
            f"variables and linear constraints of its own"
        ) from error
    for variable, coefficient in terms:
        if not math.isfinite(coefficient):
            raise OptionError(f"{variant}: {what} has the coefficient {coefficient} of {variable}")
        name = variable.parent_component().local_name
        if name in before and nameable is not None and name not in nameable:
            raise OptionError(
                f"{variant}: {what} names {variable.name}, which solutions do not determine; "
                f"variants of {variant.problem} may name: {', '.join(sorted(nameable))}"
            )


def _set_levels(variant: Variant, model: Any, expressions: dict[str, Any]) -> None:
    """Make the variant's levels the model's objectives, in their order, with granularities."""
    import pyomo.environ as pyo

    if variant.levels is None:
        return
    known = dict(getattr(model, "GRANULARITY", {}))
    old = {o.local_name: (o.expr, o.sense) for o in model.component_objects(pyo.Objective)}
    for name in old:
        model.del_component(name)
    model.GRANULARITY = {}
    for level in variant.levels:
        if isinstance(level, Level):
            expression = expressions[level.name]
            sense = pyo.minimize if level.sense == "minimize" else pyo.maximize
            model.GRANULARITY[level.name] = step_of(expression)
            name = level.name
        else:
            name = level
            expression, sense = old[level]
            model.GRANULARITY[level] = known.get(level, 0)
        if model.component(name) is not None:
            raise OptionError(f"{variant}: the level {name} has the name of a component; rename it")
        model.add_component(name, pyo.Objective(expr=expression, sense=sense))


def step_of(expression: Any) -> Fraction:
    """Return a number of which an expression's values are multiples; 0 if none is known."""
    if not all(v.is_integer() or v.is_binary() for v, _ in coefficients(expression)):
        return Fraction(0)
    terms, constant = exact_coefficients(expression)
    return granularity([*terms.values(), constant])


def _row_scale(row: Any) -> RowScale:
    """Return what a row is multiplied by, so that solvers' tolerances decide it.

    A row of integer variables becomes one of whole numbers if these are moderate; of others the
    largest coefficient becomes about 1.
    """
    lower, body, upper = row.to_bounded_expression()
    terms, constant = exact_coefficients(body)
    limits = [None if limit is None else exact_value(limit) - constant for limit in (lower, upper)]
    largest = max(map(abs, terms.values()), default=Fraction(0))
    if not largest:
        return RowScale(Fraction(1), False, terms, *limits)
    if all(v.is_integer() or v.is_binary() for v, c in coefficients(body) if c):
        step = granularity(terms.values())
        if largest / step <= _LARGEST:
            return RowScale(1 / step, True, terms, *limits)
    return RowScale(Fraction(2) ** -round(math.log2(largest)), False, terms, *limits)
