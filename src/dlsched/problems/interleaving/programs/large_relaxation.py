"""The relaxation of large instances: prices of representatives, a box around them, few passes.

Exact pricing of a thousand jobs takes many seconds, and prices from a vertex of a master with few
columns are far from the optimal ones. Here the prices of representatives are found first, each
standing for the jobs near it, and lifted: any other job costs what it is worth to the best group
with representatives. Under a limit the jobs of groups found heuristically then share what these
exceed their prices by, and a rough pass over all groups (`exact_pass`) proves a first bound. The
prices are then corrected within a box (`interior_point_master`), with columns found heuristically
(`heuristic_pricing`). The exact pass comes when these find no more; it proves a bound wherever it
is stopped. If it lists all groups above the prices, and they are few, the least increase of the
prices which no listed group exceeds gives the bound.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dlsched.problems.interleaving.programs.column_pool import Pool
from dlsched.problems.interleaving.programs.columns import Groups, Prices
from dlsched.problems.interleaving.programs.exact_pass import (
    full_efficiency,
    proved,
    raised,
    search,
)
from dlsched.problems.interleaving.programs.heuristic_pricing import climb
from dlsched.problems.interleaving.programs.interior_point_master import InteriorMaster
from dlsched.problems.interleaving.structures.groups import Flags, Indices, Vector
from dlsched.run import Run

_SAMPLE = 150
"""Parts of the jobs, roughly, with a representative each."""
_APART = 0.25
"""Jobs are divided at a gap in their values of this share of the range; else in the middle."""
_BALANCED = 6
"""Times that jobs share what their groups exceed the prices by, before the rough pass."""
_ROUNDS = 40
"""Most solutions of the master between two exact passes."""
_WIDTH = 0.02
_SAMPLE_WIDTH = 0.1
_NEAR = 0.01
"""Half-widths of the boxes, and how far below 0 a group's reduced value may be that is a column
from the start, per unit of a class's weight; a job of a group of four costs about 0.16."""
_MOST = 30
"""Columns for each row, at most."""
_ABOVE = 1e-7
"""Reduced value, per unit of weight, of a group that becomes a column."""
_OUTSIDE = 1e-4
"""Share of the jobs that may be left to the box when it counts as large enough."""
_CAPACITY = 100_000
"""Groups of a class that a pass lists; with more the prices are raised by their shares."""
_ROUGH_ABOVE = 0.02
"""Reduced value, per unit of weight, up to which the rough pass does not tell groups apart."""
_BEFORE_ROUGH = 0.3
_BEFORE_PASS = 0.6
_SLOWER = 1.5
"""Shares of the time after which the rough pass and the first exact one begin, and the time of the
next one in units of the last one's; without these the deadline could come before any bound."""
_ROUGH = 1e-4
_FINER = 0.1
CLOSED = 1e-6
"""Relative distances of bound and relaxation: before the first exact pass, by how much it decreases
for each of the next ones, and where the relaxation counts as solved."""


