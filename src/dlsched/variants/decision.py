"""How a variant's whole model is decided: by a solver in doubles, or exactly if it is small.

A solver takes what differs by its tolerances for the same. Where a row has terms that it may leave
out, where its answer is refuted by the check, and where it finds no solution, the answer is that of
the program in fractions: the whole model and what the variant adds. Where that takes too many
operations, nothing is claimed that rests on tolerances.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import takewhile

import numpy as np

from dlsched.errors import SolverDisagreement, SolverFailure
from dlsched.results.objective import (
    SLACK,
    SOLVER_PRECISION,
    TOLERANCE,
    Bound,
    Objective,
    at_bound,
    relative_gap,
)
from dlsched.results.result import Claim, Status, Termination
from dlsched.run import Run, Stage
from dlsched.schema import Number
from dlsched.schema.envelope import Instance
from dlsched.schema.solution import Solution
from dlsched.solvers.levels import solve_levels
from dlsched.solvers.precision import BEYOND_PRECISION, undecided_level, undecided_row
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


def decide(problem: ChangedProblem, instance: Instance, run: Run) -> Claim:
    """Return the optimum of a variant by its whole model, or what is known of it."""
    change = problem.model.change(instance)
    form = compile_model(change.model)
    wide = undecided_row(form, change.model.ROW_SCALES) or undecided_level(form)
    exactly = solve_in_fractions(problem, instance, run, run.known) if wide else None
    if exactly is not None:
        return exactly
    try:
        claim = solve_levels(instance, run, problem.model, earlier=problem.earlier)
    except (SolverDisagreement, SolverFailure) as error:
        reason = f"{BEYOND_PRECISION}: {error}"
        claim = Claim(status=Status.NO_SOLUTION, reason=reason, termination=Termination.TOLERANCES)
    solution = claim.solution
    objective = None if solution is None else problem.check(instance, solution).objective
    reason = ""
    refuted = None if objective is None else _refuted(claim, objective)
    if refuted is not None:
        reason = f"{BEYOND_PRECISION}: the check refutes what the solver states"
        bounds = [
            [bound for bound in level if i < refuted or bound.kind == "certified"]
            for i, level in enumerate(claim.bounds)
        ]
        claim = replace(claim, objective=None, bounds=bounds)
    elif objective is not None and claim.status is Status.OPTIMAL:
        continuous = change.model.UNITS.keys()
        chosen = {n for n, e in change.levels.items() if not continuous.isdisjoint(e.terms)}
        gap = _gap_of(chosen, claim, objective)
        if gap > run.gap + SOLVER_PRECISION:
            reason = f"{run.solver}'s tolerances leave a gap of {gap:.3g}"
    if reason:
        ended = Termination.TOLERANCES
        claim = replace(claim, status=Status.FEASIBLE, reason=reason, termination=ended)
    undecided = claim.termination in (Termination.TOLERANCES, Termination.UNDECIDED)
    if not wide and (undecided or claim.status is Status.INFEASIBLE):
        proved = [] if objective is None else _proved(claim, objective)
        exactly = solve_in_fractions(problem, instance, run, claim.solution, proved)
        if exactly is not None:
            before = claim.bounds[: len(proved)]
            return replace(exactly, bounds=[*before, *exactly.bounds[len(proved) :]])
    return claim


def _proved(claim: Claim, objective: Objective) -> list[Number]:
    """Return the values of the first levels that are at their bounds."""
    pairs = zip(objective, claim.bounds, strict=False)
    proved = takewhile(lambda pair: any(pair[0] == bound.value for bound in pair[1]), pairs)
    return [value for value, _ in proved]


def _refuted(claim: Claim, objective: Objective) -> int | None:
    """Return the first level whose value the check finds another than a solver, or beyond a bound.

    ``None`` if there is none.
    """
    stated = [*(claim.objective or ()), *objective][: len(objective)]
    attained = True
    for i, (level, value) in enumerate(objective.pairs()):
        bounds = claim.bounds[i] if i < len(claim.bounds) else ()
        claimed = [bound for bound in bounds if bound.kind == "claimed"]
        better = [bound for bound in claimed if level.better(value, bound.value)]
        beaten = any(relative_gap(value, bound.value) > SLACK[bound.kind] for bound in better)
        if (attained and beaten) or relative_gap(value, stated[i]) > TOLERANCE:
            return i
        attained = attained and any(at_bound(value, bound) for bound in bounds)
    return None


def _gap_of(levels: Container[str], claim: Claim, objective: Objective) -> float:
    """Return the largest gap to its bounds that one of some levels has."""
    gaps = [
        min((relative_gap(value, bound.value) for bound in bounds), default=1.0)
        for (level, value), bounds in zip(objective.pairs(), claim.bounds, strict=False)
        if level.name in levels
    ]
    return max(gaps, default=0.0)


def solve_in_fractions(
    problem: ChangedProblem,
    instance: Instance,
    run: Run,
    known: Solution | None = None,
    proved: Sequence[Number] = (),
) -> Claim | None:
    """Return a variant's optimum, or that there is none; ``None`` if nothing is decided.

    That is so if the program is too large, or the model has rounded numbers.

    `known`: a solution. `proved`: the values of the first levels that are known to be optimal; they
    are held.
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
        reason = f"{contradiction([*rows], choice.rows)} (proved in fractions)"
        return Claim(None, Status.INFEASIBLE, reason, termination=Termination.INFEASIBLE)
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
