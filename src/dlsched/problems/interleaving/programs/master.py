"""The restricted master problem: set partitioning over the groups known so far."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dlsched.problems.interleaving.programs.column_pool import Pool
from dlsched.problems.interleaving.programs.columns import Groups, Prices
from dlsched.problems.interleaving.structures.groups import Indices
from dlsched.results.result import Status, Termination
from dlsched.run import Run
from dlsched.solvers import highs
from dlsched.solvers.incremental import IncrementalProgram
from dlsched.solvers.outcome import Outcome
from dlsched.solvers.standard_form import StandardForm

if TYPE_CHECKING:
    from scipy import sparse


def matrix(pool: Pool, groups: Groups) -> sparse.csc_array:
    """Return the rows of the profiles and, if there is a budget, of the GPUs."""
    from scipy import sparse

    columns, places = np.nonzero(groups.members >= 0)
    rows = groups.members[columns, places]
    shape = (len(pool.multiplicity), len(groups))
    A = sparse.csc_array(sparse.coo_array((np.ones(len(rows)), (rows, columns)), shape=shape))
    if pool.budget is not None:
        A = sparse.vstack([A, sparse.csc_array(pool.gpus(groups)[None, :])], format="csc")
    A.sum_duplicates()
    return A


class Master:
    """The linear relaxation; each solve starts from the last one's basis."""

    def __init__(self, pool: Pool, run: Run) -> None:
        self.pool = pool
        self.known: set[bytes] = set()
        # Gammas that are nearly equal differ by less than HiGHS's usual tolerance.
        options = {"dual_feasibility_tolerance": 1e-10}
        self.program = IncrementalProgram(run, maximize=True, options=options)
        self.program.add_rows(pool.multiplicity, pool.multiplicity)
        if pool.budget is not None:
            self.program.add_row(-np.inf, float(pool.budget))

    def new(self, groups: Groups) -> Groups:
        """Return the groups that are no columns yet.

        Within the solver's tolerances, columns can still have a positive reduced value.
        """
        return groups[np.array([key not in self.known for key in groups.identities()], dtype=bool)]

    def add(self, groups: Groups) -> None:
        """Add columns."""
        self.known.update(groups.identities())
        self.program.add_columns(groups.worth, matrix(self.pool, groups))

    def solve(self) -> tuple[float, Prices] | None:
        """Return the optimum over the known columns and its prices; ``None`` if stopped."""
        if self.program.solve() is not Termination.PROVED:
            return None
        duals = self.program.duals
        n = len(self.pool.multiplicity)
        gpu = max(0.0, float(duals[n])) if self.pool.budget is not None else 0.0
        return self.program.objective, Prices(duals[:n], gpu)


def choice_form(pool: Pool, groups: Groups) -> StandardForm:
    """Return the integer master over some groups."""
    lower = pool.multiplicity.astype(float)
    upper = lower
    if pool.budget is not None:
        lower = np.append(lower, -np.inf)
        upper = np.append(upper, pool.budget)
    most = np.full(len(groups), float(pool.multiplicity.max(initial=0)))
    return StandardForm.of(matrix(pool, groups), lower, upper, most, groups.worth, sense="max")


def best_choice(
    pool: Pool, groups: Groups, run: Run, start: Indices | None = None
) -> tuple[Outcome, Indices | None]:
    """Solve the integer master over some groups.

    Parameters
    ----------
    start
        How often each group is taken in a known solution.

    Returns
    -------
    tuple
        The outcome, and how often each group is taken.
    """
    point = None if start is None else start.astype(float)
    outcome = highs.solve(choice_form(pool, groups), 0, run, start=point, quiet=True)
    if outcome.values is None or outcome.status is Status.INFEASIBLE:
        return outcome, None
    return outcome, np.rint(outcome.values).astype(np.int64)
