"""The largest common level of all kinds of jobs, by a program over groups and inequalities.

The program maximises the least ratio of a job's throughput to what its kind requires. It starts
with one inequality for each group: its jobs' work is at least the sum of their needs. If the times
of a group cannot be divided among its kinds (module ``division``), the inequality that says so
is added, and the program is solved again. There are finitely many, as they come from vertices of
one polyhedron for each group, and mostly few are needed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType

import numpy as np

from dlsched.problems.shares.division import Cut, Division, divide
from dlsched.problems.shares.groups import Groups
from dlsched.problems.shares.optimum import Optimum, optimize
from dlsched.problems.shares.repair import repair
from dlsched.problems.shares.rows import FINE, Rows, common, standard_form
from dlsched.run import Run
from dlsched.solvers.outcome import Vector
from dlsched.solvers.standard_form import INF

_NEGLIGIBLE = 1e-8
"""A kind that needs less than this part of its jobs' time at any level is left out of the rows."""
_MOST_ROUNDS = 200
_SIGNIFICANT = 64


@dataclass(frozen=True)
class Level:
    """The optimum of the program over groups, with times by kind.

    Attributes
    ----------
    optimum
        That of the last program over groups.
    times
        Times of the program over kinds, exact, with all its rows satisfied.
    duals
        For each kind at the common level how much of the level's price it pays; they add up to 1.
    """

    optimum: Optimum
    times: list[Fraction]
    duals: Mapping[int, float]

    @property
    def value(self) -> Fraction:
        """The level, as the solver has it."""
        return self.optimum.rows.unit * Fraction(self.optimum.values[-1])

    @property
    def size(self) -> tuple[int, int]:
        """Rows and columns of the program over groups."""
        return self.optimum.rows.form.shape


class LevelProgram:
    """The programs of several levels on the same groups; inequalities once found are kept."""

    def __init__(self, groups: Groups, run: Run) -> None:
        self.groups, self.run = groups, run
        self.group_of = groups.group_of()
        self.kinds = groups.program.kinds
        self.cuts: list[Cut] = [
            Cut(g, np.ones(len(own)), np.zeros(len(own))) for g, own in enumerate(groups.members)
        ]
        self.counts = [
            np.array([self.kinds[c].count for c in own], dtype=float) for own in groups.members
        ]
        self.rates = [
            np.array([float(Fraction(o.rate) / Fraction(best)) for o in options])
            for options, best in zip(groups.options, groups.best, strict=True)
        ]

    def solve(
        self,
        required: Sequence[Fraction],
        levels: Mapping[int, Fraction] = MappingProxyType({}),
    ) -> Level:
        """Maximise the least ratio of throughput to what is required.

        Parameters
        ----------
        required
            Throughput that a job of each kind needs at a level of 1.
        levels
            Kinds that have a level of their own instead of the common one.
        """
        needs = _Needs(self, required, levels)
        for _ in range(_MOST_ROUNDS):
            optimum = optimize(self._rows(needs), self.run)
            values = optimum.values / optimum.rows.fine
            divisions = self._divide(needs, values)
            cuts = [division.cut for division in divisions if division.cut is not None]
            new = [cut for cut in cuts if not self._known(cut)]
            if not new:
                break
            self.cuts += new
        level = optimum.rows.unit * Fraction(optimum.values[-1])
        targets = [r * levels.get(c, level) for c, r in enumerate(required)]
        parts = [division.times.tolist() for division in divisions]
        times = repair(self.groups.program, self.groups.expand(values.tolist(), parts), targets)
        return Level(optimum, times, self._duals(needs, optimum.duals))

    def _rows(self, needs: _Needs) -> Rows:
        """Return the program: time by group, GPUs by type, and one row for each inequality.

        Each row is divided by the sum of its needs, so that the solver's tolerance is relative to
        the level. Rounding makes an inequality weaker, never stronger.
        """
        totals = self.groups.totals
        entries, size = common(totals)
        needs.rows = {}
        for i, cut in enumerate(self.cuts):
            fixed, open_ = needs.of(cut)
            if not fixed and not open_:
                continue
            total = fixed + open_
            options = self.groups.options[cut.group]
            counts = self.counts[cut.group]
            time = sum(Fraction(t) * int(n) for t, n in zip(cut.time, counts, strict=True))
            lower = float((fixed - time) / total)
            price = float(open_ / total)
            if i < len(self.groups.members):
                best = self.groups.best[cut.group]
                weights = [float(o.times * o.rate / (best * total)) for o in options]
            else:
                lower = math.nextafter(lower, -INF)
                price = math.nextafter(price, 0.0)
                raised = cut.weights(options, self.rates[cut.group], counts)
                weights = [
                    math.nextafter(float(Fraction(w) / total), INF) if w else 0.0
                    for w in raised.tolist()
                ]
            columns = [option.column for option in options]
            row = dict(zip(columns, weights, strict=True)) | {size: -price}
            needs.rows[i] = entries.row(lower, INF, {j: w for j, w in row.items() if w})
        costs = np.zeros(size + 1)
        costs[size] = 1.0
        form = standard_form(totals, entries, costs)
        form.upper[size] = INF
        return Rows(form, needs.unit / FINE)

    def _divide(self, needs: _Needs, values: Vector) -> list[Division]:
        """Divide each group's times among its kinds."""
        divisions = []
        for g, options in enumerate(self.groups.options):
            totals = np.array([o.times * values[o.column] for o in options])
            wanted = needs.floats(g, values[-1])
            division = divide(g, options, totals, self.rates[g], self.counts[g], wanted, self.run)
            divisions.append(division)
        return divisions

    def _known(self, cut: Cut) -> bool:
        return any(
            cut.group == other.group
            and np.allclose(cut.work, other.work, rtol=1e-9, atol=0)
            and np.allclose(cut.time, other.time, rtol=1e-9, atol=1e-12)
            for other in self.cuts
        )

    def _duals(self, needs: _Needs, duals: Vector) -> dict[int, float]:
        """Return the price that each kind at the common level pays."""
        prices = dict.fromkeys(needs.open, 0.0)
        for i, row in needs.rows.items():
            cut = self.cuts[i]
            total = float(sum(needs.of(cut)))
            members = self.groups.members[cut.group]
            for c, work, count in zip(members, cut.work, self.counts[cut.group], strict=True):
                if c in prices:
                    prices[c] += abs(duals[row]) * work * count * float(needs.part[c]) / total
        return prices


