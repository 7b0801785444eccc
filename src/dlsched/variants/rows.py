"""The rows that a variant adds: their limits, whether they are linear, how they are scaled."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from dlsched.errors import OptionError
from dlsched.schema import granularity
from dlsched.solvers.row_scale import RowScale
from dlsched.variants.definition import Variant
from dlsched.variants.exact_values import coefficients, exact_coefficients, exact_value
from dlsched.variants.names import add_beside
from dlsched.variants.tightening import Column, differ_much, with_smaller

_LARGEST = 2**40
"""Rows are not scaled to integers above this, beyond which solvers cannot tell them apart."""


def limits(row: Any) -> tuple[Fraction | None, Any, Fraction | None]:
    """Return a row's lower limit, its body and its upper limit; None where there is no limit.

    Raises
    ------
    ValueError
        If no finite number satisfies a limit, or it is no number.
    """
    lower, body, upper = row.to_bounded_expression()
    return _limit(lower, -math.inf), body, _limit(upper, math.inf)


def _limit(limit: Any, none: float) -> Fraction | None:
    if limit is None:
        return None
    try:
        return exact_value(limit)
    except (OverflowError, ValueError):
        if float(limit() if callable(limit) else limit) == none:
            return None
        raise


def validate_row(variant: Variant, row: Any, before: Any, nameable: set[str] | None) -> None:
    """Raise `OptionError` if a row has a limit that is no number, or is not linear."""
    try:
        limits(row)
    except (OverflowError, TypeError, ValueError) as error:
        raise OptionError(
            f"{variant}: {row.name} has a limit that is no finite number, which nothing satisfies; "
            f"give a number, or leave the row out"
        ) from error
    validate_linear(variant, row.name, row.body, before, nameable)


def validate_linear(
    variant: Variant, what: str, expression: Any, before: Any, nameable: set[str] | None
) -> None:
    """Raise if an expression is not linear with finite numbers in variables that may be named.

    Parameters
    ----------
    before
        Has the names of the problem's components.
    """
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


def validate_variable(variant: Variant, variable: Any) -> None:
    """Make an added variable one that solvers and the evaluation take alike.

    A fixed one gets its value as both bounds; the bounds of one in whole numbers become whole.

    Raises
    ------
    OptionError
        If its domain has gaps, no value is within its bounds, or it is fixed elsewhere.
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
    value, (low, high) = variable.value, variable.bounds
    fits = value is not None and math.isfinite(value)
    fits = fits and (low is None or value >= low) and (high is None or value <= high)
    if not fits or (variable.is_integer() and value != round(value)):
        raise OptionError(
            f"{variant}: {variable.name} is fixed at {value}, which its domain or bounds exclude"
        )
    return value, value


def state_row(model: Any, rows: Any, row: Any) -> Any:
    """Add a row to a constraint list of a model, and return it; None if it says nothing.

    That of a constant expression is true, and says nothing, or false, and no solution fits it.
    """
    import pyomo.core as pyo

    if not isinstance(row, bool | np.bool_):
        return rows.add(row)
    if row:
        return None
    constant = pyo.Var(bounds=(0, 0))
    add_beside(model, "constant_level", constant)
    return rows.add(constant >= 1)


def step_of(expression: Any) -> Fraction:
    """Return a number of which an expression's values are multiples; 0 if none is known.

    Where a model's integer variables are whole, so are those that its attribute `INTEGRAL` names.
    """
    if not all(map(_is_whole, (v for v, _ in coefficients(expression)))):
        return Fraction(0)
    terms, constant = exact_coefficients(expression)
    return granularity([*terms.values(), constant])


def _is_whole(variable: Any) -> bool:
    integral = getattr(variable.model(), "INTEGRAL", ())
    named = variable.parent_component().local_name in integral
    return named or variable.is_integer() or variable.is_binary()


def row_scale(row: Any) -> RowScale:
    """Return what a row is multiplied by, so that solvers' tolerances decide it.

    A row of integer variables becomes one of whole numbers if these are moderate; of others the
    largest coefficient becomes about 1. One whose coefficients differ too much for a solver gets
    smaller ones first, if it needs no larger.
    """
    from pyomo.core.expr import identify_variables

    lower, body, upper = limits(row)
    terms, constant = exact_coefficients(body)
    low, high = (None if limit is None else limit - constant for limit in (lower, upper))
    terms = {key: coefficient for key, coefficient in terms.items() if coefficient}
    variables = [v for v in identify_variables(body, include_fixed=False) if id(v) in terms]
    whole = all(v.is_integer() or v.is_binary() for v in variables)
    columns = {id(v): Column.of(v) for v in variables}
    return _scale(*with_smaller(terms, low, high, columns), whole)


def _scale(
    terms: dict[int, Fraction], low: Fraction | None, high: Fraction | None, whole: bool
) -> RowScale:
    largest = max(map(abs, terms.values()), default=Fraction(0))
    if not largest:
        return RowScale(Fraction(1), False, terms, low, high)
    if whole:
        step = granularity(terms.values())
        if largest / step <= _LARGEST:
            return RowScale(1 / step, True, terms, low, high)
    power = -round(math.log2(largest))
    return RowScale(
        Fraction(2) ** power, False, terms, low, high, beyond=whole and differ_much(terms)
    )
