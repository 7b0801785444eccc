"""Rounds of the linear relaxation, each with the spreading rows that the one before violates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from dlsched.errors import SolverFailure
from dlsched.problems.placement.programs.coefficients import Shares
from dlsched.problems.placement.programs.spreading_rows import Row, SpreadingRows
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


def solve_relaxation(form: StandardForm, run: Run) -> Outcome:
    """Solve the linear relaxation, by interior point where that is faster."""
    if form.A.nnz > _LARGE_NONZEROS:
        return highs.interior_point(form, 0, run)
    return highs.solve(form, 0, run, relax=True)


def spread(
    form: StandardForm, values: Vector, shares: Shares, run: Run, rounds: int
) -> tuple[StandardForm, Vector] | None:
    """Return the form with spreading rows, and its duals; ``None`` if there is no such row.

    Parameters
    ----------
    form, values
        The model as arrays, and an optimum of its relaxation.
    rounds
        Solutions of the relaxation at most.
    """
    family = SpreadingRows(form, shares)
    reached: list[float] = []
    best = None
    for _ in range(rounds):
        rows = [] if run.stop_reason() else list(family.violated(values))
        if not rows or run.stop_reason():
            break
        form = with_rows(form, rows)
        run.announce(Stage.SEARCHING, f"the linear relaxation with spreading rows, {form.size}")
        try:
            outcome = solve_relaxation(form, run)
        except SolverFailure:  # with numbers of very different sizes
            break
        if outcome.values is None or outcome.duals is None or outcome.objective is None:
            break
        if not np.isfinite(outcome.values).all():
            break
        if run.stop_reason():  # which may have left worse duals than those of the round before
            break
        values, best = outcome.values, (form, outcome.duals)
        reached.append(outcome.objective)
        if reached[-1] <= max(reached[:-_LOOK_BACK], default=0.0) * (1 + _LEAST_INCREASE):
            break
    return best


def with_rows(form: StandardForm, rows: Iterable[Row]) -> StandardForm:
    """Return a form with more rows."""
    from scipy import sparse

    added = list(rows)
    number = [i for i, row in enumerate(added) for _ in row.entries]
    columns = [j for row in added for j in row.entries]
    entries = [entry for row in added for entry in row.entries.values()]
    block = sparse.csc_array((entries, (number, columns)), shape=(len(added), form.shape[1]))
    return replace(
        form,
        A=sparse.csc_array(sparse.vstack([form.A, block], format="csc")),
        row_lower=np.append(form.row_lower, [row.least for row in added]),
        row_upper=np.append(form.row_upper, np.full(len(added), np.inf)),
        constraints=[*form.constraints, *("spreading" for _ in added)],
    )