class LargeRelaxation:
    """Column generation with heuristic pricing, and the bounds of its exact passes."""

    def __init__(self, pool: Pool, run: Run, incumbent: Groups) -> None:
        self.pool = pool
        self.run = run
        self.incumbent = incumbent
        self.failed = False
        """Whether the interior-point method has failed, so that the last bound need not be good."""
        self.weights = pool.class_weights[pool.class_of]

    def bounds(self, deadline: float) -> Iterator[tuple[Prices, Vector]]:
        """Yield prices and each class's largest reduced value there, better and better ones.

        Parameters
        ----------
        deadline
            Seconds of the run by which the last exact pass should end.
        """
        pool, run = self.pool, self.run
        now = run.elapsed()
        late = now + _BEFORE_PASS * (deadline - now)
        early = now + _BEFORE_ROUGH * (deadline - now)
        prices = self._lifted(early)
        if run.time_limit is not None:
            prices = self._balanced(prices, early)
        none = np.zeros(len(pool.classes))
        best = full_efficiency(pool)
        if run.time_limit is not None and not run.stop_reason():
            found = search(pool, prices, _ROUGH_ABOVE, 1, run)
            best = self._best(best, proved(pool, prices, found, best))
            yield best, none
        master = InteriorMaster(pool, run)
        master.add(Groups.join([self.incumbent, pool.singles()]))
        close = _ROUGH
        while True:
            solved = self._converge(pool, master, prices, _WIDTH, late, close)
            if solved is None:
                self.failed = not run.stop_reason()
                return
            prices, value = solved
            began = run.elapsed()
            found = search(pool, prices, 0.0, _CAPACITY, run)
            least = raised(pool, prices, found.groups, run) if found.complete else None
            best = self._best(best, proved(pool, prices, found, best), least)
            yield best, none
            now = run.elapsed()
            late = deadline - _SLOWER * (now - began)
            bound = float(pool.bound(best, none))
            if run.stop_reason() or now > late or bound - value <= CLOSED * abs(value):
                return
            if not master.add(found.groups) and close <= CLOSED:
                return
            close = max(CLOSED, close * _FINER)

    def _best(self, *known: Prices | None) -> Prices:
        """Return those prices, which no group exceeds, that prove the best bound."""
        none = np.zeros(len(self.pool.classes))
        return min(filter(None, known), key=lambda prices: self.pool.bound(prices, none))

    def _lifted(self, late: float) -> Prices:
        """Return first prices: each job's share of its group or, of many, lifted from few."""
        rows = np.zeros(len(self.pool.multiplicity))
        members = self.incumbent.members
        sizes = (members >= 0).sum(axis=1)
        worth_of_job = np.repeat(self.incumbent.worth / sizes, sizes)
        np.maximum.at(rows, members[members >= 0], worth_of_job)
        prices = Prices(rows, 0.0)
        if len(rows) <= 2 * _SAMPLE:
            return prices
        kept = representatives(self.pool, _SAMPLE)
        sample = self.pool.restricted(kept, self.pool.budget)
        master = InteriorMaster(sample, self.run)
        master.add(sample.singles())
        solved = self._converge(sample, master, prices, _SAMPLE_WIDTH, late)
        if solved is None:
            return prices
        partners: Flags = kept > 0
        known = Prices(np.where(partners, solved[0].rows, 0.0), solved[0].gpu)
        best = climb(self.pool, known, np.inf, partners, ~partners).best
        # A job may be in no group with representatives, as where few of its class are kept.
        lifted = np.where(np.isfinite(best), best, rows)
        return Prices(np.where(partners, known.rows, lifted), known.gpu)

    def _balanced(self, prices: Prices, late: float) -> Prices:
        """Return prices of which the estimate is best after jobs have shared what is above them."""
        least = np.inf
        best = prices
        for _ in range(_BALANCED):
            found = climb(self.pool, prices, np.inf).best
            higher, estimate = self._estimate(self.pool, prices, found)
            if estimate < least:
                best, least = higher, estimate
            if self.run.elapsed() > late or not np.isfinite(found).all():
                break
            prices = Prices(prices.rows + found / (2 * self.pool.largest), prices.gpu)
        return best

    def _converge(
        self,
        pool: Pool,
        master: InteriorMaster,
        prices: Prices,
        width: float,
        late: float,
        close: float = 0.0,
    ) -> tuple[Prices, float] | None:
        """Return prices at which the ascent finds no group, and the master's optimum.

        If it ends early the prices are those of the best estimate, raised as if the ascent had
        found the best group of each row, so that the exact pass finds few groups above them.

        Parameters
        ----------
        close
            Relative distance of the optimum and the estimate at which the prices are good enough.
        """
        jobs = float(pool.multiplicity.sum())
        centre = prices
        climbed = climb(pool, prices, -_NEAR)
        master.add(climbed.groups)
        safe, least, value = *self._estimate(pool, prices, climbed.best), np.inf
        for _ in range(_ROUNDS):
            if self.run.elapsed() > late:
                break
            solved = master.solve(centre, width * self.weights)
            if solved is None or self.run.stop_reason():
                return None
            value, prices, outside = solved
            climbed = climb(pool, prices, _ABOVE)
            higher, estimate = self._estimate(pool, prices, climbed.best)
            if estimate < least:
                safe = higher
                least = estimate
            new = master.add(climbed.groups)
            if outside > _OUTSIDE * jobs:
                centre = prices
            elif not new or estimate - value <= close * abs(value):
                return prices, value
            master.keep(prices, _MOST * len(pool.multiplicity))
        return safe, value

    def _estimate(self, pool: Pool, prices: Prices, best: Vector) -> tuple[Prices, float]:
        """Return prices above those of all groups, if `best` is right, and their bound."""
        rows = prices.rows + np.maximum(best, 0.0) / pool.largest
        fixed = 0.0 if pool.budget is None else prices.gpu * pool.budget
        total = fixed + float(rows @ pool.multiplicity)
        return Prices(rows, prices.gpu), total


def representatives(pool: Pool, most: int) -> Indices:
    """Return how many jobs each row stands for: itself and those near it; 0 for the others.

    The profiles of a class are divided in two along the number in which they differ most, until no
    part has more than its share of jobs. Of each part the profile next to the mean is kept. The
    numbers are the shares of the stages in their sum, and the logarithm of the sum.

    Parameters
    ----------
    most
        Number of parts, roughly.
    """
    kept: Indices = np.zeros_like(pool.multiplicity)
    size = 1.3 * float(pool.multiplicity.sum()) / most  # halves are smaller than the largest part
    for part in pool.classes:
        stages = pool.stages[part.rows]
        sums = part.profiles.sums
        place = np.column_stack([stages / sums[:, None], np.log(sums)])
        for near in _divided(place, pool.multiplicity[part.rows], size):
            middle = place[near].mean(axis=0)
            chosen = near[np.abs(place[near] - middle).sum(axis=1).argmin()]
            kept[part.rows[chosen]] = pool.multiplicity[part.rows[near]].sum()
    return kept


def _divided(place: Vector, jobs: Indices, size: float) -> list[Indices]:
    """Return parts of some profiles, with no more jobs than a size unless it is one profile."""
    waiting: list[Indices] = [np.arange(len(place))]
    parts = []
    while waiting:
        some = waiting.pop()
        if len(some) <= 1 or jobs[some].sum() <= size:
            parts += [some] if len(some) else []
            continue
        widest = int(np.ptp(place[some], axis=0).argmax())
        some = some[np.argsort(place[some, widest], kind="stable")]
        apart = np.diff(place[some, widest])
        cut = int(apart.argmax()) + 1
        if apart.max() <= _APART * apart.sum():
            cut = len(some) // 2
        waiting += [some[:cut], some[cut:]]
    return parts
