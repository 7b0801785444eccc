"""The restricted master problem: set partitioning over the groups known so far."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from dlsched.problems.interleaving.groups import Indices, Vector
from dlsched.problems.interleaving.pool import Groups, Pool, Prices
from dlsched.result import Status
from dlsched.run import Run
from dlsched.solvers.outcome import Outcome


def matrix(pool: Pool, groups: Groups) -> sparse.csc_array:
    """Return the rows of the profiles and, if there is a budget, of the GPUs."""
    at, slot = np.nonzero(groups.members >= 0)
    rows = groups.members[at, slot]
    entries, columns = np.ones(len(rows)), at
    if pool.budget is not None:
        rows = np.append(rows, np.full(len(groups), len(pool.many)))
        columns = np.append(columns, np.arange(len(groups)))
        entries = np.append(entries, pool.gpus(groups))
    shape = (len(pool.many) + (pool.budget is not None), len(groups))
    made = sparse.csc_array(sparse.coo_array((entries, (rows, columns)), shape=shape))
    made.sum_duplicates()
    return made


class Master:
    """The linear relaxation, kept warm while columns arrive."""

    def __init__(self, pool: Pool, run: Run) -> None:
        import highspy

        self.pool, self.run = pool, run
        self.columns: list[Groups] = []
        self.known: set[bytes] = set()
        self.highs = highs = highspy.Highs()
        options = {
            "output_flag": False,
            "threads": 1,
            "random_seed": 0,
            "dual_feasibility_tolerance": 1e-10,  # gammas that are nearly equal differ by less
        }
        for name, value in options.items():
            highs.setOptionValue(name, value)
        highs.changeObjectiveSense(highspy.ObjSense.kMaximize)
        for many in pool.many.tolist():
            highs.addRow(float(many), float(many), 0, [], [])
        if pool.budget is not None:
            highs.addRow(-highspy.kHighsInf, float(pool.budget), 0, [], [])
        highs.cbSimplexInterrupt += self._on_chance

    def _on_chance(self, event: Any) -> None:
        if self.run.stop_reason():
            event.interrupt()

    def new(self, groups: Groups) -> Groups:
        """Return the groups that are no columns yet.

        Beyond the solver's tolerances, columns that it has can still have a positive reduced value.
        """
        keys = [row.tobytes() for row in np.sort(groups.members, axis=1)]
        return groups[np.array([key not in self.known for key in keys], dtype=bool)]

    def add(self, groups: Groups) -> None:
        """Add columns."""
        self.known.update(row.tobytes() for row in np.sort(groups.members, axis=1))
        A = matrix(self.pool, groups)
        count = len(groups)
        self.highs.addCols(
            count,
            groups.worth,
            np.zeros(count),
            np.full(count, np.inf),
            A.nnz,
            A.indptr.astype(np.int32),
            A.indices.astype(np.int32),
            A.data,
        )
        self.columns.append(groups)

    def solve(self) -> tuple[float, Prices] | None:
        """Return the optimum over the known columns and its prices; ``None`` if stopped."""
        self.highs.run()
        if self.highs.getModelStatus().name != "kOptimal":
            return None
        duals = np.array(self.highs.getSolution().row_dual)
        n = len(self.pool.many)
        gpu = max(0.0, float(duals[n])) if self.pool.budget is not None else 0.0
        return self.highs.getInfo().objective_function_value, Prices(duals[:n], gpu)

    def values(self) -> Vector:
        """Return the relaxation's solution."""
        return np.array(self.highs.getSolution().col_value)

    @property
    def groups(self) -> Groups:
        """All the columns."""
        return Groups(
            np.concatenate([g.members for g in self.columns]),
            np.concatenate([g.worth for g in self.columns]),
            np.concatenate([g.part for g in self.columns]),
        )


def best_choice(
    pool: Pool, groups: Groups, run: Run, start: Indices | None = None, many: Indices | None = None
) -> tuple[Outcome, Indices | None]:
    """Solve the integer master over some groups.

    Parameters
    ----------
    start
        How often each group is taken in a known solution.
    many
        Jobs of each profile, if not all are to be grouped.

    Returns
    -------
    tuple
        The outcome, and how often each group is taken.
    """
    from dlsched.solvers import highs
    from dlsched.solvers.standard_form import StandardForm

    rows = (pool.many if many is None else many).astype(float)
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
