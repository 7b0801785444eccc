"""What a variant says of a solution of its problem: violations and levels, in exact arithmetic."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from dlsched.results.result import UNDECIDED, Violation
from dlsched.schema import Number, simplify
from dlsched.solvers.row_scale import ExactRow
from dlsched.variants.changed_model import Change
from dlsched.variants.exact_program import Choice, best_values, contradiction
from dlsched.variants.exact_values import exact, sum_of
from dlsched.variants.rows import column_of


class Evaluation:
    """The changed model of one instance, whose other variables have a solution's values.

    The variables that the variant added get the best values for its levels in their order.
    """

    def __init__(self, change: Change) -> None:
        self.change = change
        self._values = {key: exact(v.value) for key, v in change.named.items()}

    def violations(self) -> Iterator[Violation]:
        """Yield the added constraints that the model's values violate.

        The added variables get their values: none, if none fit.
        """
        values = self._values
        over_added = []
        for row, stated in zip(self.change.constraints, self.change.stated, strict=True):
            if self.change.added.isdisjoint(stated.terms):
                yield from _violated(row, stated, values)
            else:
                over_added.append((row, stated))
        if not self.change.variables:
            return
        rows = [_at(stated, values) for _, stated in over_added]
        columns = {id(v): column_of(v) for v in self.change.variables}
        choice = best_values(columns, rows, self.change.added_costs)
        if choice.status == "optimal":
            self._values = {**values, **choice.values}
            for variable in self.change.variables:
                value = choice.values[id(variable)]
                whole = value.denominator == 1
                variable.set_value(int(value) if whole else float(value), skip_validation=True)
        else:
            yield _no_values(choice, [row for row, _ in over_added])

    def levels(self) -> dict[str, Number]:
        """Return the values of the variant's own levels, where `violations` gave values to all."""
        return {n: simplify(level.at(self._values)) for n, level in self.change.levels.items()}


def _at(row: ExactRow, values: Mapping[int, Fraction]) -> ExactRow:
    """Return what a row says of the other variables where some have values."""
    known = sum_of({key: c for key, c in row.terms.items() if key in values}, values)
    terms = {key: c for key, c in row.terms.items() if key not in values}
    return ExactRow(terms, *(None if end is None else end - known for end in row[1:]))


def _violated(row: Any, stated: ExactRow, values: Mapping[int, Fraction]) -> Iterator[Violation]:
    """Yield how a constraint is violated whose variables all have values."""
    value = sum_of(stated.terms, values)
    for limit, sign, words in ((stated.lower, 1, "at least"), (stated.upper, -1, "at most")):
        if limit is not None and sign * (limit - value) > 0:
            said = f"is {_text(value)}, must be {words} {_text(limit)}"
            kind = row.parent_component().local_name
            missing = simplify(sign * (limit - value))
            yield Violation(kind, row.name, f"{row.name} {said}", missing)


def _no_values(choice: Choice, rows: Sequence[Any]) -> Violation:
    """Return why the added variables have no best values."""
    if choice.status == "undecided":
        words = "the added variables have too many rows or ranges for the exact check"
        return Violation(UNDECIDED, "variables", f"not decided: {words}")
    if choice.status == "unbounded":
        words = "a level improves without end in the added variables; give them bounds"
        return Violation("variables", "variables", words)
    reason = contradiction([row.name for row in rows], choice.rows)
    words = f"no values of the added variables fit the solution: {reason}"
    return Violation("variables", "variables", words)


def _text(value: Fraction) -> str:
    return str(value) if value.denominator == 1 else f"{float(value):.12g}"


def first_of(violations: Sequence[Violation]) -> str:
    """Return the first violation in words, and how many more there are."""
    more = f" (and {len(violations) - 1} more)" if len(violations) > 1 else ""
    return f"{violations[0].message}{more}"
