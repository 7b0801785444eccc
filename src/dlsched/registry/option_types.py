"""What the value of a method's option must be, by the annotation of its parameter."""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Callable
from typing import Any


def _number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return False
    return not math.isnan(value)


def _whole(value: object) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


_TYPES: dict[str, tuple[str, Callable[[object], bool]]] = {
    "bool": ("True or False", lambda value: isinstance(value, bool)),
    "int": ("a whole number", _whole),
    "float": ("a number", _number),
    "str": ("a text", lambda value: isinstance(value, str)),
}


def fault(parameter: inspect.Parameter, value: Any) -> str:
    """Return what is wrong with the value of an option; an empty text if nothing is.

    Annotations other than ``bool``, ``int``, ``float`` and ``str`` accept anything.
    """
    words, accepts = _TYPES.get(str(parameter.annotation), ("", lambda _: True))
    return "" if accepts(value) else f"{parameter.name}={value!r:.40} must be {words}"
