"""Whether a variant's functions add the same each time that they are called for an instance.

A clock or random numbers that a function reads are in no digest. What variants of one digest added
to an instance's model is remembered for the process, and compared where it is built again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from dlsched.errors import OptionError
from dlsched.variants.exact_values import coefficients, exact_coefficients
from dlsched.variants.rows import limits

_MOST = 10_000
"""Number of instances and variants that are remembered."""
_ADDED: dict[tuple[str, str], str] = {}


def require_same(
    variant: Any, instance: Any, rows: list[Any], variables: list[Any], levels: dict[str, Any]
) -> None:
    """Raise `OptionError` if a variant has added something else to the instance's model before.

    Parameters
    ----------
    rows, variables, levels
        What was added: constraints, variables, expressions of levels by name.
    """
    key = (variant.sha256, instance.sha256)
    total = hashlib.sha256()
    for piece in sorted(_texts(rows, variables, levels)):
        total.update(piece.encode() + b"\0")
    added = total.hexdigest()
    if len(_ADDED) >= _MOST:
        _ADDED.clear()
    if _ADDED.setdefault(key, added) != added:
        raise OptionError(
            f"{variant}: its functions added something else to the model of {instance.name} than "
            f"when they were called before; let them read neither a clock, nor random numbers, "
            f"nor what they change themselves"
        )


def _texts(rows: list[Any], variables: list[Any], levels: dict[str, Any]) -> Iterator[str]:
    """Yield a text of each; of a row without its name, so that the order of rows is free."""
    for row in rows:
        lower, body, upper = limits(row)
        yield f"row {lower} {_linear(body)} {upper}"
    for variable in variables:
        yield f"variable {variable.name} {variable.bounds} {variable.is_integer()}"
    for name, expression in levels.items():
        yield f"level {name} {_linear(expression)}"


def _linear(expression: Any) -> str:
    terms, constant = exact_coefficients(expression)
    names = {id(variable): variable.name for variable, _ in coefficients(expression)}
    named = sorted((names[key], str(c)) for key, c in terms.items() if c)
    return f"{named} {constant}"
