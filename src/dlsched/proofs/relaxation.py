"""The linear relaxation of a form in HiGHS, solved again and again with other column bounds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlsched.errors import SolverFailure
from dlsched.forms.form import Form, Row
from dlsched.solvers.outcome import Vector

INF = float("inf")
Flags = NDArray[np.bool_]
_TOLERANCE = 1e-9
_DUAL, _PRIMAL = 1, 4
"""HiGHS's numbers of its simplex methods."""


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
    """A relaxation whose column bounds change, and which is solved from the last basis.

    Rows are divided by two to their bits, and costs by a power of two, so that the solver sees
    numbers of moderate size.
    """

    def __init__(self, form: Form, rows: Sequence[Row], costs: Mapping[int, int]) -> None:
        import highspy

        self.scales = np.array([float(2**row.bits) for row in rows])
        largest = max((abs(c) for c in costs.values()), default=1)
        self.cost_scale = float(2 ** max(0, largest.bit_length() - 13))
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = len(form.lower), len(rows)
        cost = np.zeros(lp.num_col_)
        for j, c in costs.items():
            cost[j] = c / self.cost_scale
        lp.col_cost_ = cost
        lp.col_lower_ = np.array(form.lower, dtype=float)
        lp.col_upper_ = np.array(form.upper, dtype=float)
        ends = [(-INF if r.low is None else r.low, INF if r.high is None else r.high) for r in rows]
        lp.row_lower_ = np.array([low for low, _ in ends], dtype=float) / self.scales
        lp.row_upper_ = np.array([high for _, high in ends], dtype=float) / self.scales
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        counts = [len(r.coefficients) for r in rows]
        lp.a_matrix_.start_ = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        lp.a_matrix_.index_ = np.array([j for r in rows for j in r.coefficients], dtype=np.int32)
        lp.a_matrix_.value_ = np.array(
            [a / s for r, s in zip(rows, self.scales, strict=True) for a in r.coefficients.values()]
        )
        self.highs = highspy.Highs()
        for option, value in {
            "output_flag": False, "presolve": "off", "threads": 1, "solver": "simplex",
            "primal_feasibility_tolerance": _TOLERANCE, "dual_feasibility_tolerance": _TOLERANCE,
        }.items():  # fmt: skip
            self.highs.setOptionValue(option, value)
        if self.highs.passModel(lp) == highspy.HighsStatus.kError:
            raise SolverFailure("HiGHS rejected the form")
        self._statuses = highspy.HighsModelStatus
        self._upper = highspy.HighsBasisStatus.kUpper

    def add(self, row: Row) -> None:
        """Add a row."""
        scale = float(2**row.bits)
        self.scales = np.append(self.scales, scale)
        low, high = (
            unbounded if end is None else end / scale
            for end, unbounded in ((row.low, -INF), (row.high, INF))
        )
        columns = np.fromiter(row.coefficients.keys(), np.int32)
        entries = np.array([a / scale for a in row.coefficients.values()])
        self.highs.addRow(low, high, len(columns), columns, entries)

    def tableau(self, columns: Iterable[int]) -> Iterator[Vector]:
        """Yield multipliers of the rows, for every basic one of some columns.

        In the sum of the rows times these, the column has the coefficient 1 and other basic ones
        have 0; rows that are not tight have the multiplier 0: a row of the simplex tableau.
        """
        _, basic = self.highs.getBasicVariables()
        positions = {int(column): position for position, column in enumerate(basic)}
        for column in columns:
            if column in positions:
                _, found = self.highs.getBasisInverseRow(positions[column])
                yield np.array(found) / self.scales

    def at_upper(self) -> tuple[Flags, Flags]:
        """Return which columns, and which rows, are not basic and at their upper end."""
        basis, upper = self.highs.getBasis(), self._upper
        columns = np.array([status == upper for status in basis.col_status], dtype=bool)
        return columns, np.array([status == upper for status in basis.row_status], dtype=bool)

    def set_bounds(self, column: int, lower: int, upper: int) -> None:
        """Change a column's bounds."""
        self.highs.changeColBounds(column, float(lower), float(upper))

    def basis(self) -> Any:
        """Return the basis of the last solution."""
        return self.highs.getBasis()

    def restore(self, basis: Any) -> None:
        """Start the next solution from a basis."""
        self.highs.setBasis(basis)

    def limit(self, iterations: int | None) -> None:
        """Limit the iterations of the next solutions."""
        self.highs.setOptionValue(
            "simplex_iteration_limit", 2**31 - 1 if iterations is None else iterations
        )

    def solve(self) -> Solved | None:
        """Solve; None if the solver failed or ran into its limit of iterations."""
        self.highs.run()
        status = self.highs.getModelStatus()
        if status in (self._statuses.kNotset, self._statuses.kSolveError, self._statuses.kUnknown):
            self.highs.clearSolver()  # the dual simplex gave up, and the primal one may not
            self.highs.setOptionValue("simplex_strategy", _PRIMAL)
            self.highs.run()
            self.highs.setOptionValue("simplex_strategy", _DUAL)
            status = self.highs.getModelStatus()
        if status == self._statuses.kOptimal:
            found = self.highs.getSolution()
            value = self.highs.getInfo().objective_function_value * self.cost_scale
            duals = np.array(found.row_dual) * self.cost_scale / self.scales
            return Solved(value, np.array(found.col_value), duals)
        if status == self._statuses.kModelEmpty:  # no columns
            return Solved(0.0, np.empty(0), np.zeros(len(self.scales)))
        if status == self._statuses.kInfeasible:
            _, there, ray = self.highs.getDualRay()
            return Solved(INF, np.empty(0), np.array(ray) / self.scales if there else None)
        return None
