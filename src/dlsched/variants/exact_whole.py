"""A small variant solved in fractions, where a solver's doubles cannot tell what its rows say.

The whole model and what the variant adds are one program of `exact_program`, whose optimum is
exact. Its size is limited by the operations that it takes: beyond, nothing is decided.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from dlsched.results.objective import Bound
from dlsched.results.result import Claim, Report, Status
from dlsched.run import Run, Stage
from dlsched.solvers.row_scale import ExactRow
from dlsched.solvers.standard_form import StandardForm, compile_model
from dlsched.variants.changed_model import Change
from dlsched.variants.exact_program import best_values
from dlsched.variants.exact_values import exact
from dlsched.variants.tightening import Column, Terms

METHOD = "simplex method in fractions"
"""What found a bound."""
_EXACT = 2.0**53
"""Integers below this are exact in doubles."""
_MOST_COLUMNS = 2_000
"""Of a program that is tried."""


def solve_exactly(
    change: Change, run: Run, read: Callable[[], Any], check: Callable[[Any], Report]
) -> Claim | None:
    """Return the optimum of a variant, or that it has no solution; ``None`` if it is too large.

    Parameters
    ----------
    read
        Returns the solution that the values of the model's variables describe.
    check
        Checks a solution of the variant. Where its levels differ from the program's, the model
        has rounded numbers, and nothing is decided.
    """
    form = compile_model(change.model)
    rows, levels = _problem_rows(form, change), _levels(form, change)
    if rows is None or levels is None or form.shape[1] > _MOST_COLUMNS:
        return None
    run.announce(Stage.SEARCHING, f"in fractions, {form.size}")
    columns = _columns(form)
    names = [row.name for row in change.constraints]
    choice = best_values(columns, [*change.stated, *rows], levels, run.stop_reason)
    if choice.status == "infeasible":
        own = [names[i] for i in choice.rows if i < len(names)]
        reason = f"proved in fractions: no solution fits {', '.join(own) or 'the model'}"
        return Claim(status=Status.INFEASIBLE, reason=reason)
    if choice.status != "optimal":
        return None
    for variable in form.variables:
        variable.set_value(float(choice.values[id(variable)]), skip_validation=True)
    solution = read()
    report = check(solution)
    values = [
        _value(terms, choice.values) * form.sign(i) + _constant(form, change, i)
        for i, terms in enumerate(levels)
    ]
    if report.objective is None or not report.feasible or [*report.objective] != values:
        return None
    bounds = [[Bound(value, "certified", METHOD)] for value in report.objective]
    return Claim(solution, Status.OPTIMAL, "proved in fractions", bounds=bounds)


def _columns(form: StandardForm) -> dict[int, Column]:
    """Return the variables by id."""
    columns = {}
    for variable, integer in zip(form.variables, form.integer.tolist(), strict=True):
        low, high = (None if b is None or np.isinf(b) else exact(b) for b in variable.bounds)
        columns[id(variable)] = Column(low, high, integer)
    return columns


def _problem_rows(form: StandardForm, change: Change) -> list[ExactRow] | None:
    """Return the rows of the problem; ``None`` if they may have been rounded."""
    added = {id(row) for row in change.constraints}
    matrix = form.A.tocsr()
    rows = []
    for i, constraint in enumerate(form.constraints):
        if id(constraint) in added:
            continue
        span = slice(matrix.indptr[i], matrix.indptr[i + 1])
        ends = [form.row_lower[i], form.row_upper[i]]
        if not all(map(_whole, [*matrix.data[span].tolist(), *ends])):
            return None
        keys = [id(form.variables[j]) for j in matrix.indices[span].tolist()]
        terms = dict(zip(keys, map(Fraction, matrix.data[span].tolist()), strict=True))
        rows.append(ExactRow(terms, *(None if np.isinf(end) else Fraction(end) for end in ends)))
    return rows


def _whole(number: float) -> bool:
    return bool(np.isinf(number)) or (float(number).is_integer() and abs(number) < _EXACT)


def _levels(form: StandardForm, change: Change) -> list[Terms] | None:
    """Return the costs of all levels, to minimize; ``None`` if they may have been rounded."""
    levels: list[Terms] = []
    for i, name in enumerate(form.level_names):
        known = change.levels.get(name)
        if known is not None:
            levels.append({key: form.sign(i) * c for key, c in known.terms.items() if c})
        elif form.counted(i):
            unit, costs, _ = form.scaled(i)
            levels.append(
                {
                    id(form.variables[j]): form.sign(i) * unit * Fraction(costs[j])
                    for j in np.flatnonzero(costs).tolist()
                }
            )
        else:
            return None
    return levels


def _constant(form: StandardForm, change: Change, level: int) -> Fraction:
    known = change.levels.get(form.level_names[level])
    unit, _, offset = form.scaled(level)
    return unit * Fraction(offset) if known is None else known.constant


def _value(terms: Terms, values: Any) -> Fraction:
    return sum((c * values[key] for key, c in terms.items()), Fraction(0))
