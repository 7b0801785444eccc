"""The search for prices: column generation, first with slots merged into periods.

The restricted master of Dantzig-Wolfe takes at most one known schedule per job, within Hall's rows.
With one price for all slots of a period it has few rows, and few passes bring its bound near the
best that such prices have. Halved periods begin with these prices and all columns, so that few
passes are left to do with many rows.

Utilities are scaled as in `Gangs`, because HiGHS's tolerances are absolute.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.utility.programs.lagrangian import Dual
from dlsched.problems.utility.structures.gangs import Gangs, Levels, Stopped
from dlsched.results.result import Termination
from dlsched.run import Run
from dlsched.solvers.arrays import Floats, Ints
from dlsched.solvers.column_generation import generate
from dlsched.solvers.incremental import IncrementalProgram

if TYPE_CHECKING:
    from scipy import sparse

_LEAST = 1e-12
"""Averages of prices that fall to 0 end there, where they are below this; utilities are up to 1."""


@dataclass(frozen=True)
class Tunables:
    """Tunables of the search for prices, and of that for schedules beside it.

    All were chosen by hand on generated instances of 8 to 480 jobs; no figure compares other
    values. What the search for prices reaches with these: "Certified bounds" and "Bounds of the
    library's open instances" of benchmarks/figures/utility.md; the whole method: its sections by
    size.
    """

    finish_periods: int = 6
    """Periods of equal, and of growing, length in the program of `finish_periods`: with 12 or 24
    it takes 4 or 10 times as long, and column generation as many rounds from there."""
    periods: int = 12
    """The same in the first master."""
    most_rows: int = 1_000
    """With more rows the master's simplex takes longer than its prices are worth."""
    merged: float = 0.8
    """With more periods, as a share of the slots, no slots are merged."""
    coarse: float = 1e-3
    """Where the master's optimum and the bound are this near, merged slots are done."""
    fine: float = 1e-7
    """The same for single slots."""
    price_shares: tuple[float, ...] = (0.7, 0.8, 0.95)
    """Shares of the prices at which jobs are inserted; next to the prices themselves the best of
    these gained .5 to 1.4 %, at the first prices 1 to 3 %, on 480 jobs in 400 slots."""
    missing: float = 1e3
    """What the master pays for a job that must finish without a schedule; utilities are up to 1."""
    first_share: float = 0.2
    """The most time of the first search for a schedule, as a share of the limit."""
    rounds: int = 300
    """Rounds of a neighbourhood search, for each job; later ones are longer."""
    prices_share: float = 0.6
    """The most time of the search for prices, as a share of the limit."""
    answering: float = 8.0
    """Writing and checking a schedule takes about this many times as long as reading it."""
    most_direct: int = 1_500
    """Up to this many triples of job, slot and speed the integer program closes the gap at once."""
    direct_rounds: int = 8
    """Rounds of the neighbourhood search before that, for each job and each of all jobs."""
    most_closing: int = 5_000
    """Up to this many triples it may close the gap after a search for a better incumbent."""
    fewest_jobs: int = 4
    """With fewer jobs there are no neighbourhoods to search."""
    patience: int = 5
    """Rounds of search without a better incumbent after which a run without a limit ends."""
    other_share: float = 0.3
    """The most time of a search from another schedule, as a share of what is left."""
    improving_share: float = 0.6
    """The most time of a search from the incumbent, likewise."""


TUNABLES = Tunables()


class Columns:
    """Schedules of single jobs: for each column its job, and its row of speeds by slot."""

    def __init__(self, gangs: Gangs) -> None:
        self.gangs = gangs
        self.jobs: list[int] = []
        self.rows: list[NDArray[np.int8]] = []
        self.known: set[tuple[int, bytes]] = set()

    def add(self, levels: Levels) -> int:
        """Add the jobs' rows, one each, that are not empty; return how many are new."""
        before = len(self.jobs)
        for j in np.flatnonzero((levels >= 0).any(axis=1)).tolist():
            key = (j, levels[j].tobytes())
            if key not in self.known:
                self.known.add(key)
                self.jobs.append(j)
                self.rows.append(levels[j].copy())
        return len(self.jobs) - before

    def matrix(self, cuts: Ints, first: int = 0) -> tuple[sparse.csc_array, Floats]:
        """Return the columns from the first on, and their scaled utilities.

        Rows are periods x sets of types, then jobs; `cuts` has the periods' first slots, and the
        end.
        """
        from scipy import sparse

        gangs = self.gangs
        width = len(gangs.sets)
        periods = np.repeat(np.arange(len(cuts) - 1), np.diff(cuts))
        rows = (len(cuts) - 1) * width
        utilities = np.zeros(len(self.jobs) - first)
        row_numbers: list[Ints] = []
        column_numbers: list[Ints] = []
        entries: list[Floats] = []
        for c, (j, row) in enumerate(zip(self.jobs[first:], self.rows[first:], strict=True)):
            used = np.flatnonzero(row >= 0)
            utilities[c] = gangs.worth[j, used[-1]]
            t, s = np.nonzero(gangs.within[gangs.mask_of_speed[j, row[used]]])
            row_numbers.append(np.append(periods[used[t]] * width + s, rows + j))
            column_numbers.append(np.full(len(t) + 1, c))
            entries.append(np.append(np.full(len(t), float(gangs.workers[j])), 1.0))
        shape = (rows + len(gangs.workers), len(utilities))
        if not entries:
            return sparse.csc_array(shape), utilities
        places = (np.concatenate(row_numbers), np.concatenate(column_numbers))
        data = (np.concatenate(entries), places)
        return sparse.csc_array(sparse.coo_array(data, shape=shape)), utilities

    def limits(self, cuts: Ints) -> tuple[Floats, Floats]:
        """Return the lower and upper limits of the rows, those of periods as in `matrix`."""
        inst = self.gangs.instance
        capacity = np.outer(np.diff(cuts), self.gangs.capacity).ravel().astype(float)
        least = np.full(len(inst.jobs), 1.0 if inst.must_finish else -np.inf)
        return (
            np.append(np.full(len(capacity), -np.inf), least),
            np.append(capacity, np.ones(len(inst.jobs))),
        )


