"""What a variant says of a solution of its problem: violations and levels, in exact arithmetic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from dlsched.results.result import Status, Violation
from dlsched.run import Run
from dlsched.schema import Number, simplify
from dlsched.solvers import highs
from dlsched.solvers.iis import infeasibility_reason
from dlsched.solvers.standard_form import StandardForm, compile_model
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
        self._rows: StandardForm | None = None

    def violations(self) -> Iterator[Violation]:
        """Yield the added constraints that the model's values violate.

        The added variables get their values first.
        """
        if self.change.variables:
            contradiction = self._choose() if self.values is None else self._take(self.values)
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

    def _choose(self) -> str:
        """Give the added variables their values; return what contradicts itself if there are none.

        By a program over the rows in which they occur, where all other variables are constants.
        """
        whole = self._form()
        added = {id(v) for v in self.change.variables}
        free = np.array([id(v) in added for v in whole.variables], dtype=bool)
        at = np.array(
            [0.0 if f else float(v.value) for f, v in zip(free, whole.variables, strict=True)]
        )
        rows = np.flatnonzero(abs(whole.A)[:, free].sum(axis=1) > 0)
        constant = whole.A[rows] @ at
        form = replace(
            whole,
            A=whole.A[rows][:, free].tocsc(),
            row_lower=whole.row_lower[rows] - constant,
            row_upper=whole.row_upper[rows] - constant,
            lower=whole.lower[free],
            upper=whole.upper[free],
            integer=whole.integer[free],
            costs=tuple(costs[free] for costs in whole.costs),
            offsets=(0.0,) * len(whole.costs),
            granularities=(Fraction(0),) * len(whole.costs),
            variables=[v for v, f in zip(whole.variables, free, strict=True) if f],
            constraints=[whole.constraints[i] for i in rows.tolist()],
        )
        run = Run()
        for level, costs in enumerate(form.costs):
            if level and not costs.any():
                continue
            outcome = highs.solve(form, level, run, quiet=True)
            if outcome.values is None or outcome.status is not Status.OPTIMAL:
                return self._contradiction(form, run, outcome.status)
            form.load(outcome.values)
            form = form.held(level, form.value(level, outcome.values))
        return ""

    def _contradiction(self, form: StandardForm, run: Run, status: Status) -> str:
        if status is Status.UNBOUNDED:
            return "a level improves without end in the added variables; give them bounds"
        reason = infeasibility_reason(form, run)
        return f"no values of the added variables fit the solution: {reason}"

    def _form(self) -> StandardForm:
        if self._rows is None:
            self._rows = compile_model(self.change.model)
        return self._rows


def _text(value: Fraction) -> str:
    return str(value) if value.denominator == 1 else f"{float(value):.12g}"


def describe(violations: Sequence[Violation]) -> str:
    """Return the first violation in words, and how many more there are."""
    more = f" (and {len(violations) - 1} more)" if len(violations) > 1 else ""
    return f"{violations[0].message}{more}"
