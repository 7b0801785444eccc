"""The program's rows as sparse arrays, for the solver and for the certificate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dlsched.gavel.program import Program
from dlsched.schema.quantities import Number
from dlsched.solvers.outcome import Vector
from dlsched.solvers.standard_form import INF, StandardForm

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

    def row(self, lower: float, upper: float) -> int:
        """Append a row without entries, and return its position."""
        self.lower.append(lower)
        self.upper.append(upper)
        return len(self.lower) - 1

    def add(self, row: int, column: int, value: Number | float) -> None:
        """Add a value to an entry."""
        self.rows.append(row)
        self.columns.append(column)
        self.values.append(float(value))


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
    entries, kinds = Entries(), program.kinds
    time = [entries.row(-INF, kind.count) for kind in kinds]
    gpu = {k: entries.row(-INF, n) for k, n in program.gpus.items()}
    for j, column in enumerate(program.columns):
        for c, _, _ in column.sides(kinds):
            entries.add(time[c], j, 1.0)
        entries.add(gpu[column.gpu], j, column.uses(kinds))
    for ours, theirs in program.matched.values():
        row = entries.row(0.0, 0.0)
        for j in ours:
            entries.add(row, j, 1.0)
        for j in theirs:
            entries.add(row, j, -1.0)
    size = len(program.columns)
    for members in program.own.values():
        total, size = size, size + 1  # an auxiliary column: the time of the whole group
        row = entries.row(0.0, 0.0)
        entries.add(row, total, -1.0)
        for j in members:
            entries.add(row, j, 1.0)
            if kinds[program.columns[j].kinds[0]].count == 1:  # with two jobs it always holds
                half = entries.row(-INF, 0.0)
                entries.add(half, j, 2.0)
                entries.add(half, total, -1.0)
    return entries, size


def standard_form(program: Program, entries: Entries, costs: Vector) -> StandardForm:
    """Return the rows with the costs of an objective that is maximised."""
    from scipy import sparse

    size = len(costs)
    shape = len(entries.lower), size
    matrix = sparse.coo_array((entries.values, (entries.rows, entries.columns)), shape=shape)
    matrix.sum_duplicates()  # a kind beside itself has its time twice
    most = float(sum(kind.count for kind in program.kinds))
    upper = np.full(size, most)
    for j, column in enumerate(program.columns):
        upper[j] = min(program.kinds[c].count for c in column.kinds)
    return StandardForm(
        A=sparse.csc_array(matrix),
        row_lower=FINE * np.array(entries.lower, dtype=float),
        row_upper=FINE * np.array(entries.upper, dtype=float),
        lower=np.zeros(size),
        upper=FINE * upper,
        integer=np.zeros(size, dtype=bool),
        costs=(costs,),
        offsets=(0.0,),
        senses=("max",),
        granularities=(Fraction(0),),
    )
