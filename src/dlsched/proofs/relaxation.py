"""The linear relaxation of a form in HiGHS, solved again and again with other column bounds."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dlsched.errors import SolverFailure
from dlsched.proofs.forms.form import Form, Row
from dlsched.results.result import Termination
from dlsched.run import Run
from dlsched.solvers.incremental import IncrementalProgram
from dlsched.solvers.outcome import Vector

INF = float("inf")
Flags = NDArray[np.bool_]
_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Solved:
    """A solved relaxation.

    Attributes
    ----------
    value
        In units of the costs; infinite if there is no point.
    x, multipliers
        The point, and the rows' duals; a ray of them if there is no point.
    """

    value: float
    x: Vector
    multipliers: Vector | None


class Relaxation:
    """A relaxation in HiGHS: bounds and basis are those of its ``program``.

    Rows are divided by two to their bits, and costs by a power of two, so that the solver sees
    numbers of moderate size.
    """

    def __init__(self, form: Form, rows: Sequence[Row], costs: Mapping[int, int], run: Run) -> None:
        from scipy import sparse

        self.scales = np.array([float(2**row.bits) for row in rows])
        self._form, self._rows = form, rows
        largest = max((abs(c) for c in costs.values()), default=1)
        self.cost_scale = float(2 ** max(0, largest.bit_length() - 13))
        objective = np.zeros(len(form.lower))
        for j, c in costs.items():
            objective[j] = c / self.cost_scale
        starts = np.concatenate([[0], np.cumsum([len(row.coefficients) for row in rows])])
        columns = np.array([j for row in rows for j in row.coefficients], dtype=np.int32)
        entries = np.concatenate([[], *map(_entries, rows)])
        ends = np.array([_ends(row) for row in rows], dtype=float).reshape(-1, 2)
        low, high = ends.T.copy()
        options = {
            "presolve": "off",
            "solver": "simplex",
            "primal_feasibility_tolerance": _TOLERANCE,
            "dual_feasibility_tolerance": _TOLERANCE,
        }
        self.program = IncrementalProgram(run, options=options)
        self.matrix = sparse.csr_array(
            (entries, columns, starts), shape=(len(rows), len(objective))
        )
        self.program.session.load(
            self.matrix,
            objective,
            (np.array(form.lower, dtype=float), np.array(form.upper, dtype=float)),
            (low, high),
        )

    def tableau(self, columns: Iterable[int]) -> Iterator[tuple[int, Vector]]:
        """Yield of some columns those that are basic, each with multipliers of the rows.

        In the sum of the rows times these, the column has the coefficient 1 and other basic ones
        have 0; rows that are not tight have the multiplier 0: a row of the simplex tableau.
        """
        for column, multipliers in self.program.tableau(columns):
            yield column, multipliers / self.scales

    def solve(self) -> Solved | None:
        """Solve; None if the solver failed, or at a limit of the run."""
        try:
            termination = self.program.solve()
        except SolverFailure:
            return None
        if termination is Termination.PROVED:
            value = self.program.objective * self.cost_scale
            duals = self.program.duals * self.cost_scale / self.scales
            return Solved(value, self.program.values, duals)
        if termination is Termination.INFEASIBLE:
            ray = self.program.dual_ray
            if ray is None:
                box = self._form.lower, self._form.upper
                ray = np.array([_unmet(row, *box) for row in self._rows], dtype=float)
            return Solved(INF, np.empty(0), ray / self.scales)
        return None


def _ends(row: Row) -> tuple[float, float]:
    """Return the sides of a row as the solver sees them."""
    scale = float(2**row.bits)
    low = -INF if row.low is None else row.low / scale
    return low, INF if row.high is None else row.high / scale


def _entries(row: Row) -> Vector:
    """Return the coefficients of a row as the solver sees them."""
    scale = float(2**row.bits)
    return np.array([a / scale for a in row.coefficients.values()])


def _unmet(row: Row, lower: Sequence[int], upper: Sequence[int]) -> int:
    """Return the sign of a multiplier that shows that a row alone has no point; 0 for all others.

    The solver has no ray of it if the row has no coefficients, or a column no value.
    """
    entries = row.coefficients.items()
    most = sum(a * (upper[j] if a > 0 else lower[j]) for j, a in entries)
    least = sum(a * (lower[j] if a > 0 else upper[j]) for j, a in entries)
    if row.low is not None and most < row.low:
        return 1
    return -1 if row.high is not None and least > row.high else 0
