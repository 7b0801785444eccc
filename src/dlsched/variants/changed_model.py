"""The Pyomo model of a variant: the problem's whole model, and what the variant adds to it."""

import hashlib
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from io import StringIO
from itertools import islice
from typing import Any

from dlsched.errors import DlschedError, OptionError, describe, spelled
from dlsched.solvers.row_scale import ExactRow
from dlsched.variants.definition import Level, Variant
from dlsched.variants.exact_values import Linear, coefficients, exact_coefficients
from dlsched.variants.kept import OWN, Kept
from dlsched.variants.names import Names, add_beside, named_jobs
from dlsched.variants.rows import (
    exact_row,
    false_row,
    row_scale,
    step_of,
    units_of,
    validate_variable,
    validated,
)

FIXED = "fixed"
"""The model's constraint that holds what a variant fixes, by the variables' names."""
_RESERVED = (FIXED, *OWN)
"""Names that a variant may not use, because the library sets them itself after its functions."""
_REPLACING = "Implicitly replacing the Component attribute "
"""How Pyomo's warning begins that a component was set where one was."""
_LOGGING = threading.RLock()
"""Held while what Pyomo logs is taken: its loggers are those of all threads."""


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
    """

    model: Any
    constraints: list[Any]
    variables: list[Any]
    expressions: dict[str, Any]
    signs: dict[str, int]

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
    def levels(self) -> dict[str, Linear]:
        """The variant's own levels in exact arithmetic, by name."""
        return {name: exact_coefficients(e) for name, e in self.expressions.items()}

    @cached_property
    def added_costs(self) -> list[dict[int, Fraction]]:
        """The costs of the added variables in the variant's own levels, to minimize, in order."""
        return [
            {k: self.signs[name] * c for k, c in level.terms.items() if k in self.added and c}
            for name, level in self.levels.items()
        ]

    @cached_property
    def digest(self) -> str:
        """The digest of what the functions added, whatever the order and the names of rows.

        Results have it beside the variant's identity, which has neither data files, nor the
        environment, nor anything else that a function reads while it is called.
        """
        names = {key: v.name for key, v in self.named.items()}
        names |= {id(v): v.name for v in self.variables}

        def named(terms: Mapping[int, Fraction]) -> list[tuple[str, str]]:
            return sorted((names[key], str(c)) for key, c in terms.items() if c)

        pairs = zip(self.constraints, self.stated, strict=True)
        own = [row for entry, row in pairs if not entry.name.startswith(f"{FIXED}[")]
        pieces = [f"row {row.lower} {named(row.terms)} {row.upper}" for row in own]
        pieces += [f"variable {v.name} {v.bounds} {v.is_integer()}" for v in self.variables]
        for name, (terms, constant) in self.levels.items():
            pieces.append(f"level {name} {named(terms)} {constant}")
        return hashlib.sha256("\0".join(sorted(pieces)).encode()).hexdigest()


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
    added = before.added()
    active = [c for c in added if c.ctype is pyo.Constraint and c.active]
    rows = [row for component in active for row in component.values() if row.active]
    variables = [v for c in added if c.ctype is pyo.Var for v in c.values()]
    for variable in variables:
        validate_variable(variant, variable)
    stated = {row.name: validated(variant, row.name, exact_row, row) for row in rows}
    bodies = {row.name: row.body for row in rows}
    bodies |= {f"level {name}": expression for name, expression in expressions.items()}
    for what, body in bodies.items():
        for variable, _ in validated(variant, what, coefficients, body):
            name = variable.parent_component().local_name
            if nameable is not None and name in before.components and name not in nameable:
                raise OptionError(
                    f"{variant}: {what} names {variable.name}, which solutions do not determine; "
                    f"variants of {variant.problem} may name: {', '.join(sorted(nameable))}"
                )
    jobs = named_jobs(model, bodies.values())
    if jobs and state_named is not None:
        with _pyomo_log():
            state_named(model, instance, jobs)
        lost = [c.local_name for c in added if model.component(c.local_name) is not c]
        if lost:
            raise _taken(variant, lost[0])
    _set_levels(variant, model, expressions)
    model.UNITS = units_of(stated.values(), variables)
    model.ROW_SCALES = {row.name: row_scale(row, stated[row.name]) for row in rows}
    signs = {level.name: 1 if level.sense == "minimize" else -1 for level in variant.own_levels}
    change = Change(model, rows, variables, expressions, signs)
    if variant.added.setdefault(instance.sha256, change.digest) != change.digest:
        raise OptionError(
            f"{variant}: its functions added something else to the model of {instance.name} than "
            f"when they were called before; let them read neither a clock, nor random numbers, "
            f"nor what changes meanwhile, or make the variant again"
        )
    empty = [row for row in rows if not stated[row.name].terms]
    _state_impossible(model, [row for row in empty if not stated[row.name].holds(Fraction(0))])
    return change


def _state_impossible(model: Any, rows: list[Any]) -> None:
    """State false rows without terms on a constant, as solvers need it; Pyomo would raise."""
    import pyomo.core as pyo

    if rows:
        impossible, false = pyo.Constraint(pyo.Any), false_row(model)
        add_beside(model, "impossible", impossible)
        for row in rows:
            row.deactivate()
            impossible.add(row.name, false)


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
        with _pyomo_log() as log:  # the error says what it says
            result = function(model, instance)
    except (KeyboardInterrupt, MemoryError, DlschedError):
        raise
    except BaseException as error:
        raise OptionError(f"{variant}: {what} raised {describe(error)}") from error
    _, replaced, text = log.getvalue().partition(_REPLACING)
    if replaced:
        raise OptionError(
            f"{variant}: {what} set m.{text.split()[0]}, which was there, so that what it was "
            f"before would not count; give each component a name of its own, or take a "
            f"ConstraintList"
        )
    return result


@contextmanager
def _pyomo_log() -> Iterator[StringIO]:
    """Yield the text that Pyomo's core logs in this thread within the block; it is not printed."""
    from pyomo.common.log import LoggingIntercept

    own = threading.get_ident()
    with _LOGGING, LoggingIntercept(module="pyomo.core") as text:
        (handler,) = logging.getLogger("pyomo.core").handlers
        handler.addFilter(lambda record: record.thread == own)
        yield text


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
    steps = dict(getattr(model, "GRANULARITY", {}))
    known = {
        o.local_name: (o.expr, o.sense, steps.get(o.local_name, 0))
        for o in model.component_objects(pyo.Objective)
    }
    for name in known:
        model.del_component(name)
    for level in variant.own_levels:
        sense = pyo.minimize if level.sense == "minimize" else pyo.maximize
        expression = expressions[level.name]
        known[level.name] = (expression, sense, step_of(expression))
    model.GRANULARITY = {}
    for entry in variant.levels:
        name = entry.name if isinstance(entry, Level) else entry
        if model.component(name) is not None or name in _RESERVED:
            raise OptionError(f"{variant}: the level {name} has the name of a component; rename it")
        expression, sense, model.GRANULARITY[name] = known[name]
        model.add_component(name, pyo.Objective(expr=expression, sense=sense))
