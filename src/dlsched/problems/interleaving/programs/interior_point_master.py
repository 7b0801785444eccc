"""The restricted master by an interior-point method, with prices held within a box.

Beside the groups there are two columns for each row: one covers a job for a worth at the lower end
of the box, the other takes a job away at a cost of its upper end. In the dual they are the box. The
interior-point method stops without a basis: its prices lie in the middle of the optimal ones, where
new groups are found in far fewer rounds than from a vertex.
"""

from typing import NamedTuple

import numpy as np

from dlsched.errors import SolverFailure
from dlsched.problems.interleaving.programs.column_pool import GroupPool
from dlsched.problems.interleaving.programs.columns import Groups, Prices
from dlsched.problems.interleaving.programs.master import choice_form
from dlsched.run import Run
from dlsched.solvers import session
from dlsched.solvers.arrays import Floats

_OPTIONS = {
    "solver": "ipm",
    "run_crossover": "off",
    "presolve": "off",
    "ipm_optimality_tolerance": 1e-6,  # relative
}


class Solved(NamedTuple):
    """Optimum of the master with the box, its prices, and how many jobs the box's columns take."""

    value: float
    prices: Prices
    outside: float


class InteriorMaster:
    """The columns, and the linear program over them within a box."""

    def __init__(self, pool: GroupPool, run: Run) -> None:
        self.pool = pool
        self.run = run
        self.columns = pool.groups([])
        self.known: set[bytes] = set()
        run.record_solver(session.NAME, session.version())

    def add(self, groups: Groups) -> int:
        """Add the groups that are no columns; return their number."""
        fresh = groups.without(self.known)
        self.known.update(fresh.identities())
        self.columns = Groups.concatenate([self.columns, fresh])
        return len(fresh)

    def keep(self, prices: Prices, most: int) -> None:
        """Keep the columns with the largest reduced values."""
        if len(self.columns) > most:
            value = self.pool.reduced(prices, self.columns)
            self.columns = self.columns[np.argpartition(-value, most)[:most]]
            self.known = set(self.columns.identities())

    def solve(self, centre: Prices, width: Floats) -> Solved | None:
        """Return the optimum with the prices of jobs near a centre; ``None`` if stopped or failed.

        Parameters
        ----------
        width
            The largest distance from the centre, for each row of the pool.
        """
        from scipy import sparse

        form = choice_form(self.pool, self.columns)
        profiles = len(self.pool.multiplicity)
        rows = np.flatnonzero(self.pool.multiplicity)
        kept = np.append(rows, np.arange(profiles, form.shape[0]))
        box = sparse.eye_array(len(kept), len(rows), format="csc")
        A = sparse.hstack([form.A[kept], box, -box], format="csc")
        low = (centre.rows - width)[rows]
        high = (centre.rows + width)[rows]
        costs = np.concatenate([self.columns.worth, low, -high])
        # Without bounds on the box's columns the method diverges while there are few groups.
        jobs = form.row_upper[rows]
        upper = np.concatenate([np.full(len(self.columns), np.inf), jobs, jobs])
        column_limits = (np.zeros(len(upper)), upper)
        row_limits = (form.row_lower[kept], form.row_upper[kept])
        program = session.Session(self.run, _OPTIONS)
        program.load(A, costs, column_limits, row_limits, maximize=True)
        try:
            program.solve()
        except SolverFailure:
            return None
        point = program.solver.getSolution()
        duals = np.array(point.row_dual)
        # Any prices give a bound, so those of a method that ended short of its tolerance do too.
        if self.run.stop_reason() or len(duals) != len(kept) or not np.isfinite(duals).all():
            return None
        prices = centre.rows.copy()
        prices[rows] = np.clip(duals[: len(rows)], low, high)
        gpu = 0.0 if self.pool.budget is None else max(0.0, float(duals[-1]))
        outside = np.abs(np.array(point.col_value)[len(self.columns) :]).sum()
        value = program.solver.getInfo().objective_function_value
        return Solved(value, Prices(prices, gpu), float(outside))
