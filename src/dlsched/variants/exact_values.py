"""Linear expressions in exact arithmetic.

A coefficient is the decimal that it prints as: 0.1 + 0.1 + 0.1 is 0.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from dlsched.errors import spelled


def sum_of(
    terms: Mapping[int, Fraction],
    values: Mapping[int, Fraction] | Sequence[Fraction],
    constant: Fraction = Fraction(0),
) -> Fraction:
    """Return what terms add up to where their variables have values, with a constant."""
    return sum((c * values[key] for key, c in terms.items()), constant)


def exact(number: Any) -> Fraction:
    """Return a number as the decimal that it prints as.

    `ValueError` is raised if it is infinite, or no number.
    """
    if isinstance(number, float):  # NumPy's included
        return Fraction(repr(float(number)))
    if isinstance(number, str | bytes):
        raise ValueError(f"{spelled(number)} is no number")
    return Fraction(number)


class Linear(NamedTuple):
    """A linear expression: coefficients by the ids of variables, and a constant."""

    terms: dict[int, Fraction]
    constant: Fraction

    def at(self, values: Mapping[int, Fraction]) -> Fraction:
        """Return its value where variables have values."""
        return sum_of(self.terms, values, self.constant)


class _Affine(dict[int, Fraction]):
    """A linear expression that is being added up: its constant has the key 0."""

    def __add__(self, other: Any) -> _Affine:
        result = _Affine(self)
        for key, value in (other if isinstance(other, _Affine) else {0: other}).items():
            result[key] = result.get(key, Fraction(0)) + value
        return result

    __radd__ = __add__

    def __mul__(self, other: Any) -> _Affine:
        if isinstance(other, _Affine):
            raise TypeError("a product of variables is not linear")
        return _Affine({key: value * other for key, value in self.items()})

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> _Affine:
        return _Affine({key: value / other for key, value in self.items()})

    def __neg__(self) -> _Affine:
        return self * -1


def exact_coefficients(expression: Any) -> Linear:
    """Return a Pyomo expression, whose fixed variables are constants.

    `ValueError` or `OverflowError` is raised if one of its numbers is not finite; `TypeError` or
    `AttributeError` if it is not linear.
    """
    from pyomo.core.expr.visitor import StreamBasedExpressionVisitor

    def before(_: Any, child: Any, __: int) -> tuple[bool, Any]:
        return (True, None) if _is_expression(child) else (False, _leaf(child))

    def leave(node: Any, values: list[Any]) -> Any:
        return values[0] if node.is_named_expression_type() else node._apply_operation(values)

    walker = StreamBasedExpressionVisitor(beforeChild=before, exitNode=leave)
    walked = walker.walk_expression(expression) if _is_expression(expression) else _leaf(expression)
    terms = dict(_Affine({0: Fraction(0)}) + walked)
    return Linear(terms, terms.pop(0))


def _is_expression(node: Any) -> bool:
    return hasattr(node, "is_expression_type") and node.is_expression_type()


def _leaf(node: Any) -> Any:
    if hasattr(node, "is_variable_type") and node.is_variable_type() and not node.fixed:
        return _Affine({id(node): Fraction(1)})
    if hasattr(node, "value"):
        return exact(node.value)
    return exact(node() if hasattr(node, "is_potentially_variable") else node)


def coefficients(expression: Any) -> list[tuple[Any, Fraction]]:
    """Return the variables of a linear expression with their coefficients, but for those of 0."""
    from pyomo.core.expr import identify_variables

    terms = exact_coefficients(expression).terms
    variables = identify_variables(expression, include_fixed=False)
    return [(variable, terms[id(variable)]) for variable in variables if terms[id(variable)]]
