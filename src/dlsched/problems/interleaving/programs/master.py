"""The restricted master problem: set partitioning over the groups known so far."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dlsched.problems.interleaving.programs.column_pool import Groups, Pool, Prices
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

    at, slot = np.nonzero(groups.members >= 0)
    rows = groups.members[at, slot]
    entries = np.ones(len(rows))
    columns = at
    if pool.budget is not None:
        rows = np.append(rows, np.full(len(groups), len(pool.multiplicity)))
        columns = np.append(columns, np.arange(len(groups)))
        entries = np.append(entries, pool.gpus(groups))
    shape = (len(pool.multiplicity) + (pool.budget is not None), len(groups))
    result = sparse.csc_array(sparse.coo_array((entries, (rows, columns)), shape=shape))
    result.sum_duplicates()
    return result


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
        keys = [row.tobytes() for row in np.sort(groups.members, axis=1)]
        return groups[np.array([key not in self.known for key in keys], dtype=bool)]

    def add(self, groups: Groups) -> None:
        """Add columns."""
        self.known.update(row.tobytes() for row in np.sort(groups.members, axis=1))
        self.program.add_columns(groups.worth, matrix(self.pool, groups))

    def solve(self) -> tuple[float, Prices] | None:
        """Return the optimum over the known columns and its prices; ``None`` if stopped."""
        if self.program.solve() is not Termination.PROVED:
            return None
        duals = self.program.duals
        n = len(self.pool.multiplicity)
        gpu = max(0.0, float(duals[n])) if self.pool.budget is not None else 0.0
        return self.program.objective, Prices(duals[:n], gpu)


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
    rows = pool.multiplicity.astype(float)
    budget = [] if pool.budget is None else [float(pool.budget)]
    A = matrix(pool, groups)
    upper = np.full(len(groups), float(rows.max(initial=0)))
    form = StandardForm.of(
        A,
        np.append(rows, np.full(len(budget), -np.inf)),
        np.append(rows, budget),
        upper,
        groups.worth,
        sense="max",
    )
    point = None if start is None else start.astype(float)
    outcome = highs.solve(form, 0, run, start=point, quiet=True)
    if outcome.values is None or outcome.status is Status.INFEASIBLE:
        return outcome, None
    return outcome, np.rint(outcome.values).astype(np.int64)
