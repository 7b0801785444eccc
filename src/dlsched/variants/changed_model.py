"""The Pyomo model of a variant: the problem's whole model, and what the variant adds to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

from dlsched.errors import DlschedError, OptionError, describe, spelled
from dlsched.solvers.row_scale import ExactRow
from dlsched.variants.added import digest_of_added
from dlsched.variants.definition import Level, Variant
from dlsched.variants.exact_values import exact_coefficients, sum_of
from dlsched.variants.kept import OWN, Kept
from dlsched.variants.names import Names, add_beside, named_jobs
from dlsched.variants.pyomo_log import pyomo_warnings
from dlsched.variants.rows import (
    exact_row,
    row_scale,
    step_of,
    units_of,
    validate_linear,
    validate_row,
    validate_variable,
)

FIXED = "fixed"
"""The model's constraint that holds what a variant fixes, by the variables' names."""
_RESERVED = (FIXED, *OWN)
"""Names that a variant may not use, because the library sets them itself after its functions."""
_REPLACING = "Implicitly replacing the Component attribute "
"""How Pyomo's warning begins that a component was set where one was."""


class ExactLevel(NamedTuple):
    """A level in exact arithmetic: coefficients by the ids of variables, and a constant."""

    terms: dict[int, Fraction]
    constant: Fraction

    def at(self, values: Mapping[int, Fraction]) -> Fraction:
        """Return its value where variables have values."""
        return sum_of(self.terms, values, self.constant)


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
    signs
        1 for such a level that is minimized, -1 for one that is maximized.
    digest
        Of what the variant's functions added.
    """

    model: Any
    constraints: list[Any]
    variables: list[Any]
    expressions: dict[str, Any]
    signs: dict[str, int]
    digest: str

    @cached_property
    def stated(self) -> list[ExactRow]:
        """The added constraints in exact arithmetic."""
        return [self.model.ROW_SCALES[row.name].stated for row in self.constraints]

    @cached_property
    def added(self) -> set[int]:
        """The ids of the added variables."""
        return {id(variable) for variable in self.variables}

    @cached_property
    def named(self) -> dict[int, Any]:
        """The problem's variables that the added constraints and levels name, by id."""
        from pyomo.core.expr import identify_variables

        bodies = [*(row.body for row in self.constraints), *self.expressions.values()]
        variables = {
            id(v): v for body in bodies for v in identify_variables(body, include_fixed=False)
        }
        return {key: v for key, v in variables.items() if key not in self.added}

    @cached_property
    def levels(self) -> dict[str, ExactLevel]:
        """The variant's own levels in exact arithmetic, by name."""
        return {name: ExactLevel(*exact_coefficients(e)) for name, e in self.expressions.items()}

    @cached_property
    def added_costs(self) -> list[dict[int, Fraction]]:
        """The costs of the added variables in the variant's own levels, to minimize, in order."""
        return [
            {k: self.signs[name] * c for k, c in level.terms.items() if k in self.added and c}
            for name, level in self.levels.items()
        ]


def change_model(
    variant: Variant,
    model: Any,
    instance: Any,
    nameable: set[str] | None,
    state_named: Callable[[Any, Any, list[Any]], None] | None = None,
) -> Change:
    """Change a model in place.

    Parameters
    ----------
    model
        The problem's whole model of the instance, with its levels as objectives.
    nameable
        Names of the variables that a variant may name; ``None`` for all.
    state_named
        ``state_named(model, instance, jobs)`` states what the variables mean that are there only
        for the jobs that the variant names.

    Raises
    ------
    OptionError
        If the variant's function raises, adds nothing, changes a component of the problem, names a
        variable that it may not, or adds something that is not linear; or if a variable that is to
        be fixed is not there.
    """
    import pyomo.core as pyo
    from pyomo.core.expr import identify_variables

    before = Kept(variant, model)
    if variant.constrain is not None:
        _call(variant, "constrain", variant.constrain, model, instance)
        before.validate()
        if not before.added():
            raise OptionError(
                f"{variant}: constrain added nothing to the model of {instance.name}; assign "
                f"components to m, as m.few = pyo.Constraint(...)"
            )
    expressions = {
        level.name: _call(variant, f"level {level.name}", level.expr, model, instance)
        for level in variant.own_levels
    }
    before.validate()
    _refuse_components(variant, model, before.added())
    fix_variables(variant, model)
    rows = [
        entry
        for component in before.added()
        if component.ctype is pyo.Constraint and component.active
        for entry in component.values()
        if entry.active
    ]
    variables = [
        entry
        for component in before.added()
        if component.ctype is pyo.Var
        for entry in component.values()
    ]
    for variable in variables:
        validate_variable(variant, variable)
    for row in rows:
        validate_row(variant, row, before, nameable)
    for name, expression in expressions.items():
        validate_linear(variant, f"level {name}", expression, before, nameable)
    bodies = [*(row.body for row in rows), *expressions.values()]
    jobs = named_jobs(model, bodies)
    if jobs and state_named is not None:
        added = before.added()
        with pyomo_warnings():
            state_named(model, instance, jobs)
        lost = [c.local_name for c in added if model.component(c.local_name) is not c]
        if lost:
            raise _taken(variant, lost[0])
    _set_levels(variant, model, expressions)
    stated = {row.name: exact_row(row) for row in rows}
    own = [row for name, row in stated.items() if not name.startswith(f"{FIXED}[")]
    names = {id(v): v.name for body in bodies for v in identify_variables(body)}
    digest = digest_of_added(variant, instance, own, variables, expressions, names)
    _state_impossible(model, [row for row in rows if _impossible(stated[row.name])])
    model.UNITS = units_of(stated.values(), variables)
    model.ROW_SCALES = {row.name: row_scale(row, stated[row.name]) for row in rows}
    signs = {level.name: 1 if level.sense == "minimize" else -1 for level in variant.own_levels}
    return Change(model, rows, variables, expressions, signs, digest)


