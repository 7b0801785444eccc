"""Exact numbers: how they are read, compared and written.

Numbers are kept as the file writes them: an ``int``, or a ``fractions.Fraction`` equal to the
decimal, so that checkers can compute exactly while ``float(x)`` stays lossless.
"""

import json
import math
import numbers
from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

from dlsched.schema.flaws import Flaw, brief

Number: TypeAlias = int | Fraction
"""An exact number: what the checkers compute with."""

LARGEST = 10**15
"""No number in a file may be larger: sums of a million of them still fit 64 bits exactly enough."""

_LEAST_EXPONENT = -330
"""No double but 0 is smaller than ten to this power."""


class Unusable:
    """A JSON literal that is no quantity (NaN, 1e400); it is refused with its path."""

    def __init__(self, text: str, problem: str, remedy: str) -> None:
        self.text = text
        self.problem = problem
        self.remedy = remedy


def exact(value: object) -> Number:
    """Return `value` as an exact number: the shortest decimal that reads as this double.

    Raises
    ------
    Flaw
        If it is not a number, not finite, beyond 1e15, or has more digits than a double keeps.
    """
    # Nearly all numbers of a workload; the tests of abstract classes below take ten times as long.
    if type(value) is int and -LARGEST <= value <= LARGEST:
        return value
    if type(value) is Fraction:
        return _exactly(value, value)
    if type(value) is float and -LARGEST <= value <= LARGEST:
        return simplify(Fraction(*Decimal(repr(value)).as_integer_ratio()))
    if isinstance(value, Unusable):
        raise Flaw((), f"{value.text} {value.problem}", value.remedy)
    if isinstance(value, bool) or not isinstance(value, (numbers.Real, Decimal)):
        raise Flaw((), f"{shown(value)} is not a number", "write a plain number without quotes")
    if isinstance(value, numbers.Integral):
        number: Number = int(value)
    elif isinstance(value, Fraction):
        number = value
    elif isinstance(value, Decimal):
        number = _from_decimal(value)
    else:
        double = float(value)
        number = Fraction(repr(double)) if math.isfinite(double) else _infinite(value)
    return _exactly(number, value)


def _exactly(number: Number, value: object) -> Number:
    """Return a number if it is within 1e15 and a double's shortest decimal, in integers."""
    n, d = number.numerator, number.denominator
    if not -LARGEST * d <= n <= LARGEST * d:
        raise Flaw((), f"{shown(value)} is too large", "use a unit that keeps it within 1e15")
    if d == 1:
        return n
    if Decimal(repr(n / d)).as_integer_ratio() != (n, d):
        raise Flaw((), f"{shown(value)} has more digits than a double", "round it to 15 digits")
    return number


def _from_decimal(value: Decimal) -> Fraction:
    """Convert only what is in reach: 1e999999999 as a fraction would fill the memory."""
    if not value.is_finite():
        return _infinite(value)
    if not value:
        return Fraction(0)
    if value.adjusted() < _LEAST_EXPONENT:
        raise Flaw((), f"{shown(value)} has more digits than a double", "round it to 15 digits")
    if value.adjusted() >= 2 * len(str(LARGEST)):
        return Fraction(2 * LARGEST)
    return Fraction(value)


def _infinite(value: object) -> Fraction:
    raise Flaw((), f"{value} is not a finite number", "write a finite decimal")


def whole(value: object) -> int:
    """Return `value` as an int; a decimal, even 2.0, is refused because the thing is indivisible.

    Raises
    ------
    Flaw
        If it is not a whole number.
    """
    number = exact(value)
    if isinstance(value, bool) or not isinstance(value, int | numbers.Integral):
        raise Flaw((), f"{shown(value)} is not a whole number", "write an integer without a point")
    return int(number)


def shown(value: object) -> str:
    """Return a value for a message, shortened before it is spelled: it may be of any size."""
    if isinstance(value, Unusable):
        return value.text
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, (list, tuple, set, frozenset)):
        return "a list"
    if isinstance(value, (int, Fraction)) and not -(LARGEST**2) < value < LARGEST**2:
        return "the number"
    if isinstance(value, Fraction):
        return str(float(value))
    return brief(json.dumps(value[:80] if isinstance(value, str) else value, default=str))


def simplify(number: Number) -> Number:
    """Return a whole fraction as an int, any other number as it is."""
    return int(number) if number.denominator == 1 else number


def to_json(number: Number | float) -> int | float:
    """Return a number as a JSON number, a fraction as the nearest double."""
    return number if isinstance(number, int) else float(number)


def granularity(values: Iterable[Number]) -> Fraction:
    """Return the largest number of which all the values are multiples; 0 if all are 0."""
    fractions = [Fraction(v) for v in values if v]
    denominator = math.lcm(*(v.denominator for v in fractions))
    numerators = [int(v * denominator) for v in fractions]
    return Fraction(math.gcd(*numerators), denominator)
