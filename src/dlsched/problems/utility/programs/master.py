"""The restricted master of Dantzig-Wolfe: at most one known schedule per job, within Hall's rows.

Utilities are scaled as in `Gangs`, because HiGHS's tolerances are absolute.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.utility.programs.tunables import TUNABLES
from dlsched.problems.utility.structures.gangs import Gangs, Indices, Levels, Vector
from dlsched.results.result import Termination
from dlsched.run import Run
from dlsched.solvers.incremental import IncrementalProgram

if TYPE_CHECKING:
    from scipy import sparse


class Columns:
    """Schedules of single jobs: for each column its job, and its row of speeds by slot."""

    def __init__(self, gangs: Gangs) -> None:
        self.gangs = gangs
        self.jobs: list[int] = []
        self.rows: list[NDArray[np.int8]] = []
        self.known: set[tuple[int, bytes]] = set()

    def add(self, levels: Levels) -> int:
        """Add the jobs' rows, one each, that are not empty; return how many are new."""
        before = len(self.jobs)
        for j in np.flatnonzero((levels >= 0).any(axis=1)).tolist():
            key = (j, levels[j].tobytes())
            if key not in self.known:
                self.known.add(key)
                self.jobs.append(j)
                self.rows.append(levels[j].copy())
        return len(self.jobs) - before

    def matrix(self, cuts: Indices, first: int = 0) -> tuple[sparse.csc_array, Vector]:
        """Return the columns from the first on, and their scaled utilities.

        Rows are periods x sets of types, then jobs; `cuts` has the periods' first slots, and the
        end.
        """
        from scipy import sparse

        gangs = self.gangs
        width = len(gangs.sets)
        periods = np.repeat(np.arange(len(cuts) - 1), np.diff(cuts))
        rows = (len(cuts) - 1) * width
        utilities = np.zeros(len(self.jobs) - first)
        row_numbers: list[Indices] = []
        column_numbers: list[Indices] = []
        entries: list[Vector] = []
        for c, (j, row) in enumerate(zip(self.jobs[first:], self.rows[first:], strict=True)):
            used = np.flatnonzero(row >= 0)
            utilities[c] = gangs.worth[j, used[-1]]
            t, s = np.nonzero(gangs.within[gangs.mask_of_speed[j, row[used]]])
            row_numbers.append(np.append(periods[used[t]] * width + s, rows + j))
            column_numbers.append(np.full(len(t) + 1, c))
            entries.append(np.append(np.full(len(t), float(gangs.workers[j])), 1.0))
        shape = (rows + len(gangs.workers), len(utilities))
        if not entries:
            return sparse.csc_array(shape), utilities
        places = (np.concatenate(row_numbers), np.concatenate(column_numbers))
        data = (np.concatenate(entries), places)
        return sparse.csc_array(sparse.coo_array(data, shape=shape)), utilities

    def limits(self, cuts: Indices) -> tuple[Vector, Vector]:
        """Return the lower and upper limits of the rows, those of periods as in `matrix`."""
        inst = self.gangs.instance
        capacity = np.outer(np.diff(cuts), self.gangs.capacity).ravel().astype(float)
        least = np.full(len(inst.jobs), 1.0 if inst.must_finish else -np.inf)
        return (
            np.append(np.full(len(capacity), -np.inf), least),
            np.append(capacity, np.ones(len(inst.jobs))),
        )


class ScheduleMaster:
    """The linear relaxation of the master over the columns, which it adds to.

    Parameters
    ----------
    cuts
        The first slots of periods, and the end; a row of a period is the sum of those of its slots.
    """

    def __init__(self, columns: Columns, run: Run, cuts: Indices) -> None:
        self.columns = columns
        self.cuts = cuts
        self.size = 0
        self.program = IncrementalProgram(run, maximize=True)
        self.program.add_rows(*columns.limits(cuts))
        if columns.gangs.instance.must_finish:  # jobs without a schedule yet, at a high price
            first = (len(cuts) - 1) * len(columns.gangs.sets)
            for row in range(first, first + len(columns.gangs.workers)):
                self.program.add_column(-TUNABLES.missing, 0.0, 1.0, [row], [1.0])

    def add(self, levels: Levels) -> int:
        """Add the jobs' rows, and whatever else is new among the columns; return how many are."""
        self.columns.add(levels)
        A, utilities = self.columns.matrix(self.cuts, self.size)
        self.program.add_columns(utilities, A)
        self.size += len(utilities)
        return len(utilities)

    def solve(self) -> tuple[float, Vector] | None:
        """Return the optimum and the prices of types, slots x types; ``None`` if stopped."""
        if self.program.solve() is not Termination.PROVED:
            return None
        gangs = self.columns.gangs
        lengths = np.diff(self.cuts)
        count = len(lengths) * len(gangs.sets)
        by_set = np.maximum(0.0, self.program.duals[:count]).reshape(len(lengths), -1)
        by_type = by_set @ gangs.contains(gangs.sets).astype(float)
        return self.program.objective, np.repeat(by_type, lengths, axis=0)
