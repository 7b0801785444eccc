"""What a variant says of a solution of its problem: violations and levels, in exact arithmetic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from dlsched.results.result import Violation
from dlsched.schema import Number, simplify
from dlsched.variants.added_values import AddedValues
from dlsched.variants.changed_model import Change
from dlsched.variants.exact_values import coefficients, exact, exact_value
from dlsched.variants.rows import limits

_PRECISION = Fraction(1, 10**9)
"""To what part of its largest term a row with added continuous variables must hold."""


class Evaluation:
    """The changed model of one instance, evaluated at solutions.

    The problem's variables have the values that a solution gives them; the variables that the
    variant added are chosen here, the best for its levels in their order, unless they are given.

    Parameters
    ----------
    values
        Of the added variables, by name, as a proof states them; no solver is then called.
    """

    def __init__(self, change: Change, values: Mapping[str, Number] | None = None) -> None:
        self.change = change
        self.values = values
        self._added = AddedValues(change)

    def violations(self) -> Iterator[Violation]:
        """Yield the added constraints that the model's values violate.

        The added variables get their values first.
        """
        if self.change.variables:
            choose = self._added.choose
            contradiction = choose() if self.values is None else self._take(self.values)
            if contradiction:
                yield Violation("variables", "variables", contradiction)
                return
        for row in self.change.constraints:
            yield from self._violated(row)

    def levels(self) -> dict[str, Number]:
        """Return the values of the variant's own levels at the model's values."""
        return {
            name: simplify(exact_value(expression))
            for name, expression in self.change.expressions.items()
        }

    def _violated(self, row: Any) -> Iterator[Violation]:
        lower, body, upper = limits(row)
        value, least = exact_value(body), Fraction(0)
        if any(v.is_continuous() for v, _ in coefficients(body)):
            terms = [abs(exact(c) * exact(v.value)) for v, c in coefficients(body)]
            least = _PRECISION * max(terms, default=Fraction(0))
        for limit, sign, words in ((lower, 1, "at least"), (upper, -1, "at most")):
            if limit is None:
                continue
            missing = sign * (limit - value)
            if missing > least:
                said = f"is {_text(value)}, must be {words} {_text(limit)}"
                kind = row.parent_component().local_name
                yield Violation(kind, row.name, f"{row.name} {said}", simplify(missing))

    def _take(self, values: Mapping[str, Number]) -> str:
        """Give the added variables these values; return which of them cannot be had."""
        for variable in self.change.variables:
            if variable.fixed:
                continue
            value = values.get(variable.name)
            if value is None:
                return f"{variable.name} has no value"
            low, high = (None if b is None else exact(b) for b in variable.bounds)
            below = low is not None and exact(value) < low
            above = high is not None and exact(value) > high
            whole = variable.is_integer() or variable.is_binary()
            if below or above or (whole and exact(value).denominator > 1):
                return f"{variable.name} cannot be {_text(exact(value))}"
            variable.set_value(value, skip_validation=True)
        return ""


def _text(value: Fraction) -> str:
    return str(value) if value.denominator == 1 else f"{float(value):.12g}"


def describe(violations: Sequence[Violation]) -> str:
    """Return the first violation in words, and how many more there are."""
    more = f" (and {len(violations) - 1} more)" if len(violations) > 1 else ""
    return f"{violations[0].message}{more}"
