"""The rows that a variant adds: their limits, whether they are linear, how they are scaled."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from dlsched.errors import OptionError
from dlsched.schema import granularity
from dlsched.solvers.row_scale import ExactRow, RowScale
from dlsched.variants.definition import Variant
from dlsched.variants.exact_values import coefficients, exact, exact_coefficients
from dlsched.variants.names import add_beside
from dlsched.variants.tightening import Column, differ_much, with_smaller

T = TypeVar("T")
_LARGEST = 2**40
"""Rows are not scaled to integers above this, beyond which solvers cannot tell them apart."""


def validated(variant: Variant, what: str, state: Callable[[Any], T], given: Any) -> T:
    """Return what a function makes of a row or an expression that has to be linear.

    `OptionError` is raised if it is not linear, or a limit or a coefficient is not finite.
    """
    try:
        return state(given)
    except (OverflowError, ValueError) as error:
        raise OptionError(
            f"{variant}: {what} has a limit or a coefficient that is no finite number; give a "
            f"number, or leave it out"
        ) from error
    except (AttributeError, TypeError, ZeroDivisionError) as error:
        raise OptionError(
            f"{variant}: {what} is not a linear expression in the model's variables; state it with "
            f"variables and linear constraints of its own"
        ) from error


def validate_variable(variant: Variant, variable: Any) -> None:
    """Make an added variable one that solvers and the evaluation take alike.

    A fixed one gets its value as both bounds; the bounds of one in whole numbers become whole.

    `OptionError` is raised if its domain has gaps, no value is within its bounds, or it is fixed
    elsewhere.
    """
    if not (variable.is_continuous() or variable.is_integer()):
        raise OptionError(
            f"{variant}: {variable.name} has the domain {variable.domain}, neither an interval nor "
            f"the whole numbers of one; write it as a sum of values times binary variables of "
            f"which one is 1"
        )
    try:
        low, high = variable.bounds
    except ValueError as error:
        raise OptionError(
            f"{variant}: {variable.name} has no value between its bounds: {error}"
        ) from error
    if variable.fixed:
        low, high = _fixed_at(variant, variable)
        variable.unfix()
    if variable.is_integer():
        low = low if low is None or math.isinf(low) else math.ceil(low)
        high = high if high is None or math.isinf(high) else math.floor(high)
    numbers = [bound for bound in (low, high) if bound is not None]
    if any(map(math.isnan, numbers)) or (len(numbers) == 2 and low > high):
        raise OptionError(
            f"{variant}: {variable.name} has no value between its bounds {variable.bounds}"
        )
    if (low, high) != variable.bounds:
        variable.setlb(low)
        variable.setub(high)


def _fixed_at(variant: Variant, variable: Any) -> tuple[float, float]:
    """Return the value at which a variable is fixed, as both bounds."""
    value, column = variable.value, column_of(variable)
    fits = value is not None and math.isfinite(value) and column.has(exact(value))
    if not fits or (column.integer and value != round(value)):
        raise OptionError(
            f"{variant}: {variable.name} is fixed at {value}, which its domain or bounds exclude"
        )
    return value, value


def state_row(model: Any, rows: Any, row: Any) -> Any:
    """Add a row to a constraint list of a model, and return it; None if it says nothing.

    That of a constant expression is true, and says nothing, or false, and no solution fits it.
    """
    if not isinstance(row, bool | np.bool_):
        return rows.add(row)
    return None if row else rows.add(false_row(model))


def false_row(model: Any) -> Any:
    """Return a row that nothing satisfies; its only variable is added to the model."""
    import pyomo.core as pyo

    constant = pyo.Var(bounds=(0, 0))
    add_beside(model, "constant", constant)
    return constant >= 1


def step_of(expression: Any) -> Fraction:
    """Return a number of which an expression's values are multiples; 0 if none is known."""
    if not all(map(is_whole, (v for v, _ in coefficients(expression)))):
        return Fraction(0)
    terms, constant = exact_coefficients(expression)
    return granularity([*terms.values(), constant])


