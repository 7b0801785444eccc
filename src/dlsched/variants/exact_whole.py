"""A small variant solved in fractions, where a solver's doubles cannot tell what its rows say.

The whole model and what the variant adds are one program of `exact_program`, whose optimum is
exact. Its size is limited by the operations that it takes: beyond, nothing is decided.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dlsched.results.objective import Bound
from dlsched.results.result import Claim, Report, Status
from dlsched.run import Run, Stage
from dlsched.schema import Number
from dlsched.solvers.row_scale import ExactRow
from dlsched.solvers.standard_form import StandardForm, compile_model
from dlsched.variants.changed_model import Change, ExactLevel
from dlsched.variants.exact_program import best_values, contradiction
from dlsched.variants.exact_values import exact
from dlsched.variants.tightening import Column

METHOD = "simplex method in fractions"
"""What found a bound."""
_EXACT = 2.0**53
"""Integers below this are exact in doubles."""
MOST_COLUMNS = 2_000
"""Of a program that is tried."""


@dataclass(frozen=True)
class ExactWhole:
    """The changed model of an instance as a program in fractions.

    Attributes
    ----------
    read
        Returns the solution that the values of the model's variables describe.
    check
        Checks a solution of the variant.
    assign
        Gives the model's variables the values of a solution.
    """

    change: Change
    run: Run
    read: Callable[[], Any]
    check: Callable[[Any], Report]
    assign: Callable[[Any], None]

    def solve(self, known: Any = None, proved: Sequence[Number] = ()) -> Claim | None:
        """Return the optimum, or that there is none; ``None`` if nothing is decided.

        That is so if the program is too large, or the model has rounded numbers.

        Parameters
        ----------
        known
            A solution.
        proved
            The values of the first levels that are known to be optimal; they are held.
        """
        form, rows, levels = self._form, self._rows, self._levels
        if rows is None or levels is None or form.shape[1] > MOST_COLUMNS:
            return None
        self.run.announce(Stage.SEARCHING, f"in fractions, {form.size}")
        held = {
            f"hold_{name}": _held(level, value)
            for (name, level), value in zip(levels.items(), proved, strict=False)
        }
        signed = [
            {key: form.sign(i) * c for key, c in level.terms.items() if c}
            for i, level in enumerate(levels.values())
        ]
        stated = rows | held
        costs = signed[len(held) :]
        start = None if known is None else self._point(known)
        choice = best_values(self._columns, [*stated.values()], costs, start, self.run.stop_reason)
        if choice.status == "infeasible" and not held:
            reason = contradiction([*stated], choice.rows)
            return Claim(status=Status.INFEASIBLE, reason=f"{reason} (proved in fractions)")
        if choice.status != "optimal":
            return None
        for variable in form.variables:
            variable.set_value(float(choice.values[id(variable)]), skip_validation=True)
        solution = self.read()
        report = self.check(solution)
        values = [level.at(choice.values) for level in levels.values()]
        if report.objective is None or not report.feasible or [*report.objective] != values:
            return None
        bounds = [[Bound(value, "certified", METHOD)] for value in report.objective]
        return Claim(solution, Status.OPTIMAL, "proved in fractions", bounds=bounds)

    @cached_property
    def _form(self) -> StandardForm:
        return compile_model(self.change.model)

    @cached_property
    def _columns(self) -> dict[int, Column]:
        """The variables by id."""
        columns = {}
        pairs = zip(self._form.variables, self._form.integer.tolist(), strict=True)
        for variable, integer in pairs:
            low, high = (None if b is None or np.isinf(b) else exact(b) for b in variable.bounds)
            columns[id(variable)] = Column(low, high, integer)
        return columns

    @cached_property
    def _rows(self) -> dict[str, ExactRow] | None:
        """The rows by name; ``None`` if some of the problem may have been rounded."""
        form, change = self._form, self.change
        added = {id(row) for row in change.constraints}
        rows = dict(zip((row.name for row in change.constraints), change.stated, strict=True))
        matrix = form.A.tocsr()
        for i, constraint in enumerate(form.constraints):
            if id(constraint) in added:
                continue
            span = slice(matrix.indptr[i], matrix.indptr[i + 1])
            ends = [form.row_lower[i], form.row_upper[i]]
            numbers = matrix.data[span].tolist()
            if not all(map(_whole, [*numbers, *ends])):
                return None
            keys = [id(form.variables[j]) for j in matrix.indices[span].tolist()]
            limits = (None if np.isinf(end) else Fraction(end) for end in ends)
            terms = dict(zip(keys, map(Fraction, numbers), strict=True))
            rows[form.row_names[i]] = ExactRow(terms, *limits)
        return rows

    @cached_property
    def _levels(self) -> dict[str, ExactLevel] | None:
        """The levels by name; ``None`` if some of the problem may have been rounded."""
        form = self._form
        levels = {}
        for i, name in enumerate(form.level_names):
            if name in self.change.levels:
                levels[name] = self.change.levels[name]
                continue
            costs, step = form.costs[i], form.granularities[i]
            used = np.flatnonzero(costs).tolist()
            exactly = [_multiple(float(c), step) for c in [*costs[used], form.offsets[i]]]
            known = [number for number in exactly if number is not None]
            if len(known) < len(exactly) or form.offset_error(i):
                return None
            keys = (id(form.variables[j]) for j in used)
            levels[name] = ExactLevel(dict(zip(keys, known, strict=False)), known[-1])
        return levels

    def _point(self, solution: Any) -> Mapping[int, Fraction] | None:
        """Return the values of all variables at a solution; ``None`` if some have none."""
        self.assign(solution)
        values = {id(v): v.value for v in self._form.variables}
        return None if None in values.values() else {k: exact(v) for k, v in values.items()}


def _whole(number: float) -> bool:
    return bool(np.isinf(number)) or (float(number).is_integer() and abs(number) < _EXACT)


def _multiple(number: float, step: Fraction) -> Fraction | None:
    """Return the multiple of a level's granularity that a double stands for, if it is clear."""
    if not number:
        return Fraction(0)
    if step <= 4 * Fraction(np.spacing(abs(number))):
        return None
    return round(Fraction(number) / step) * step


def _held(level: ExactLevel, value: Number) -> ExactRow:
    """Return the row that a level has a value."""
    rest = Fraction(value) - level.constant
    return ExactRow(level.terms, rest, rest)
