"""Numbers that a caller gives, read exactly, with errors that name their place."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from dlsched.errors import InstanceError
from dlsched.schema.flaws import Flaw
from dlsched.schema.quantities import Number

NumberT = TypeVar("NumberT", int, Number)


def converted(
    value: object, convert: Callable[[object], NumberT], where: str, path: str
) -> NumberT:
    """Return a value as `convert` reads it.

    Raises
    ------
    InstanceError
        With what is wrong with it, at a path of what the caller gave.
    """
    try:
        return convert(value)
    except Flaw as flaw:
        raise InstanceError(where, path, flaw.problem, flaw.remedy) from None
