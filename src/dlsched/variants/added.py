"""The digest of what a variant's functions add to an instance's model, in exact arithmetic.

Results have it beside the variant's identity, which has neither data files, nor the environment,
nor anything else that a function reads while it is called.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from dlsched.errors import OptionError
from dlsched.solvers.row_scale import ExactRow
from dlsched.variants.definition import Variant
from dlsched.variants.exact_values import exact_coefficients


def digest_of_added(
    variant: Variant,
    instance: Any,
    rows: Iterable[ExactRow],
    variables: Iterable[Any],
    levels: Mapping[str, Any],
    names: Mapping[int, str],
) -> str:
    """Return the digest of what was added; the order and the names of rows do not count.

    Parameters
    ----------
    rows, variables, levels
        What was added: constraints, variables, expressions of levels by name.
    names
        Of the variables, by their ids.

    Raises
    ------
    OptionError
        If the variant has added something else to the instance's model before.
    """
    pieces = [f"row {row.lower} {_named(row.terms, names)} {row.upper}" for row in rows]
    pieces += [f"variable {v.name} {v.bounds} {v.is_integer()}" for v in variables]
    for name, expression in levels.items():
        terms, constant = exact_coefficients(expression)
        pieces.append(f"level {name} {_named(terms, names)} {constant}")
    digest = hashlib.sha256("\0".join(sorted(pieces)).encode()).hexdigest()
    if variant.added.setdefault(instance.sha256, digest) != digest:
        raise OptionError(
            f"{variant}: its functions added something else to the model of {instance.name} than "
            f"when they were called before; let them read neither a clock, nor random numbers, "
            f"nor what changes meanwhile, or make the variant again"
        )
    return digest


def _named(terms: Mapping[int, Any], names: Mapping[int, str]) -> list[tuple[str, str]]:
    return sorted((names[key], str(c)) for key, c in terms.items() if c)
