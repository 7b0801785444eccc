"""Rounds of the linear relaxation, each with the spreading rows that the one before violates."""

from __future__ import annotations

from itertools import chain
from typing import NamedTuple

import numpy as np

from dlsched.errors import SolverFailure
from dlsched.problems.placement.programs.coefficients import Shares
from dlsched.problems.placement.programs.light_groups import with_part
from dlsched.problems.placement.programs.spreading_rows import Row, SpreadingRows, with_rows
from dlsched.problems.placement.programs.tunables import TUNABLES
from dlsched.run import Run, Stage
from dlsched.solvers import highs
from dlsched.solvers.outcome import Outcome, Vector
from dlsched.solvers.standard_form import StandardForm


class _Optimum(NamedTuple):
    """Values, duals and the value of an optimum of the relaxation, to an accuracy."""

    values: Vector
    duals: Vector
    value: float


def solve_relaxation(form: StandardForm, run: Run, accuracy: float | None = None) -> Outcome:
    """Solve the linear relaxation, by interior point where that is faster."""
    if form.A.nnz > TUNABLES.large:
        return highs.interior_point(form, 0, run, accuracy=accuracy)
    return highs.solve(form, 0, run, relax=True)


def spread(
    form: StandardForm, values: Vector, shares: Shares, run: Run, rounds: int
) -> tuple[StandardForm, Vector] | None:
    """Return the form with spreading rows, and its duals; ``None`` if there is no such row.

    Rows are made at a rough optimum, and at the middle between it and where they were made before:
    the optima of consecutive rounds are far apart, and rows at points between them hold for longer.

    Parameters
    ----------
    form, values
        The model as arrays, and an optimum of its relaxation.
    rounds
        Solutions of the relaxation at most, and one more from their last rows.
    """
    family = SpreadingRows(form, shares)
    form = family.form
    values = np.append(values, np.zeros(form.shape[1] - len(values)))
    points = [values]
    idle = np.full(form.shape[0], -rounds)  # so that the model's rows stay
    part = run.nested(TUNABLES.rounds_part * run.remaining())
    accuracies = iter(TUNABLES.accuracies)
    accuracy: float | None = next(accuracies)
    most = 0
    found = None
    reached: list[float] = []
    for _ in range(rounds):
        rows = _violated(family, points, part)
        if part.stop_reason():
            break
        most = max(most, len(rows))
        if len(rows) <= TUNABLES.few_rows * most:
            accuracy = next(accuracies, None)
            if accuracy is None or (not rows and form.A.nnz <= TUNABLES.large):
                break
        form = with_rows(form, rows)
        idle = np.append(idle, np.zeros(len(rows), dtype=np.int64))
        optimum = _optimum(form, part, accuracy)
        if optimum is None:
            break
        exact = form.A.nnz <= TUNABLES.large
        if not exact or optimum.value >= max(reached, default=0.0):
            found = (form, optimum.duals)
        reached.append(optimum.value)
        before = max(reached[: -TUNABLES.look_back], default=0.0)
        if exact and reached[-1] <= before * (1 + TUNABLES.least_increase):
            break
        points = [optimum.values, (optimum.values + points[0]) / 2]
        small = np.abs(optimum.duals) <= TUNABLES.small_dual * optimum.value
        idle = np.where(small, idle + 1, np.minimum(idle, 0))
        form, idle = with_part(form, idle < TUNABLES.idle_rounds), idle[idle < TUNABLES.idle_rounds]
    if most and form.A.nnz > TUNABLES.large:
        optimum = _optimum(form, run, TUNABLES.last_accuracy)
        if optimum is not None:
            found = (form, optimum.duals)
    return found


def _violated(family: SpreadingRows, points: list[Vector], run: Run) -> list[Row]:
    """Return the rows that points violate, or some of them at a limit."""
    rows: list[Row] = []
    for row in chain.from_iterable(map(family.violated, points)):
        if run.stop_reason():
            break
        rows.append(row)
    return rows


def _optimum(form: StandardForm, run: Run, accuracy: float | None) -> _Optimum | None:
    """Return an optimum of the relaxation; ``None`` at a limit, or if HiGHS fails."""
    run.announce(Stage.SEARCHING, f"the linear relaxation with spreading rows, {form.size}")
    try:
        outcome = solve_relaxation(form, run, accuracy)
    except SolverFailure:  # with numbers of very different sizes
        return None
    if run.stop_reason():  # which leaves worse duals
        return None
    if outcome.values is None or outcome.duals is None or outcome.objective is None:
        return None
    if not np.isfinite(outcome.values).all():
        return None
    return _Optimum(outcome.values, outcome.duals, outcome.objective)
