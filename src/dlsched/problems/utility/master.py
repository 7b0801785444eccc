"""The restricted master of Dantzig-Wolfe: at most one known schedule a job, within Hall's rows.

Utilities are in the units of `Gangs`: HiGHS's tolerances are absolute.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from dlsched.problems.utility.gangs import Vector

if TYPE_CHECKING:
    from dlsched.problems.utility.columns import Search


class Master:
    """The restricted master: a row for each slot and set of types, and one for each job."""

    def __init__(self, search: Search) -> None:
        import highspy

        self.search, self.gangs = search, search.gangs
        inst = search.instance
        self.count = inst.slots * len(self.gangs.sets)
        self.size = 0
        self.highs = highspy.Highs()
        for name, value in {"output_flag": False, "threads": 1, "random_seed": 0}.items():
            self.highs.setOptionValue(name, value)
        self.highs.changeObjectiveSense(highspy.ObjSense.kMaximize)
        for limit in np.tile(self.gangs.capacity, inst.slots).tolist():
            self.highs.addRow(-highspy.kHighsInf, float(limit), 0, [], [])
        low = 1.0 if inst.must_finish else -highspy.kHighsInf
        for _ in inst.jobs:
            self.highs.addRow(low, 1.0, 0, [], [])
        self.highs.cbSimplexInterrupt += self._on_chance

    def _on_chance(self, event: Any) -> None:
        if self.search.run.stop_reason():
            event.interrupt()

    def columns(self, first: int) -> tuple[sparse.csc_array, Vector]:
        """Return the columns from the first on, and their worth."""
        gangs, search = self.gangs, self.search
        jobs, rows = search.jobs[first:], search.rows[first:]
        at, into, entries = [], [], []
        worth = np.zeros(len(jobs))
        for c, (j, row) in enumerate(zip(jobs, rows, strict=True)):
            slots = np.flatnonzero(row >= 0)
            worth[c] = gangs.worth[j, slots[-1]]
            masks = np.array(gangs.of[j], dtype=np.int64)[row[slots]]
            t, s = np.nonzero(gangs.within[masks])
            at += [slots[t] * len(gangs.sets) + s, np.array([self.count + j])]
            into.append(np.full(len(t) + 1, c))
            entries.append(np.append(np.full(len(t), float(gangs.workers[j])), 1.0))
        shape = (self.count + len(search.instance.jobs), len(jobs))
        if not jobs:
            return sparse.csc_array(shape), worth
        data = (np.concatenate(entries), (np.concatenate(at), np.concatenate(into)))
        return sparse.csc_array(sparse.coo_array(data, shape=shape)), worth

    def extend(self) -> None:
        """Add the columns that are new."""
        A, worth = self.columns(self.size)
        count = len(worth)
        self.highs.addCols(
            count, worth, np.zeros(count), np.full(count, np.inf), A.nnz,
            A.indptr[:-1].astype(np.int32), A.indices.astype(np.int32), A.data,
        )  # fmt: skip
        self.size += count

    def solve(self) -> tuple[float, Vector] | None:
        """Return the optimum over the columns and its prices of types; ``None`` if stopped."""
        if not self.size:
            self.extend()
        self.highs.run()
        if self.highs.getModelStatus().name != "kOptimal":
            return None
        duals = np.maximum(0.0, np.array(self.highs.getSolution().row_dual)[: self.count])
        by_set = duals.reshape(self.search.instance.slots, len(self.gangs.sets))
        kinds = len(self.gangs.kinds)
        inside = np.array(
            [[s >> k & 1 for k in range(kinds)] for s in self.gangs.sets], dtype=float
        ).reshape(len(self.gangs.sets), kinds)
        return self.highs.getInfo().objective_function_value, by_set @ inside

    def form(self) -> Any:
        """Return the integer master."""
        from dlsched.solvers.standard_form import StandardForm

        inst = self.search.instance
        A, worth = self.columns(0)
        limits = np.tile(self.gangs.capacity, inst.slots).astype(float)
        low = np.full(len(inst.jobs), 1.0 if inst.must_finish else -np.inf)
        return StandardForm.of(
            A,
            np.append(np.full(len(limits), -np.inf), low),
            np.append(limits, np.ones(len(inst.jobs))),
            np.ones(len(worth)),
            worth,
            sense="max",
        )
