"""The program's rows as sparse arrays, for the solver and for the certificate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from dlsched.problems.shares.program import Program
from dlsched.schema.quantities import Number
from dlsched.solvers.outcome import Vector
from dlsched.solvers.standard_form import INF, StandardForm

if TYPE_CHECKING:
    from scipy import sparse

NO_WEIGHTS: Mapping[int, float] = MappingProxyType({})
FINE = 2**6
"""Times are in units of 1 divided by this, so that a solver's absolute tolerance of 1e-7 is about
1e-9 of a job's time."""


@dataclass(frozen=True)
class Rows:
    """A linear program.

    Attributes
    ----------
    form
        The columns of the program, auxiliary ones, and, if there is a level, last the level.
    unit
        The objective in the form is in this unit. That of a level is at most `fine` units.
    fine
        Times in the form are in units of 1 divided by this.
    """

    form: StandardForm
    unit: Fraction
    fine: int = FINE

    def bounded(self) -> StandardForm:
        """Return the form with an upper bound on the level, which a certificate needs."""
        upper = self.form.upper.copy()
        upper[np.isinf(upper)] = self.fine
        return replace(self.form, upper=upper)

    def coarser(self) -> Rows:
        """Return the same program with times in units of 1."""
        form, fine = self.form, self.fine
        form = replace(
            form,
            row_lower=form.row_lower / fine,
            row_upper=form.row_upper / fine,
            upper=form.upper / fine,
        )
        return Rows(form, self.unit * fine, 1)


class Entries:
    """The entries of a sparse matrix, and the sides of its rows."""

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.columns: list[int] = []
        self.values: list[float] = []
        self.lower: list[float] = []
        self.upper: list[float] = []

    def row(self, lower: float, upper: float, weights: Mapping[int, float] = NO_WEIGHTS) -> int:
        """Append a row with the weights of its columns, and return its position."""
        position = len(self.lower)
        self.lower.append(lower)
        self.upper.append(upper)
        for column, weight in weights.items():
            self.add(position, column, weight)
        return position

    def add(self, row: int, column: int, value: Number | float) -> None:
        """Add a value to an entry."""
        self.rows.append(row)
        self.columns.append(column)
        self.values.append(float(value))

    def sides(self, fine: int) -> tuple[Vector, Vector]:
        """Return the lower and upper sides of the rows, for columns in units of 1 / `fine`."""
        return fine * np.array(self.lower, dtype=float), fine * np.array(self.upper, dtype=float)

    def matrix(self, columns: int) -> sparse.csc_array:
        """Return the entries as a matrix; those that were added to are one."""
        from scipy import sparse

        shape = (len(self.lower), columns)
        matrix = sparse.coo_array((self.values, (self.rows, self.columns)), shape=shape)
        matrix.sum_duplicates()  # a kind beside itself has its time twice
        return sparse.csc_array(matrix)


def weighted_sum(program: Program) -> Rows:
    """Return the program that maximises the sum of weights x throughputs."""
    entries, size = common(program)
    costs = np.zeros(size)
    for j, column in enumerate(program.columns):
        worth = sum(program.kinds[c].example.weight * r for c, r, _ in column.sides(program.kinds))
        costs[j] = float(worth)
    return Rows(standard_form(program, entries, costs), Fraction(1, FINE))


def common(program: Program) -> tuple[Entries, int]:
    """Return the rows that all policies have, and the number of columns."""
    entries = Entries()
    kinds = program.kinds
    time = [entries.row(-INF, kind.count) for kind in kinds]
    gpu = {k: entries.row(-INF, n) for k, n in program.gpus.items()}
    for j, column in enumerate(program.columns):
        for c, _, _ in column.sides(kinds):
            entries.add(time[c], j, 1.0)
        entries.add(gpu[column.gpu], j, column.uses(kinds))
    for ours, theirs in program.matched.values():
        entries.row(0.0, 0.0, dict.fromkeys(ours, 1.0) | dict.fromkeys(theirs, -1.0))
    size = len(program.columns)
    for total, members in enumerate(program.own.values(), size):
        # An auxiliary column: the time of the whole group.
        entries.row(0.0, 0.0, {total: -1.0} | dict.fromkeys(members, 1.0))
        for j in members:
            if kinds[program.columns[j].kinds[0]].count == 1:  # with two jobs it always holds
                entries.row(-INF, 0.0, {j: 2.0, total: -1.0})
    return entries, size + len(program.own)


def standard_form(program: Program, entries: Entries, costs: Vector) -> StandardForm:
    """Return the rows with the costs of an objective that is maximised."""
    size = len(costs)
    most = float(sum(kind.count for kind in program.kinds))
    upper = np.full(size, most)
    for j, column in enumerate(program.columns):
        upper[j] = min(program.kinds[c].count for c in column.kinds)
    row_lower, row_upper = entries.sides(FINE)
    form = StandardForm.of(
        entries.matrix(size), row_lower, row_upper, FINE * upper, costs, sense="max"
    )
    return replace(form, integer=np.zeros(size, dtype=bool))
