"""The program's rows as sparse arrays, for the solver and for the certificate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from dlsched.gavel.program import Program
from dlsched.schema.quantities import Number
from dlsched.solvers.outcome import Vector
from dlsched.solvers.standard_form import INF, StandardForm

FINE = 2**6
"""Times are in units of 1 divided by this, so that a solver's absolute tolerance of 1e-7 is about
1e-9 of a job's time."""
_NEGLIGIBLE = 1e-8
"""A kind that needs less than this part of its jobs' time at any level has no row."""


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
    progress
        The row of progress of each kind that has one.
    """

    form: StandardForm
    unit: Fraction
    fine: int = FINE
    progress: Mapping[int, int] = field(default_factory=dict)

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
        return Rows(form, self.unit * fine, 1, self.progress)


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


def least_level(
    program: Program, required: Sequence[Fraction], fixed: Mapping[int, Fraction] | None = None
) -> Rows:
    """Return the program that maximises the least ratio of throughput to what is required.

    Rows: the time of each kind's jobs; the GPUs of each type; the two sides of shared time; and for
    each kind c with n_c jobs, sum of rates x times >= n_c required_c level, divided by n_c
    required_c unit, so that the solver's tolerance is relative to the level. Kinds in `fixed` have
    their own level instead of the common one.

    A kind whose jobs need less than 1e-8 of their time at any level has no row: coefficients of its
    row would exceed those of others by eight orders of magnitude. So the program is a relaxation,
    and its bound holds; what such a kind needs is added to the solution (`repair`), at a cost below
    the gap that is stated.
    """
    levels = fixed or {}
    best = best_rates(program)
    open_ = [c for c in range(len(program.kinds)) if c not in levels]
    unit = _ceiling(program, best, required, open_)
    entries, size = _common(program)
    scales: dict[int, Fraction] = {}
    progress: dict[int, int] = {}
    for c, kind in enumerate(program.kinds):
        most = required[c] * levels.get(c, unit)
        if most > best[c] * Fraction(_NEGLIGIBLE):
            progress[c] = entries.row(1.0 if c in levels else 0.0, INF)
            scales[c] = 1 / (kind.count * most)
    for j, column in enumerate(program.columns):
        for c, rate, _ in column.sides(program.kinds):
            if c in progress:
                entries.add(progress[c], j, rate * scales[c])
    for c in open_:
        if c in progress:
            entries.add(progress[c], size, -1.0)
    costs = np.zeros(size + 1)
    costs[size] = 1.0
    form = _form(program, entries, costs)
    form.upper[size] = INF
    return Rows(form, unit / FINE, progress=progress)


def weighted_sum(program: Program) -> Rows:
    """Return the program that maximises the sum of weights x throughputs."""
    entries, size = _common(program)
    costs = np.zeros(size)
    for j, column in enumerate(program.columns):
        worth = sum(program.kinds[c].example.weight * r for c, r, _ in column.sides(program.kinds))
        costs[j] = float(worth)
    return Rows(_form(program, entries, costs), Fraction(1, FINE))


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


def _ceiling(
    program: Program, best: Sequence[Number], required: Sequence[Fraction], open_: Sequence[int]
) -> Fraction:
    """Return an upper bound on the level: no job is faster than at its best rate all the time.

    Nor can all jobs together use more GPUs than there are; a job that shares them uses half.
    """
    alone = min(best[c] / required[c] for c in open_)
    part = 2 if any(len(c.kinds) > 1 or c.beside for c in program.columns) else 1
    kinds = program.kinds
    needed = sum(kinds[c].count * kinds[c].example.scale * required[c] / best[c] for c in open_)
    return min(alone, part * sum(program.gpus.values()) / Fraction(needed))


def best_rates(program: Program) -> list[Number]:
    """Return each kind's largest rate, alone or beside another job."""
    best: list[Number] = [0] * len(program.kinds)
    for column in program.columns:
        for c, rate, _ in column.sides(program.kinds):
            best[c] = max(best[c], rate)
    return best
