"""Types of fields: amounts, counts, ids, labels and dates."""

import datetime
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator, StringConstraints, WithJsonSchema

from dlsched.schema.flaws import Flaw
from dlsched.schema.quantities import Number, exact, shown, to_json, whole


def _at_least(convert: Callable[[object], Number], low: int, strict: bool = False) -> Any:
    def validate(value: object) -> Number:
        number = convert(value)
        above = number.numerator - low * number.denominator
        if above < 0 or (strict and not above):
            remedy = f"write a number {'above' if strict else 'at least'} {low}"
            raise Flaw((), f"{shown(value)} is too small", remedy)
        return number

    return PlainValidator(validate)


def _day(value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"\d{4}-\d{2}-\d{2}", value):
        raise Flaw((), f"{shown(value)} is not a date", 'write "YYYY-MM-DD"')
    try:
        datetime.date.fromisoformat(value)
    except ValueError:
        raise Flaw((), f"{shown(value)} is not in the calendar", 'write "YYYY-MM-DD"') from None
    return value


_SPELL = PlainSerializer(to_json)
Amount = Annotated[
    int | Fraction, _at_least(exact, 0), _SPELL, WithJsonSchema({"type": "number", "minimum": 0})
]
PositiveAmount = Annotated[
    int | Fraction,
    _at_least(exact, 0, strict=True),
    _SPELL,
    WithJsonSchema({"type": "number", "exclusiveMinimum": 0}),
]
SignedAmount = Annotated[
    int | Fraction, PlainValidator(exact), _SPELL, WithJsonSchema({"type": "number"})
]
Count = Annotated[int, _at_least(whole, 0), WithJsonSchema({"type": "integer", "minimum": 0})]
PositiveCount = Annotated[
    int, _at_least(whole, 1), WithJsonSchema({"type": "integer", "minimum": 1})
]
Id = Annotated[str, StringConstraints(strict=True, min_length=1)]
Label = Annotated[str, StringConstraints(strict=True, min_length=1, max_length=200)]
Day = Annotated[str, PlainValidator(_day), WithJsonSchema({"type": "string", "format": "date"})]
