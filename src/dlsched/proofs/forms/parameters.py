"""What a proof states for a form, read: integers and ratios, of bounded size.

A proof may come from anyone. So its numbers are numbers of the types that JSON has for them, and
none is so long that computing with it takes long.
"""

import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, TypeAlias

Parameters: TypeAlias = Mapping[str, Any]
"""What a form is derived from beside the instance, by name."""
MOST_BITS = 4000
"""No integer of a proof has more."""
_RATIO = re.compile(r"-?[0-9]{1,1000}(/[0-9]{1,1000})?", re.ASCII)


def ratio(value: object) -> Fraction:
    """Return the number that a text ``p`` or ``p/q`` is.

    Raises
    ------
    ValueError
        If it is no such text, q is 0, or one of them has more than 1000 digits.
    """
    if not isinstance(value, str) or not _RATIO.fullmatch(value):
        raise ValueError("a ratio must be a text, p or p/q")
    try:
        return Fraction(value)
    except ZeroDivisionError:
        raise ValueError("a ratio must not be divided by 0") from None


def whole(value: object) -> bool:
    """Whether this is an integer, of at most `MOST_BITS` bits."""
    return isinstance(value, int) and not isinstance(value, bool) and value.bit_length() < MOST_BITS


def wholes(values: object) -> bool:
    """Whether this is a list of such integers."""
    return isinstance(values, (list, tuple)) and all(map(whole, values))


def require_keys(
    form: str, parameters: Parameters, needed: Iterable[str], optional: Iterable[str] = ()
) -> None:
    """Raise ValueError if a parameter is missing, or one is not a form's."""
    needed = list(needed)
    missing = [key for key in needed if key not in parameters]
    if missing:
        raise ValueError(f"the form {form} needs the parameter {missing[0]}")
    unknown = sorted(set(parameters) - {*needed, *optional})
    if unknown:
        raise ValueError(f"the form {form} has no parameter {unknown[0]}")
