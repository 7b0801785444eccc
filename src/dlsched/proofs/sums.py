"""Sums: columns added to a form, each of whole multiples of its integer columns.

A sum is whole at every solution, so a tree may split it as it splits a column. Nothing more is
known of it: it has the bounds that follow from those of its columns.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from dlsched.proofs.forms.form import Form, Row
from dlsched.results.proof import Sum


class InvalidSum(ValueError):
    """A sum that need not be whole."""


def with_sums(form: Form, rows: Sequence[Row], sums: Iterable[Sum]) -> tuple[Form, list[Row]]:
    """Return the form with a column for each sum, to be split first, and the rows of all columns.

    After the rows that are given comes one for each sum, which says what its column is.

    Raises
    ------
    InvalidSum
        If a sum has what is not an integer column of the form.
    """
    columns = len(form.lower)
    lower, upper = list(form.lower), list(form.upper)
    rows = list(rows)
    for entries in sums:
        if not all(0 <= j < columns and form.integer[j] for j in entries):
            raise InvalidSum("a sum has what is no integer column of the form")
        ends = [sorted((a * form.lower[j], a * form.upper[j])) for j, a in entries.items()]
        rows.append(Row({**entries, len(lower): -1}, 0, 0))
        lower.append(sum(low for low, _ in ends))
        upper.append(sum(high for _, high in ends))
    integer = [*form.integer, *[True] * (len(lower) - columns)]
    first = frozenset(range(columns, len(lower))) or form.first
    return replace(form, lower=lower, upper=upper, integer=integer, first=first), rows
