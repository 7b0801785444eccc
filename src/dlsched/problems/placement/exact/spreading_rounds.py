"""Rounds of the linear relaxation, each with the spreading rows that the one before violates."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from dlsched.errors import SolverFailure
from dlsched.problems.placement.programs.coefficients import Shares
from dlsched.problems.placement.programs.spreading_rows import Row, SpreadingRows, with_rows
from dlsched.run import Run, Stage
from dlsched.solvers import highs
from dlsched.solvers.outcome import Outcome, Vector
from dlsched.solvers.standard_form import StandardForm

SPREADING_ROUNDS = 40
_LARGE_NONZEROS = 20_000
"""Entries of a matrix from which interior point is faster for the relaxation than simplex."""
_LEAST_INCREASE = 1e-3
_LOOK_BACK = 3
"""Rounds of spreading rows that together raise the relaxation by less, relatively, are the last."""
_ACCURACY = 1e-4
"""Of interior point in a round. Rows at a rough optimum, which is in the middle of more optima, are
better, and what is certified loses about as much."""
_IDLE_ROUNDS = 4
"""A spreading row whose dual is small in as many rounds is left out."""
_SMALL_DUAL = 3e-5
"""A part of the objective; the rows have coefficients of up to a thousand."""


def solve_relaxation(form: StandardForm, run: Run, accuracy: float | None = None) -> Outcome:
    """Solve the linear relaxation, by interior point where that is faster."""
    if form.A.nnz > _LARGE_NONZEROS:
        return highs.interior_point(form, 0, run, accuracy=accuracy)
    return highs.solve(form, 0, run, relax=True)


def spread(
    form: StandardForm, values: Vector, shares: Shares, run: Run, rounds: int
) -> tuple[StandardForm, Vector] | None:
    """Return the form with spreading rows, and its duals; ``None`` if there is no such row.

    Rows are made at the optimum, and at the middle between it and where they were made before: the
    optima of consecutive rounds are far apart, and rows at points between them hold for longer.

    Parameters
    ----------
    form, values
        The model as arrays, and an optimum of its relaxation.
    rounds
        Solutions of the relaxation at most.
    """
    family = SpreadingRows(form, shares)
    form = family.form
    values = np.append(values, np.zeros(form.shape[1] - len(values)))
    points = [values]
    idle = np.full(form.shape[0], -rounds)  # so that the model's rows stay
    reached: list[float] = []
    best = None
    for _ in range(rounds):
        rows: list[Row] = []
        for row in chain.from_iterable(map(family.violated, points)):
            if run.stop_reason():
                break
            rows.append(row)
        if not rows or run.stop_reason():
            break
        form = with_rows(form, rows)
        idle = np.append(idle, np.zeros(len(rows), dtype=np.int64))
        run.announce(Stage.SEARCHING, f"the linear relaxation with spreading rows, {form.size}")
        try:
            outcome = solve_relaxation(form, run, _ACCURACY)
        except SolverFailure:  # with numbers of very different sizes
            break
        if outcome.values is None or outcome.duals is None or outcome.objective is None:
            break
        if not np.isfinite(outcome.values).all():
            break
        if run.stop_reason():  # which may have left worse duals than those of the round before
            break
        if outcome.objective >= max(reached, default=0.0):
            best = (form, outcome.duals)
        reached.append(outcome.objective)
        if reached[-1] <= max(reached[:-_LOOK_BACK], default=0.0) * (1 + _LEAST_INCREASE):
            break
        points = [outcome.values, (outcome.values + points[-1]) / 2]
        small = np.abs(outcome.duals) <= _SMALL_DUAL * reached[-1]
        idle = np.where(small, idle + 1, np.minimum(idle, 0))
        form, idle = _part(form, idle < _IDLE_ROUNDS), idle[idle < _IDLE_ROUNDS]
    return best


def _part(form: StandardForm, kept: NDArray[np.bool_]) -> StandardForm:
    """Return a form with some of its rows."""
    from scipy import sparse

    return replace(
        form,
        A=sparse.csc_array(form.A.tocsr()[np.flatnonzero(kept)]),
        row_lower=form.row_lower[kept],
        row_upper=form.row_upper[kept],
        constraints=[name for name, keep in zip(form.constraints, kept, strict=True) if keep],
    )