class ScheduleMaster:
    """The linear relaxation of the master over the columns, which it adds to.

    Parameters
    ----------
    cuts
        The first slots of periods, and the end; a row of a period is the sum of those of its slots.
    """

    def __init__(self, columns: Columns, run: Run, cuts: Ints) -> None:
        self.columns = columns
        self.cuts = cuts
        self.size = 0
        self.program = IncrementalProgram(run, maximize=True)
        self.program.add_rows(*columns.limits(cuts))
        if columns.gangs.instance.must_finish:  # jobs without a schedule yet, at a high price
            first = (len(cuts) - 1) * len(columns.gangs.sets)
            for row in range(first, first + len(columns.gangs.workers)):
                self.program.add_column(-TUNABLES.missing, 0.0, 1.0, [row], [1.0])

    def add(self, levels: Levels) -> int:
        """Add the jobs' rows, and whatever else is new among the columns; return how many are."""
        self.columns.add(levels)
        A, utilities = self.columns.matrix(self.cuts, self.size)
        self.program.add_columns(utilities, A)
        self.size += len(utilities)
        return len(utilities)

    def solve(self) -> tuple[float, Floats] | None:
        """Return the optimum and the prices of types, slots x types; ``None`` if stopped."""
        if self.program.solve() is not Termination.PROVED:
            return None
        gangs = self.columns.gangs
        lengths = np.diff(self.cuts)
        count = len(lengths) * len(gangs.sets)
        by_set = np.maximum(0.0, self.program.duals[:count]).reshape(len(lengths), -1)
        return self.program.objective, np.repeat(gangs.by_type(by_set), lengths, axis=0)


def first_cuts(slots: int, periods: int) -> Ints:
    """Return the first slots of periods, and the end.

    They are cut at equal distances, and at equal ratios, as prices fall fastest early.
    """
    equal = np.linspace(0, slots, periods + 1)
    growing = np.geomspace(1, slots, periods)
    cuts: Ints = np.unique(np.append(equal, growing).round().astype(np.int64))
    return cuts


def refinements(gangs: Gangs) -> Iterator[Ints]:
    """Yield the first slots of periods, and the end; each time the periods are halved."""
    slots = gangs.instance.slots
    cuts = first_cuts(slots, TUNABLES.periods)
    most = max(len(cuts), (TUNABLES.most_rows - len(gangs.workers)) // len(gangs.sets) + 1)
    while len(cuts) <= min(most, int(TUNABLES.merged * slots)):
        yield cuts
        cuts = np.union1d(cuts, (cuts[1:] + cuts[:-1]) // 2)
    if slots < most:
        yield np.arange(slots + 1)


def prices_of_periods(
    dual: Dual, columns: Columns, run: Run, cuts: Ints, prices: Floats
) -> tuple[Floats, bool]:
    """Return better prices of periods, and whether the search for these has ended.

    Columns are added. Bounds of prices are compared with work rounded down, as the columns' is.

    Parameters
    ----------
    cuts
        The first slots of the periods, and the end.
    prices
        Slots x types, where the search begins.

    Raises
    ------
    Stopped
        If there is a reason to stop before the first prices.
    """
    lengths = np.diff(cuts)
    means = np.add.reduceat(prices, cuts[:-1], axis=0) / lengths[:, None]
    best = np.repeat(means, lengths, axis=0)
    first = dual.price(best, round_down=True)
    master = ScheduleMaster(columns, run, cuts)
    master.add(first.rows)

    def price(prices: Floats) -> tuple[float, Levels] | None:
        try:
            priced = dual.price(prices, round_down=True)
        except Stopped:
            return None
        return priced.bound, priced.rows

    least, ended = first.bound, False
    close = TUNABLES.fine if len(lengths) == len(prices) else TUNABLES.coarse
    known = best, least
    for tried in generate(master, price, run, mixed=_mean, known=known, close=close):
        ended = tried.last
        if tried.bound < least:
            best, least = tried.prices, tried.bound
    return best, ended


def _mean(own: Floats, best: Floats, weight: float) -> Floats:
    """Return the prices between the master's own and the best, with this weight of the latter."""
    prices = own + weight * (best - own)
    prices[prices < _LEAST] = 0.0
    return prices
