"""Rounds of the linear relaxation, each with the spreading rows that the one before violates."""

from itertools import chain
from typing import NamedTuple

import numpy as np

from dlsched.errors import SolverFailure
from dlsched.problems.placement.programs.coefficients import Shares
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
    if form.A.nnz <= TUNABLES.large:
        return highs.solve(form, 0, run, relax=True)
    return highs.interior_point(form, 0, run, accuracy=accuracy)


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
    part = run.nested(TUNABLES.rounds_part * run.remaining())
    state = _Rounds(form, values, shares, part)
    for _ in range(rounds):
        if not (state.add() and state.solve()):
            break
    if state.most and not state.exact:
        optimum = _optimum(state.form, run, TUNABLES.last_accuracy)
        if optimum is not None:
            return state.form, optimum.duals
    return state.best


class _Rounds:
    """The relaxation with the spreading rows so far.

    Attributes
    ----------
    points
        Where the next rows are made.
    accuracies
        Of this round and the next ones.
    most
        Rows that a round added.
    best
        The form with the highest bound, and its duals.
    """

    def __init__(self, form: StandardForm, values: Vector, shares: Shares, run: Run) -> None:
        self.run = run
        self.family = SpreadingRows(form, shares)
        self.form = self.family.form
        pairs = self.form.shape[1] - len(values)
        self.points = [np.append(values, np.zeros(pairs))]
        self.accuracies = list(TUNABLES.accuracies)
        self.most = 0
        self.reached: list[float] = []
        self.best: tuple[StandardForm, Vector] | None = None

    @property
    def exact(self) -> bool:
        """Whether the relaxation is solved by the simplex method."""
        return self.form.A.nnz <= TUNABLES.large

    def add(self) -> bool:
        """Add the rows that the points violate; return whether they are enough for a round."""
        rows = _violated(self.family, self.points, self.run)
        if self.run.stop_reason():
            return False
        self.most = max(self.most, len(rows))
        if len(rows) <= TUNABLES.few_rows * self.most:
            del self.accuracies[0]
            if not self.accuracies or (self.exact and not rows):
                return False
        self.form = with_rows(self.form, rows)
        return True

    def solve(self) -> bool:
        """Solve the relaxation; return whether to go on."""
        optimum = _optimum(self.form, self.run, self.accuracies[0])
        if optimum is None:
            return False
        if not self.exact or optimum.value >= max(self.reached, default=0.0):
            self.best = self.form, optimum.duals
        self.reached.append(optimum.value)
        before = max(self.reached[: -TUNABLES.look_back], default=0.0)
        if self.exact and optimum.value <= before * (1 + TUNABLES.least_increase):
            return False
        self.points = [optimum.values, (optimum.values + self.points[0]) / 2]
        return True


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
