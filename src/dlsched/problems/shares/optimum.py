"""One solve of a program: by HiGHS, made exact, and bounded by its duals."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dlsched.errors import SolverFailure
from dlsched.problems.shares.rows import Rows
from dlsched.results.result import Termination
from dlsched.run import Run
from dlsched.solvers import highs
from dlsched.solvers.certificate import dual_bound
from dlsched.solvers.outcome import Vector


@dataclass(frozen=True)
class Solved:
    """Exact times per column, a bound on the policy's objective, rows and columns, solves.

    ``rounds`` are those of water filling: their level, a bound on it, and the kinds fixed.
    """

    times: list[Fraction]
    bound: Fraction | None
    size: tuple[int, int]
    rounds: tuple[tuple[Fraction, Fraction | None, tuple[int, ...]], ...] = ()
    solves: int = 1


@dataclass(frozen=True)
class Optimum:
    """An optimum of a linear program, as the solver has it: values, duals."""

    rows: Rows
    values: Vector
    duals: Vector

    def bound(self) -> Fraction:
        """Return a certified upper bound on the objective, from the duals."""
        bound = dual_bound(self.rows.bounded(), 0, self.duals)
        if bound is None:
            raise SolverFailure("the duals of the allocation program give no bound")
        return self.rows.unit * Fraction(bound)


def optimize(rows: Rows, run: Run) -> Optimum:
    """Solve a program with HiGHS.

    If HiGHS fails, which it may if two rates differ by less than its tolerance, the program is
    solved once more in coarser units.

    Raises
    ------
    SolverFailure
        If HiGHS does not prove optimality.
    """
    try:
        return _optimize(rows, run)
    except SolverFailure:
        return _optimize(rows.coarser(), run)


def _optimize(rows: Rows, run: Run) -> Optimum:
    outcome = highs.solve(rows.form, 0, run, relax=True)
    if (
        outcome.termination is not Termination.PROVED
        or outcome.values is None
        or outcome.duals is None
    ):
        raise SolverFailure(f"HiGHS did not solve the allocation program ({outcome.message})")
    return Optimum(rows, outcome.values, outcome.duals)
