"""The values of the variables that a variant added, best for its levels at a solution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dlsched.results.result import Status
from dlsched.run import Run
from dlsched.solvers import highs
from dlsched.solvers.iis import infeasibility_reason
from dlsched.solvers.standard_form import INF, StandardForm, compile_model
from dlsched.variants.changed_model import Change
from dlsched.variants.exact_choice import ExactChoice, Row
from dlsched.variants.exact_values import exact, exact_coefficients
from dlsched.variants.tightening import Column, Terms, tightened


class _Stated(NamedTuple):
    """A row over the added variables, of the constraint that it is a part of."""

    constraint: Any
    row: Row


class AddedValues:
    """The changed model of one instance, whose other variables have a solution's values."""

    def __init__(self, change: Change) -> None:
        self.change = change

    @cached_property
    def _form(self) -> StandardForm:
        return compile_model(self.change.model)

    def choose(self) -> str:
        """Give the added variables their values; return what contradicts itself if there are none.

        By integer programs over the rows in which they occur; where a solver cannot tell what a row
        of integer variables says, by an exact search if it ends soon.
        """
        added = {id(v) for v in self.change.variables}
        variables = [v for v in self._form.variables if id(v) in added]
        columns = {id(v): Column.of(v) for v in variables}
        stated = self._stated(columns)
        bounded = all(
            c.integer and c.lower is not None and c.upper is not None for c in columns.values()
        )
        if bounded and any(entry.row.too_wide for entry in stated):
            search = ExactChoice([entry.row for entry in stated], self._levels(columns))
            if search.solve(columns):
                return self._take(search.best, variables)
        return self._solve(self._program(stated, variables))

    def _stated(self, columns: Mapping[int, Column]) -> list[_Stated]:
        """Return the added constraints that say something of the added variables."""
        scales = {row: self.change.model.ROW_SCALES[row.name] for row in self.change.constraints}
        scales = {row: s for row, s in scales.items() if not columns.keys().isdisjoint(s.terms)}
        needed = {key for scale in scales.values() for key in scale.terms} - columns.keys()
        values = {id(v): exact(v.value) for v in self._form.variables if id(v) in needed}
        return [
            _Stated(constraint, Row(*parts))
            for constraint, scale in scales.items()
            for parts in tightened(scale, columns, values)
        ]

    def _levels(self, columns: Mapping[int, Column]) -> list[Terms]:
        """Return the levels' costs of the added variables, to minimize."""
        import pyomo.core as pyo

        levels = []
        for objective in self.change.model.component_objects(pyo.Objective, active=True):
            if objective.local_name not in self.change.expressions:
                continue  # the problem's own
            terms, _ = exact_coefficients(objective.expr)
            sign = 1 if objective.sense == pyo.minimize else -1
            levels.append({key: sign * c for key, c in terms.items() if key in columns})
        return levels

    @staticmethod
    def _take(best: Mapping[int, int] | None, variables: Sequence[Any]) -> str:
        if best is None:
            return "no whole values of the added variables fit the solution"
        for variable in variables:
            variable.set_value(best[id(variable)], skip_validation=True)
        return ""

    def _solve(self, form: StandardForm) -> str:
        run = Run()
        for level, costs in enumerate(form.costs):
            if level and not costs.any():
                continue
            outcome = highs.solve(form, level, run, quiet=True)
            if outcome.values is None or outcome.status is not Status.OPTIMAL:
                return _contradiction(form, run, outcome.status)
            form.load(outcome.values)
            form = form.held(level, form.value(level, outcome.values))
        return ""

    def _program(self, stated: Sequence[_Stated], variables: Sequence[Any]) -> StandardForm:
        """Return the rows and the levels, with the added variables as columns."""
        from scipy import sparse

        whole = self._form
        place = {id(v): column for column, v in enumerate(variables)}
        free = np.array([id(v) in place for v in whole.variables], dtype=bool)
        entries = [
            (float(coefficient), i, place[key])
            for i, (_, row) in enumerate(stated)
            for key, coefficient in row.terms.items()
        ]
        data, at_row, at_column = np.array(entries).reshape(-1, 3).T
        lower = [-INF if row.lower is None else float(row.lower) for _, row in stated]
        upper = [INF if row.upper is None else float(row.upper) for _, row in stated]
        return replace(
            whole,
            A=sparse.csc_array((data, (at_row, at_column)), shape=(len(stated), len(variables))),
            row_lower=np.array(lower),
            row_upper=np.array(upper),
            lower=whole.lower[free],
            upper=whole.upper[free],
            integer=whole.integer[free],
            costs=tuple(costs[free] for costs in whole.costs),
            offsets=(0.0,) * len(whole.costs),
            granularities=(Fraction(0),) * len(whole.costs),
            variables=variables,
            constraints=[constraint for constraint, _ in stated],
        )


def _contradiction(form: StandardForm, run: Run, status: Status) -> str:
    if status is Status.UNBOUNDED:
        return "a level improves without end in the added variables; give them bounds"
    reason = infeasibility_reason(form, run)
    return f"no values of the added variables fit the solution: {reason}"
