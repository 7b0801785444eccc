"""The program's rows as sparse arrays, for the solver and for the certificate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dlsched.gavel.program import Program
from dlsched.schema import Number
from dlsched.solvers.outcome import Vector
from dlsched.solvers.standard_form import INF, StandardForm


@dataclass(frozen=True)
class Rows:
    """A linear program.

    Attributes
    ----------
    form
        The columns of the program, auxiliary ones, and, if there is a level, last the level.
    unit
        The level in the form is in this unit: an upper bound of it.
    first
        The first row of progress; they are the last ones, one for each kind.
    """

    form: StandardForm
    unit: Fraction = Fraction(1)
    first: int = 0

    def ceiling(self, limit: float) -> StandardForm:
        """Return the form with an upper bound on the level, which a certificate needs."""
        upper = self.form.upper.copy()
        upper[-1] = limit
        return replace(self.form, upper=upper)


class _Entries:
    """The entries of a sparse matrix, and the sides of its rows."""

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.columns: list[int] = []
        self.values: list[float] = []
        self.lower: list[float] = []
        self.upper: list[float] = []

    def row(self, lower: float, upper: float) -> int:
        self.lower.append(lower)
        self.upper.append(upper)
        return len(self.lower) - 1

    def add(self, row: int, column: int, value: Number | float) -> None:
        self.rows.append(row)
        self.columns.append(column)
        self.values.append(float(value))


def least_level(program: Program, required: Sequence[Fraction]) -> Rows:
    """Return the program that maximises the least ratio of throughput to what is required.

    Rows: the time of each kind's jobs; the GPUs of each type; the two sides of shared time; and for
    each kind c with n_c jobs, sum of rates x times >= n_c required_c level. The last ones are
    divided by n_c required_c unit, so that the solver's tolerance is relative to the level.
    """
    best = best_rates(program)
    unit = _ceiling(program, best, required)
    entries, size = _common(program)
    first = len(entries.lower)
    for _ in program.kinds:
        entries.row(0.0, INF)
    scales = [1 / (k.count * r * unit) for k, r in zip(program.kinds, required, strict=True)]
    for j, column in enumerate(program.columns):
        for c, rate, _ in column.sides(program.kinds):
            entries.add(first + c, j, rate * scales[c])
    for c in range(len(program.kinds)):
        entries.add(first + c, size, -1.0)
    costs = np.zeros(size + 1)
    costs[size] = 1.0
    form = _form(program, entries, costs)
    form.upper[size] = INF
    return Rows(form, unit, first)


def weighted_sum(program: Program) -> Rows:
    """Return the program that maximises the sum of weights x throughputs."""
    entries, size = _common(program)
    costs = np.zeros(size)
    for j, column in enumerate(program.columns):
        worth = sum(program.kinds[c].example.weight * r for c, r, _ in column.sides(program.kinds))
        costs[j] = float(worth)
    return Rows(_form(program, entries, costs))


def _common(program: Program) -> tuple[_Entries, int]:
    """Return the rows that all policies have, and the number of columns."""
    entries, kinds = _Entries(), program.kinds
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


def _form(program: Program, entries: _Entries, costs: Vector) -> StandardForm:
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
        row_lower=np.array(entries.lower, dtype=float),
        row_upper=np.array(entries.upper, dtype=float),
        lower=np.zeros(size),
        upper=upper,
        integer=np.zeros(size, dtype=bool),
        costs=(costs,),
        offsets=(0.0,),
        senses=("max",),
        granularities=(Fraction(0),),
    )


def _ceiling(program: Program, best: Sequence[Number], required: Sequence[Fraction]) -> Fraction:
    """Return an upper bound on the level: no job is faster than at its best rate all the time.

    Nor can all jobs together use more GPUs than there are; a job that shares them uses half.
    """
    alone = min(Fraction(most) / r for most, r in zip(best, required, strict=True))
    part = 2 if any(len(c.kinds) > 1 or c.beside for c in program.columns) else 1
    needed = sum(
        kind.count * kind.example.scale * r / most
        for kind, most, r in zip(program.kinds, best, required, strict=True)
    )
    return min(alone, part * sum(program.gpus.values()) / Fraction(needed))


def best_rates(program: Program) -> list[Number]:
    """Return each kind's largest rate, alone or beside another job."""
    best: list[Number] = [0] * len(program.kinds)
    for column in program.columns:
        for c, rate, _ in column.sides(program.kinds):
            best[c] = max(best[c], rate)
    return best
