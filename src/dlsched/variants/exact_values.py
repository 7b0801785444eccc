"""The exact value of a linear expression at a point.

A coefficient is the decimal that it prints as: 0.1 + 0.1 + 0.1 is 0.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from dlsched.errors import OptionError, spelled


def sum_of(
    terms: Mapping[int, Fraction],
    values: Mapping[int, Fraction] | Sequence[Fraction],
    constant: Fraction = Fraction(0),
) -> Fraction:
    """Return what terms add up to where their variables have values, with a constant."""
    return sum((c * values[key] for key, c in terms.items()), constant)


def exact(number: Any) -> Fraction:
    """Return a number as the decimal that it prints as.

    Raises
    ------
    ValueError
        If it is infinite, or no number.
    """
    if isinstance(number, float):  # NumPy's included
        return Fraction(repr(float(number)))
    if isinstance(number, str | bytes):
        raise ValueError(f"{spelled(number)} is no number")
    return Fraction(number)


def exact_value(expression: Any) -> Fraction:
    """Return the value of a Pyomo expression at the values of its variables.

    Raises
    ------
    ValueError
        If a variable has no value, or a constant is no finite number.
    """
    return Fraction(_walk(expression, _leaf))


class _Affine(dict[int, Fraction]):
    """A linear expression: the coefficient of each variable by its id, the constant at 0."""

    def __add__(self, other: Any) -> _Affine:
        result = _Affine(self)
        for key, value in (other if isinstance(other, _Affine) else {0: other}).items():
            result[key] = result.get(key, Fraction(0)) + value
        return result

    __radd__ = __add__

    def __mul__(self, other: Any) -> _Affine:
        return _Affine({key: value * other for key, value in self.items()})

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> _Affine:
        return _Affine({key: value / other for key, value in self.items()})

    def __neg__(self) -> _Affine:
        return self * -1


def exact_coefficients(expression: Any) -> tuple[dict[int, Fraction], Fraction]:
    """Return the coefficients of a linear expression by the ids of its variables; the constant.

    Unlike `coefficients` these are not summed in floating point: 0.1 x + 0.2 x is 0.3 x.

    Raises
    ------
    ValueError
        If a constant is no finite number.
    """

    def leaf(node: Any) -> Any:
        if hasattr(node, "is_variable_type") and node.is_variable_type() and not node.fixed:
            return _Affine({id(node): Fraction(1)})
        return _leaf(node)

    terms = dict(_Affine({0: Fraction(0)}) + _walk(expression, leaf))
    return terms, terms.pop(0)


def _leaf(node: Any) -> Fraction:
    if hasattr(node, "is_potentially_variable") and not node.is_potentially_variable():
        return exact(node.value if hasattr(node, "value") else node())
    return exact(node.value if hasattr(node, "value") else node)


def _walk(expression: Any, leaf: Callable[[Any], Any]) -> Any:
    """Return what an expression's operations make of its leaves' values."""
    from pyomo.core.expr.visitor import StreamBasedExpressionVisitor

    def before(_: Any, child: Any, __: int) -> tuple[bool, Any]:
        if hasattr(child, "is_expression_type") and child.is_expression_type():
            return True, None
        return False, leaf(child)

    def leave(node: Any, values: list[Fraction]) -> Any:
        return values[0] if node.is_named_expression_type() else node._apply_operation(values)

    if not (hasattr(expression, "is_expression_type") and expression.is_expression_type()):
        return leaf(expression)
    walker = StreamBasedExpressionVisitor(beforeChild=before, exitNode=leave)
    return walker.walk_expression(expression)


def coefficients(expression: Any) -> Iterator[tuple[Any, float]]:
    """Yield the variables of a linear expression with their coefficients.

    Raises
    ------
    OptionError
        If it is not linear.
    """
    from pyomo.repn import generate_standard_repn

    form = generate_standard_repn(expression, compute_values=True)
    if not form.is_linear():
        raise OptionError("is not linear")
    yield from zip(form.linear_vars, form.linear_coefs, strict=True)
