"""Whole numbers from the relaxation by diving: round a column up, solve again, and repeat."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.sensitivity.programs.pattern_relaxation import Master
from dlsched.solvers.outcome import Vector

_WHOLE = 1e-6
"""Distance to a whole number up to which a value is taken as one."""


class Dive:
    """Two dives from the optimum of a `Master`, whose bounds of columns they change.

    In the first one the patterns are made whole before the options, in the second one after them;
    the conversions come last. Of those that are not whole that of the largest fraction is rounded
    up. None is used less than its value rounded down. If the program then has no solution, the
    column is rounded down instead. A dive ends where the objective falls to what is `known`.
    """

    def __init__(self, master: Master) -> None:
        self.master = master
        program = master.program
        self.known = -np.inf
        n = len(program.options)
        c = len(program.conversions)
        options = slice(0, n)
        conversions = slice(n, n + c)
        patterns = slice(n + c, None)
        self.orders = [(patterns, options, conversions), (options, patterns, conversions)]
        self.columns = np.delete(np.arange(len(master.values) + 1), master.extra)
        """Their positions in the solver."""
        self.lower = np.zeros(len(self.columns))
        self.upper = np.full(len(self.columns), np.inf)

    def points(self) -> Iterator[Vector | None]:
        """Yield what each dive finds: a whole point, or ``None``."""
        master = self.master
        basis = master.solver.basis
        values = master.values
        objective = master.objective
        for order in self.orders:
            if master.run.stop_reason():
                return
            self.lower[:] = 0.0
            self.upper[:] = np.inf
            self._bound(np.arange(len(self.columns)))
            master.solver.restore(basis)
            master.values = values
            master.objective = objective
            yield self._dive(order)

    def _dive(self, order: Sequence[slice]) -> Vector | None:
        """Return a whole point, or ``None`` if there is none above what is known."""
        master = self.master
        while master.objective > self.known:
            values = master.values
            whole = np.floor(values + _WHOLE)
            fractions = np.maximum(values - whole, 0.0)
            stage = next((s for s in order if fractions[s].max(initial=0.0) > _WHOLE), None)
            if stage is None:
                return np.rint(values)
            column = stage.start + int(np.argmax(fractions[stage]))
            before = self.lower[column]
            raised = np.flatnonzero(whole[stage] > self.lower[stage]) + stage.start
            self.lower[raised] = whole[raised]
            self.lower[column] = whole[column] + 1
            self._bound(np.union1d(raised, [column]))
            if not master.optimal():
                self.lower[column] = before
                self.upper[column] = whole[column]
                self._bound(np.array([column]))
                if not master.optimal():
                    return None
        return None

    def _bound(self, columns: NDArray[np.intp]) -> None:
        """Pass the bounds of columns to the solver."""
        positions = self.columns[columns]
        self.master.solver.set_bounds(positions, self.lower[columns], self.upper[columns])