def is_whole(variable: Any) -> bool:
    """Whether a variable's values are integers.

    So are those of continuous ones that the model's attribute `INTEGRAL` names.
    """
    integral = getattr(variable.model(), "INTEGRAL", ())
    return not variable.is_continuous() or variable.parent_component().local_name in integral


def column_of(variable: Any) -> Column:
    """Return the bounds of a variable, and whether it is integer."""
    low, high = (None if b is None or math.isinf(b) else exact(b) for b in variable.bounds)
    return Column(low, high, is_whole(variable))


def exact_row(row: Any) -> ExactRow:
    """Return a row in exact arithmetic, without the terms that are 0."""
    lower, body, upper = row.to_bounded_expression()
    terms, constant = exact_coefficients(body)
    nonzero = {key: c for key, c in terms.items() if c}
    return ExactRow(nonzero, _limit(lower, -math.inf, constant), _limit(upper, math.inf, constant))


def _limit(limit: Any, none: float, constant: Fraction) -> Fraction | None:
    if limit is None or (limit() if callable(limit) else limit) == none:
        return None
    return exact_coefficients(limit).constant - constant


def units_of(rows: Iterable[ExactRow], added: Iterable[Any]) -> dict[int, float]:
    """Return units for the added continuous variables in which rows have similar coefficients.

    They are powers of two, which round nothing: a size in bytes or in GB is the same program.
    Rows and columns are divided in turn by the middle of their largest and smallest sizes.

    Returns
    -------
    dict
        By the ids of the variables.
    """
    units = {id(variable): 0.0 for variable in added if variable.is_continuous()}
    sizes = [
        {key: _logarithm(c) for key, c in row.terms.items()}
        for row in rows
        if not units.keys().isdisjoint(row.terms)
    ]
    for _ in range(_ROUNDS):
        in_rows = defaultdict(list)
        for terms in sizes:
            middle = _middle([size + units.get(key, 0.0) for key, size in terms.items()])
            for key in units.keys() & terms.keys():
                in_rows[key].append(terms[key] - middle)
        units |= {key: -_middle(values) for key, values in in_rows.items()}
    return {key: 2.0 ** round(max(-_FARTHEST, min(_FARTHEST, u))) for key, u in units.items()}


_ROUNDS = 20
"""Until sizes change no more."""
_FARTHEST = 300
"""Units are within two to minus and plus this, so that doubles hold them."""


def _logarithm(number: Fraction) -> float:
    return math.log2(abs(number.numerator)) - math.log2(number.denominator)


def _middle(values: Sequence[float]) -> float:
    return (min(values) + max(values)) / 2


def row_scale(row: Any, stated: ExactRow | None = None) -> RowScale:
    """Return a row for solvers, multiplied so that their tolerances decide it.

    A row of integer variables becomes one of whole numbers if these are moderate; of others the
    largest coefficient becomes about 1, in the units of the model. Integer variables have smaller
    coefficients first, where these suffice and they differ too much for a solver.

    `stated`: the row in exact arithmetic, if it is known.
    """
    from pyomo.core.expr import identify_variables

    stated = stated or exact_row(row)
    variables = {id(v): v for v in identify_variables(row.body, include_fixed=False)}
    columns = {key: column_of(variables[key]) for key in stated.terms}
    smaller = with_smaller(stated, columns)
    units = getattr(row.model(), "UNITS", {})
    scaled = {key: abs(c) * Fraction(units.get(key, 1)) for key, c in smaller.terms.items()}
    largest = max(scaled.values(), default=Fraction(0))
    if not largest:
        return RowScale(stated, smaller, Fraction(1), False)
    if all(columns[key].integer for key in smaller.terms):
        step = granularity(smaller.terms.values())
        if largest / step <= _LARGEST:
            return RowScale(stated, smaller, 1 / step, True)
    factor = Fraction(2) ** -round(_logarithm(largest))
    return RowScale(stated, smaller, factor, False, differ_much(scaled))