class _Needs:
    """What each kind needs: at the largest conceivable level, or at a level of its own.

    Attributes
    ----------
    open
        Kinds at the common level.
    unit
        An upper bound on the common level, in units of which the program has it.
    part
        For each kind the part of a job's time that it needs at its group's best rate and at a level
        of `unit`, or at its own; 0 where it is negligible.
    rows
        The row of each inequality that has one, by its position.
    """

    def __init__(
        self, program: LevelProgram, required: Sequence[Fraction], levels: Mapping[int, Fraction]
    ) -> None:
        kinds, group_of = program.kinds, program.group_of
        best = [Fraction(program.groups.best[g]) for g in group_of]
        self.program, self.levels = program, levels
        self.open = [c for c in range(len(kinds)) if c not in levels]
        self.unit = _ceiling(program.groups, best, required, self.open)
        parts = [
            rounded_down(r * levels.get(c, self.unit) / b)
            for c, (r, b) in enumerate(zip(required, best, strict=True))
        ]
        self.part = [p if p > Fraction(_NEGLIGIBLE) else Fraction(0) for p in parts]
        self.rows: dict[int, int] = {}

    def of(self, cut: Cut) -> tuple[Fraction, Fraction]:
        """Return the needs in an inequality: of kinds with a level of their own, and of others."""
        fixed = open_ = Fraction(0)
        for c, work in zip(self.program.groups.members[cut.group], cut.work.tolist(), strict=True):
            need = Fraction(work) * self.part[c] * self.program.kinds[c].count
            if c in self.levels:
                fixed += need
            else:
                open_ += need
        return fixed, open_

    def floats(self, group: int, level: float) -> Vector:
        """Return what a job of each kind of a group needs at a common level."""
        members = self.program.groups.members[group]
        return np.array([float(self.part[c]) * (1 if c in self.levels else level) for c in members])


def _ceiling(
    groups: Groups, best: Sequence[Fraction], required: Sequence[Fraction], open_: Sequence[int]
) -> Fraction:
    """Return an upper bound on the level: no job is faster than at its best rate all the time.

    Nor can all jobs together use more GPUs than there are; a job that shares them uses half.
    """
    kinds, gpus = groups.program.kinds, groups.program.gpus
    alone = min(best[c] / required[c] for c in open_)
    part = 2 if any(len(column.kinds) > 1 for column in groups.totals.columns) else 1
    needed = sum(
        kinds[c].count * kinds[c].example.scale * rounded_down(required[c] / best[c]) for c in open_
    )
    return min(alone, part * sum(gpus.values()) / Fraction(needed))


def rounded_down(value: Fraction) -> Fraction:
    """Return a positive number rounded down to 64 significant bits, as short fractions are fast."""
    bits = _SIGNIFICANT - value.numerator.bit_length() + value.denominator.bit_length()
    unit = Fraction(2) ** bits
    return Fraction(value * unit // 1) / unit
