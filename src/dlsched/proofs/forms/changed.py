"""The form of a variant: a form of its problem, and what the variant adds, in exact arithmetic.

A coefficient that a variant gives is the decimal that it prints as, as in the check of solutions.
Its rows are multiplied by a whole number, so that nothing of them is rounded. The columns of added
variables have their bounds, in the model's units; those of a continuous variable that are no
integers are rows.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import numpy as np

from dlsched.proofs.forms.compiled import form_of
from dlsched.proofs.forms.form import Form, Goal, Row
from dlsched.schema import granularity
from dlsched.solvers.row_scale import ExactRow
from dlsched.solvers.standard_form import StandardForm
from dlsched.variants.changed_model import Change
from dlsched.variants.exact_values import exact, exact_coefficients
from dlsched.variants.tightening import Column, with_smaller

_BITS = 20
"""Rows whose integers have more bits than this are scaled for the search."""


class _Bounds(NamedTuple):
    """Those of a variable as the column has them, and rows for what these leave out."""

    lower: int
    upper: int
    rows: list[Row]


def model_form(name: str, change: Change, compiled: StandardForm) -> Form:
    """Return the form of a variant's model, as it was compiled.

    Raises
    ------
    ValueError
        If a column has no finite bounds.
    """
    added = {id(row) for row in change.constraints}
    kept = [i for i, row in enumerate(compiled.constraints) if id(row) not in added]
    columns = {id(v): j for j, v in enumerate(compiled.variables)}
    lower, upper = compiled.lower.copy(), compiled.upper.copy()
    for variable in change.variables:
        if id(variable) in columns:
            _require_bounds(variable)
            j = columns[id(variable)]
            lower[j], upper[j] = 0, 0
    problem = replace(
        compiled,
        A=compiled.A.tocsr()[kept].tocsc(),
        row_lower=compiled.row_lower[kept],
        row_upper=compiled.row_upper[kept],
        lower=np.array(lower),
        upper=np.array(upper),
        constraints=[compiled.constraints[i] for i in kept],
    )
    return changed_form(form_of(name, problem), change, columns)


def changed_form(form: Form, change: Change, columns: Mapping[int, int]) -> Form:
    """Return a form with what a variant adds.

    Parameters
    ----------
    form
        Of the problem: without the variant's rows, with its levels.
    columns
        The position of each variable's column, by the id of the variable. Those of added variables
        are appended if they are not among them.
    """
    positions = dict(columns)
    units = {key: Fraction(unit) for key, unit in change.model.UNITS.items()}
    lower, upper, integer = list(form.lower), list(form.upper), list(form.integer)
    rows = list(form.rows)
    for variable in change.variables:
        if variable.fixed:
            continue
        j = positions.setdefault(id(variable), len(lower))
        bounds = _bounds(variable, j, units.get(id(variable), Fraction(1)))
        if j == len(lower):
            lower.append(bounds.lower)
            upper.append(bounds.upper)
            integer.append(_is_whole(variable))
        lower[j], upper[j] = bounds.lower, bounds.upper
        rows += bounds.rows
    box = [
        Column(Fraction(low), Fraction(high), whole)
        for low, high, whole in zip(lower, upper, integer, strict=True)
    ]
    for stated in change.stated:
        if stated.terms or not stated.holds(Fraction(0)):
            rows.append(_row(stated, positions, units, box))
    known = {goal.name: goal for goal in form.goals}
    goals = []
    for objective in change.model.component_objects(ctype=_objective()):
        expression = change.expressions.get(objective.local_name)
        if expression is None:
            goals.append(known[objective.local_name])
        else:
            sign: Literal[1, -1] = 1 if objective.is_minimizing() else -1
            goals.append(_goal(objective.local_name, sign, expression, positions, units, integer))
    return replace(form, lower=lower, upper=upper, integer=integer, rows=rows, goals=goals)


def _is_whole(variable: Any) -> bool:
    return bool(variable.is_integer() or variable.is_binary())


def _require_bounds(variable: Any) -> None:
    if None in variable.bounds or not all(map(math.isfinite, map(float, variable.bounds))):
        raise ValueError(f"{variable.name} needs finite bounds, as every column of a form")


def _bounds(variable: Any, column: int, unit: Fraction) -> _Bounds:
    """Return the bounds of an added variable: whole ones, with rows for a fraction of them."""
    _require_bounds(variable)
    low, high = (exact(bound) / unit for bound in variable.bounds)
    if _is_whole(variable):
        return _Bounds(math.ceil(low), math.floor(high), [])
    rows = []
    if low.denominator > 1:
        rows.append(Row({column: low.denominator}, low.numerator, None))
    if high.denominator > 1:
        rows.append(Row({column: high.denominator}, None, high.numerator))
    return _Bounds(math.floor(low), math.ceil(high), rows)


def _terms(
    known: Mapping[int, Fraction], positions: Mapping[int, int], units: Mapping[int, Fraction]
) -> dict[int, Fraction]:
    """Return the coefficients by column of what has some by variable."""
    return {positions[key]: c * units.get(key, 1) for key, c in known.items() if c}


def _row(
    stated: ExactRow,
    positions: Mapping[int, int],
    units: Mapping[int, Fraction],
    box: list[Column],
) -> Row:
    """Return an added constraint in integers; in whole columns its sides are rounded inward."""
    in_columns = ExactRow(_terms(stated.terms, positions, units), stated.lower, stated.upper)
    terms, *sides = with_smaller(in_columns, {j: box[j] for j in in_columns.terms})
    unit = granularity(terms.values()) or Fraction(1)
    if not all(box[j].integer for j in terms):
        unit = granularity([*terms.values(), *filter(None, sides)]) or Fraction(1)
    cells = {j: int(value / unit) for j, value in terms.items()}
    low, high = (None if side is None else side / unit for side in sides)
    largest = max(map(abs, cells.values()), default=0)
    return Row(
        cells,
        None if low is None else math.ceil(low),
        None if high is None else math.floor(high),
        max(0, largest.bit_length() - _BITS),
    )


def _objective() -> Any:
    from pyomo.core import Objective

    return Objective


def _goal(
    name: str,
    sign: Literal[1, -1],
    expression: Any,
    positions: Mapping[int, int],
    units: Mapping[int, Fraction],
    integer: list[bool],
) -> Goal:
    """Return a variant's own level in integers.

    One of continuous columns is proved to nine digits: a tree's multipliers are rounded.
    """
    known, constant = exact_coefficients(expression)
    terms = _terms(known, positions, units)
    unit = granularity([*terms.values(), constant]) or Fraction(1)
    costs = {j: sign * int(value / unit) for j, value in terms.items()}
    whole = all(integer[j] for j in terms)
    return Goal(name, sign, costs, sign * int(constant / unit), unit, whole)
