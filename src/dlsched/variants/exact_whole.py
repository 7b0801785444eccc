"""A small variant solved in fractions, where a solver's doubles cannot tell what its rows say.

The whole model and what the variant adds are one program of `exact_program`, whose optimum is
exact. Its size is limited by the operations that it takes: beyond, nothing is decided.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from dlsched.results.objective import Bound
from dlsched.results.result import Claim, Status
from dlsched.run import Run, Stage
from dlsched.schema import Number
from dlsched.schema.envelope import Instance
from dlsched.schema.solution import Solution
from dlsched.solvers.row_scale import ExactRow
from dlsched.solvers.standard_form import StandardForm, compile_model
from dlsched.variants.changed_model import Change
from dlsched.variants.exact_program import best_values, contradiction
from dlsched.variants.exact_values import Linear, exact
from dlsched.variants.problem import ChangedProblem
from dlsched.variants.rows import column_of

METHOD = "simplex method in fractions"
"""What found a bound."""
_EXACT = 2.0**53
"""Integers below this are exact in doubles."""
MOST_COLUMNS = 2_000
"""Of a program that is tried."""


def solve_in_fractions(
    problem: ChangedProblem,
    instance: Instance,
    run: Run,
    known: Solution | None = None,
    proved: Sequence[Number] = (),
) -> Claim | None:
    """Return a variant's optimum, or that there is none; ``None`` if nothing is decided.

    That is so if the program is too large, or the model has rounded numbers.

    Parameters
    ----------
    known
        A solution.
    proved
        The values of the first levels that are known to be optimal; they are held.
    """
    change = problem.model.change(instance)
    form = compile_model(change.model)
    rows, levels = _rows(form, change), _levels(form, change)
    if rows is None or levels is None or form.shape[1] > MOST_COLUMNS:
        return None
    run.announce(Stage.SEARCHING, f"in fractions, {form.size}")
    for (name, level), value in zip(levels.items(), proved, strict=False):
        rest = Fraction(value) - level.constant
        rows[f"hold_{name}"] = ExactRow(level.terms, rest, rest)
    costs = [
        {key: form.sign(i) * c for key, c in level.terms.items()}
        for i, level in enumerate(levels.values())
    ]
    columns = {id(variable): column_of(variable) for variable in form.variables}
    start: Mapping[int, Fraction] | None = None
    if known is not None:
        problem.model.assign(instance, change.model, known)
        if all(variable.value is not None for variable in form.variables):
            start = {id(variable): exact(variable.value) for variable in form.variables}
    choice = best_values(columns, [*rows.values()], costs[len(proved) :], start, run.stop_reason)
    if choice.status == "infeasible" and not proved:
        reason = contradiction([*rows], choice.rows)
        return Claim(status=Status.INFEASIBLE, reason=f"{reason} (proved in fractions)")
    if choice.status != "optimal":
        return None
    for variable in form.variables:
        variable.set_value(float(choice.values[id(variable)]), skip_validation=True)
    solution = problem.model.read(instance, change.model)
    report = problem.check(instance, solution)
    values = [level.at(choice.values) for level in levels.values()]
    if report.objective is None or not report.feasible or [*report.objective] != values:
        return None
    bounds = [[Bound(value, "certified", METHOD)] for value in report.objective]
    return Claim(solution, Status.OPTIMAL, "proved in fractions", bounds=bounds)


def _rows(form: StandardForm, change: Change) -> dict[str, ExactRow] | None:
    """Return the rows by name; ``None`` if some of the problem may have been rounded."""
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
        low, high = (None if np.isinf(end) else Fraction(end) for end in ends)
        terms = dict(zip(keys, map(Fraction, numbers), strict=True))
        rows[form.row_names[i]] = ExactRow(terms, low, high)
    return rows


def _whole(number: float) -> bool:
    return bool(np.isinf(number)) or (float(number).is_integer() and abs(number) < _EXACT)


def _levels(form: StandardForm, change: Change) -> dict[str, Linear] | None:
    """Return the levels by name; ``None`` if some of the problem may have been rounded."""
    levels = dict.fromkeys(form.level_names, Linear({}, Fraction(0))) | change.levels
    for i, name in enumerate(form.level_names):
        if name in change.levels:
            continue
        used = np.flatnonzero(form.costs[i]).tolist()
        numbers = [*form.costs[i][used].tolist(), form.offsets[i]]
        exactly = [_multiple(number, form.granularities[i]) for number in numbers]
        known = [number for number in exactly if number is not None]
        if len(known) < len(exactly) or form.offset_error(i):
            return None
        keys = [id(form.variables[j]) for j in used]
        levels[name] = Linear(dict(zip(keys, known, strict=False)), known[-1])
    return levels


def _multiple(number: float, step: Fraction) -> Fraction | None:
    """Return the multiple of a level's granularity that a double stands for, if it is clear."""
    if not number:
        return Fraction(0)
    if step <= 4 * Fraction(np.spacing(abs(number))):
        return None
    return round(Fraction(number) / step) * step
