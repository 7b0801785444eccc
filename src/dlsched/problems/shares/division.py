"""Dividing a group's times among its kinds of jobs, and why that fails where it does.

Given a group's time X_o in each option o with rate r_o, its kinds j with n_j jobs need times x_jo
with sum_j x_jo = X_o, sum_o x_jo <= n_j, sum_o r_o x_jo >= n_j w_j, and no job is beside its own
group for more than half of that group's time there. If there are none, the duals p, t >= 0 of the
rows of work and time say why: all times that satisfy these rows have

    sum_j n_j (p_j w_j - t_j) <= sum_o X_o q_o,   q_o = max_j (p_j r_o - t_j),

and beside the own group q_o is the mean of the two largest values over jobs, as no job has more
than half. These are the inequalities that the program over groups lacks (`Cut`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.shares.groups import Option
from dlsched.problems.shares.rows import Entries
from dlsched.results.result import Termination
from dlsched.run import Run
from dlsched.solvers import highs
from dlsched.solvers.outcome import Vector
from dlsched.solvers.standard_form import INF, StandardForm

_ENOUGH = 1 - 1e-11
"""A division that gives this part of every need is taken."""
_TINY = 1e-12
_FINE = 2**14
"""Times in the linear program are in units of 1 divided by this, as with ``FINE`` of `rows`."""
_MARGIN = 2.0**-50
"""Coefficients are rounded up by this part of their terms: more than their rounding error."""


@dataclass(frozen=True)
class Cut:
    """Multipliers of one group: of each kind's work, and of its time."""

    group: int
    work: Vector
    time: Vector

    def weights(self, options: tuple[Option, ...], rates: Vector, counts: Vector) -> Vector:
        """Return q_o times the time per unit of each option's column, rounded up."""
        product = np.outer(self.work, rates)
        value = product - self.time[:, None] + _MARGIN * (product + self.time[:, None])
        largest: Vector = value.max(axis=0)
        own_options = [o for o, option in enumerate(options) if option.own]
        if own_options:
            jobs = np.repeat(value[:, own_options], np.minimum(counts, 2).astype(int), axis=0)
            largest[own_options] = np.partition(jobs, -2, axis=0)[-2:].mean(axis=0)
        largest *= np.array([option.times for option in options])
        return largest


@dataclass(frozen=True)
class Division:
    """Times by kind and option, and why they do not give what is needed, if they do not."""

    times: NDArray[np.float64]
    cut: Cut | None = None


def divide(
    group: int,
    options: tuple[Option, ...],
    totals: Vector,
    rates: Vector,
    counts: Vector,
    needs: Vector,
    run: Run,
) -> Division:
    """Divide a group's times among its kinds.

    Parameters
    ----------
    totals
        Time in each option.
    rates, needs
        Rate of each option, and what a job of each kind needs, in the same unit.
    counts
        Number of jobs of each kind.
    """
    if len(counts) == 1:
        return Division(totals[None, :])
    totals = np.where(totals > _TINY, totals, 0.0)
    if totals.sum() > counts.sum():
        totals *= counts.sum() / totals.sum()
    own = np.array([option.own for option in options])
    parts = _proportional(totals, rates, counts, needs, bool(totals[own].any()))
    if parts is not None:
        return Division(np.outer(parts, totals))
    return _by_program(group, totals, rates, counts, needs, own, run)


def _proportional(
    totals: Vector, rates: Vector, counts: Vector, needs: Vector, own: bool
) -> Vector | None:
    """Return parts of all times by kind, in which every job has the same options, if they do."""
    work = float(rates @ totals)
    time = float(totals.sum())
    if not work:
        return counts / counts.sum() if not needs.any() else None
    least = needs / work
    most = np.full(len(counts), 1 / time)
    if own:
        most = np.where(counts == 1, np.minimum(most, 0.5), most)
    used = float(counts @ least)
    room = float(counts @ most)
    if (least > most).any() or used > 1 or room < 1:
        return None
    part = (1 - used) / (room - used) if room > used else 0.0
    parts: Vector = counts * (least + part * (most - least))
    return parts


def _by_program(
    group: int,
    totals: Vector,
    rates: Vector,
    counts: Vector,
    needs: Vector,
    own: NDArray[np.bool_],
    run: Run,
) -> Division:
    """Divide by a linear program: maximise the least part of its need that a kind gets.

    Its columns are the times by kind and option, and last that part. Should the solver fail, all
    jobs get the same times; what that costs is in the gap.
    """
    used = np.flatnonzero(totals)
    columns = np.arange(len(counts) * len(used)).reshape(len(counts), len(used))
    part = columns.size
    rows = Entries()
    for of_kind, count in zip(columns, counts, strict=True):
        rows.row(-INF, count, dict.fromkeys(of_kind.tolist(), 1.0))
    for of_option, total in zip(columns.T, totals[used], strict=True):
        rows.row(total, total, dict.fromkeys(of_option.tolist(), 1.0))
    active = np.flatnonzero(needs > 0)
    first = len(rows.lower)
    for c in active.tolist():
        parts_of_need = rates[used] / (needs[c] * counts[c])
        weights = dict(zip(columns[c].tolist(), parts_of_need.tolist(), strict=True))
        rows.row(0.0, INF, weights | {part: -1.0})
    for o in np.flatnonzero(own[used]).tolist():
        for c in np.flatnonzero(counts == 1).tolist():
            rows.row(-INF, totals[used[o]] / 2, {int(columns[c, o]): 1.0})
    costs = np.zeros(part + 1)
    costs[part] = 1.0
    most = np.append(np.full(part, INF), float(_FINE))
    lower, upper = rows.sides(_FINE)
    form = StandardForm.of(rows.matrix(part + 1), lower, upper, most, costs, sense="max")
    solved = highs.solve(form, 0, run, relax=True)
    proved = solved.termination is Termination.PROVED
    if not proved or solved.values is None or solved.duals is None:
        return Division(np.outer(counts / counts.sum(), totals))
    values = solved.values / _FINE
    times = np.zeros((len(counts), len(totals)))
    times[:, used] = values[columns]
    if values[part] >= _ENOUGH:
        return Division(times)
    work = np.zeros(len(counts))
    prices = -solved.duals[first : first + len(active)]
    work[active] = np.where(prices > _TINY, prices, 0.0) / (needs[active] * counts[active])
    time = solved.duals[: len(counts)]
    return Division(times, Cut(group, work, np.where(time > _TINY, time, 0.0)))