def _impossible(row: ExactRow) -> bool:
    """Whether a row without terms is false."""
    return not row.terms and not row.holds(Fraction(0))


def _state_impossible(model: Any, rows: list[Any]) -> None:
    """State false rows without terms on a constant, as solvers need it; Pyomo would raise."""
    import pyomo.core as pyo

    if not rows:
        return
    constant = pyo.Var(bounds=(0, 0))
    add_beside(model, "constant", constant)
    impossible = pyo.Constraint(pyo.Any)
    add_beside(model, "impossible", impossible)
    for row in rows:
        row.deactivate()
        impossible.add(row.name, constant >= 1)


def _refuse_components(variant: Variant, model: Any, added: list[Any]) -> None:
    """Refuse added components of a kind or a name that variants have no use for."""
    import pyomo.core as pyo

    known = (pyo.Var, pyo.Constraint, pyo.Set, pyo.Param, pyo.Expression, pyo.RangeSet)
    for name in _RESERVED:
        if model.component(name) is not None:
            raise _taken(variant, name)
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


def _taken(variant: Variant, name: str) -> OptionError:
    return OptionError(f"{variant}: {name} is a name of what this library adds; rename yours")


def _call(variant: Variant, what: str, function: Any, model: Any, instance: Any) -> Any:
    """Call a function of the variant's, and turn whatever it raises into one error."""
    try:
        # The error says what Pyomo logs.
        with pyomo_warnings() as warnings:
            result = function(model, instance)
    except (KeyboardInterrupt, MemoryError, DlschedError):
        raise
    except BaseException as error:
        raise OptionError(f"{variant}: {what} raised {describe(error)}") from error
    for warning in warnings:
        if warning.startswith(_REPLACING):
            name = warning.removeprefix(_REPLACING).split()[0]
            raise OptionError(
                f"{variant}: {what} set m.{name}, which was there, so that what it was before "
                f"would not count; give each component a name of its own, or take a ConstraintList"
            )
    return result


def fix_variables(variant: Variant, model: Any, names: Names | None = None) -> None:
    """Add a row for each variable that is to be fixed."""
    import pyomo.core as pyo

    if not variant.fix:
        return
    names = names or Names(model)
    model.add_component(FIXED, pyo.Constraint(pyo.Any))
    for name, value in variant.fix.items():
        try:
            variable = names.find(name)
        except OptionError as error:
            raise OptionError(f"{variant}: fix: {error}") from error
        if variable is None:
            known = (v.name for v in model.component_data_objects(pyo.Var))
            raise OptionError(
                f"{variant}: fix names {spelled(name)}, which is no variable of the model; they "
                f"are called {', '.join(islice(known, 3))}, ..."
            )
        model.component(FIXED).add(name, variable == value)


def _set_levels(variant: Variant, model: Any, expressions: dict[str, Any]) -> None:
    """Make the variant's levels the model's objectives, in their order, with granularities."""
    import pyomo.core as pyo

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
        if model.component(name) is not None or name in _RESERVED:
            raise OptionError(f"{variant}: the level {name} has the name of a component; rename it")
        model.add_component(name, pyo.Objective(expr=expression, sense=sense))
