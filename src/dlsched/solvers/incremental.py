"""A linear program that grows and changes, and is solved again from its last basis."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dlsched.errors import SolverFailure
from dlsched.results.result import Termination
from dlsched.run import Run
from dlsched.solvers.outcome import HIGHS, Vector
from dlsched.solvers.session import EMPTY, Session

if TYPE_CHECKING:
    from scipy import sparse

_DUAL, _PRIMAL = 1, 4
"""HiGHS's numbers of its simplex methods."""


class IncrementalProgram:
    """A linear program in HiGHS.

    Parameters
    ----------
    run
        Its threads, limits and interrupts are those of every `solve`.
    maximize
        Whether the objective is maximized.
    options, interruptible
        As of `Session`.

    Attributes
    ----------
    session
        The session of HiGHS.
    """

    def __init__(
        self,
        run: Run,
        *,
        maximize: bool = False,
        options: Mapping[str, Any] | None = None,
        interruptible: bool = True,
    ) -> None:
        import highspy

        self.session = Session(run, options, interruptible=interruptible)
        self.solver = self.session.solver
        if maximize:
            self.solver.changeObjectiveSense(highspy.ObjSense.kMaximize)
        self._upper_status = highspy.HighsBasisStatus.kUpper

    def _require(self, status: Any) -> None:
        self.session.require(status, "a change of the program")

    def add_row(
        self, lower: float, upper: float, columns: ArrayLike = (), entries: ArrayLike = ()
    ) -> None:
        """Add a row."""
        places = np.asarray(columns, dtype=np.int32)
        values = np.asarray(entries, dtype=float)
        self._require(self.solver.addRow(lower, upper, len(places), places, values))

    def add_rows(self, lower: ArrayLike, upper: ArrayLike) -> None:
        """Add rows without entries, for the columns that come."""
        limits = zip(np.atleast_1d(lower).tolist(), np.atleast_1d(upper).tolist(), strict=True)
        for low, high in limits:
            self.add_row(low, high)

    def add_column(
        self, cost: float, lower: float, upper: float, rows: ArrayLike, entries: ArrayLike
    ) -> None:
        """Add a column."""
        places = np.asarray(rows, dtype=np.int32)
        values = np.asarray(entries, dtype=float)
        self._require(self.solver.addCol(cost, lower, upper, len(places), places, values))

    def add_columns(self, costs: Vector, A: sparse.csc_array) -> None:
        """Add columns from 0 without an upper limit; `A` has a row for each row of the program."""
        count = len(costs)
        if not count:
            return
        lower = np.zeros(count)
        upper = np.full(count, np.inf)
        starts = A.indptr[:-1].astype(np.int32)
        rows = A.indices.astype(np.int32)
        status = self.solver.addCols(count, costs, lower, upper, A.nnz, starts, rows, A.data)
        self._require(status)

    def set_bounds(self, columns: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> None:
        """Change the limits of columns."""
        places = np.atleast_1d(columns).astype(np.int32)
        low = np.atleast_1d(lower).astype(float)
        high = np.atleast_1d(upper).astype(float)
        self._require(self.solver.changeColsBounds(len(places), places, low, high))

    def set_costs(self, costs: Vector) -> None:
        """Change the costs of all columns."""
        columns = np.arange(len(costs), dtype=np.int32)
        self._require(self.solver.changeColsCost(len(columns), columns, costs))

    def solve(self) -> Termination:
        """Solve from the last basis; where that fails, from none by the primal simplex method.

        `SolverFailure` is raised if HiGHS fails at that, too.
        """
        try:
            termination = self._solve()
        except SolverFailure:
            termination = Termination.UNDECIDED
        if termination is not Termination.UNDECIDED:
            return termination
        self.solver.clearSolver()
        self.session.set("simplex_strategy", _PRIMAL)
        try:
            return self._solve()
        finally:
            self.session.set("simplex_strategy", _DUAL)

    def _solve(self) -> Termination:
        status = self.session.solve()
        if status != EMPTY:
            return HIGHS[status]
        program = self.solver.getLp()
        broken = np.any(np.array(program.row_lower_) > 0) or np.any(
            np.array(program.row_upper_) < 0
        )
        return Termination.INFEASIBLE if broken else Termination.PROVED

    @property
    def objective(self) -> float:
        """The last optimum."""
        return float(self.solver.getInfo().objective_function_value)

    @property
    def values(self) -> Vector:
        """The columns' values at the last optimum."""
        return np.array(self.solver.getSolution().col_value)

    @property
    def duals(self) -> Vector:
        """The rows' duals at the last optimum."""
        duals = np.array(self.solver.getSolution().row_dual)
        return duals if len(duals) else np.zeros(self.solver.getNumRow())

    @property
    def dual_ray(self) -> Vector | None:
        """Multipliers of the rows that show that there is no point; ``None`` if not known."""
        _, known, ray = self.solver.getDualRay()
        return np.array(ray) if known else None

    @property
    def basis(self) -> Any:
        """The last basis."""
        return self.solver.getBasis()

    def restore(self, basis: Any) -> None:
        """Start the next solution from a basis."""
        self._require(self.solver.setBasis(basis))

    def at_upper(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which columns, and which rows, are not basic and at their upper end."""
        basis = self.solver.getBasis()
        upper = self._upper_status
        columns = np.array([status == upper for status in basis.col_status], dtype=bool)
        rows = np.array([status == upper for status in basis.row_status], dtype=bool)
        return columns, rows

    def tableau(self, columns: Iterable[int]) -> Iterator[tuple[int, Vector]]:
        """Yield of some columns those that are basic, each with its row of the basis' inverse."""
        _, basic = self.solver.getBasicVariables()
        positions = {int(column): position for position, column in enumerate(basic)}
        for column in columns:
            if column in positions:
                _, row = self.solver.getBasisInverseRow(positions[column])
                yield column, np.array(row)
