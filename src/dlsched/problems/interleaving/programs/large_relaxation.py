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

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from dlsched.problems.interleaving.programs.column_pool import GroupPool
from dlsched.problems.interleaving.programs.columns import Groups, Prices
from dlsched.problems.interleaving.programs.exact_pass import (
    full_efficiency,
    proved,
    raised,
    search,
)
from dlsched.problems.interleaving.programs.heuristic_pricing import climb
from dlsched.problems.interleaving.programs.interior_point_master import InteriorMaster
from dlsched.problems.interleaving.programs.tunables import LARGE
from dlsched.run import Run
from dlsched.solvers.arrays import Flags, Floats, Ints


class LargeRelaxation:
    """Column generation with heuristic pricing, and the bounds of its exact passes."""

    def __init__(self, pool: GroupPool, run: Run, incumbent: Groups) -> None:
        self.pool = pool
        self.run = run
        self.incumbent = incumbent
        self.master = InteriorMaster(pool, run)
        self.best = full_efficiency(pool)
        """Those prices that no group exceeds which prove the best bound so far."""
        self.failed = False
        """Whether the interior-point method has failed, so that the last bound need not be good."""
        self.weights = pool.class_weights[pool.class_of]

    def bounds(self, deadline: float) -> Iterator[Prices]:
        """Yield prices that no group exceeds, with better and better bounds.

        Parameters
        ----------
        deadline
            Seconds of the run by which the last exact pass should end.
        """
        pool, run = self.pool, self.run
        now = run.elapsed()
        late = now + LARGE.before_pass * (deadline - now)
        early = now + LARGE.before_rough * (deadline - now)
        prices = self._lifted(early)
        if run.time_limit is not None:
            prices = self._balanced(prices, early)
            if not run.stop_reason():
                rough = search(pool, prices, LARGE.rough_above, 1, run)
                yield self._better(proved(pool, prices, rough, self.best))
        self.master.add(Groups.join([self.incumbent, pool.singles()]))
        close = LARGE.first_close
        while (solved := self._converge(prices, LARGE.width, late, close)) is not None:
            prices, value = solved
            began = run.elapsed()
            found = search(pool, prices, 0.0, LARGE.capacity, run)
            least = raised(pool, prices, found.groups, run) if found.complete else None
            yield self._better(proved(pool, prices, found, self.best), least)
            now = run.elapsed()
            late = deadline - LARGE.slower * (now - began)
            closed = float(self._bound(self.best)) - value <= LARGE.closed * abs(value)
            if closed or now > late or run.stop_reason():
                return
            if not self.master.add(found.groups) and close <= LARGE.closed:
                return
            close = max(LARGE.closed, close * LARGE.closer)
        self.failed = not run.stop_reason()

    def _bound(self, prices: Prices) -> Fraction:
        """Return the bound of prices that no group exceeds."""
        return self.pool.bound(prices, np.zeros(len(self.pool.classes)))

    def _better(self, *prices: Prices | None) -> Prices:
        """Return the best prices so far, these among them."""
        self.best = min(filter(None, [self.best, *prices]), key=self._bound)
        return self.best

    def _lifted(self, late: float) -> Prices:
        """Return first prices: each job's share of its group or, of many, lifted from few."""
        members = self.incumbent.members
        sizes = (members >= 0).sum(axis=1)
        share = np.zeros(len(self.pool.multiplicity))
        np.maximum.at(share, members[members >= 0], np.repeat(self.incumbent.worth / sizes, sizes))
        first = Prices(share, 0.0)
        if len(share) <= 2 * LARGE.representatives:
            return first
        jobs = representatives(self.pool, LARGE.representatives)
        sample = LargeRelaxation(
            self.pool.restricted(jobs, self.pool.budget), self.run, self.incumbent
        )
        sample.master.add(sample.pool.singles())
        solved = sample._converge(first, LARGE.sample_width, late)
        if solved is None:
            return first
        partners: Flags = jobs > 0
        known = Prices(np.where(partners, solved[0].rows, 0.0), solved[0].gpu)
        best = climb(self.pool, known, np.inf, self.run, partners, ~partners).best
        # A job may be in no group with representatives, as where few of its class are kept.
        lifted = np.where(np.isfinite(best), best, share)
        return Prices(np.where(partners, known.rows, lifted), known.gpu)

    def _balanced(self, prices: Prices, late: float) -> Prices:
        """Return prices of which the estimate is best after jobs have shared what is above them."""
        least = np.inf
        best = prices
        for _ in range(LARGE.balancings):
            found = climb(self.pool, prices, np.inf, self.run).best
            higher, estimate = self._estimate(prices, found)
            if estimate < least:
                best, least = higher, estimate
            if self.run.elapsed() > late or not np.isfinite(found).all():
                break
            prices = Prices(prices.rows + found / (2 * self.pool.largest), prices.gpu)
        return best

    def _converge(
        self, prices: Prices, width: float, late: float, close: float = 0.0
    ) -> tuple[Prices, float] | None:
        """Return prices at which the ascent finds no group, and the master's optimum.

        If it ends early the prices are those of the best estimate, raised as if the ascent had
        found the best group of each row, so that the exact pass finds few groups above them.

        Parameters
        ----------
        close
            Relative distance of the optimum and the estimate at which the prices are good enough.
        """
        pool = self.pool
        jobs = float(pool.multiplicity.sum())
        centre = prices
        climbed = climb(pool, prices, -LARGE.near, self.run)
        self.master.add(climbed.groups)
        safe, least = self._estimate(prices, climbed.best)
        value = np.inf
        for _ in range(LARGE.rounds):
            if self.run.elapsed() > late:
                break
            solved = self.master.solve(centre, width * self.weights)
            if solved is None or self.run.stop_reason():
                return None
            value, prices, outside = solved
            climbed = climb(pool, prices, LARGE.above, self.run)
            higher, estimate = self._estimate(prices, climbed.best)
            if estimate < least:
                safe, least = higher, estimate
            new = self.master.add(climbed.groups)
            if outside > LARGE.outside * jobs:
                centre = prices
            elif not new or estimate - value <= close * abs(value):
                return prices, value
            self.master.keep(prices, LARGE.columns_of_row * len(pool.multiplicity))
        return safe, value

    def _estimate(self, prices: Prices, best: Floats) -> tuple[Prices, float]:
        """Return prices above those of all groups, if `best` is right, and their bound."""
        rows = prices.rows + np.maximum(best, 0.0) / self.pool.largest
        budget = self.pool.budget or 0
        return Prices(rows, prices.gpu), prices.gpu * budget + float(rows @ self.pool.multiplicity)


def representatives(pool: GroupPool, most: int) -> Ints:
    """Return how many jobs each row stands for: itself and those near it; 0 for the others.

    The profiles of a class are divided in two along the number in which they differ most, until no
    part has more than its share of jobs. Of each part the profile next to the mean is kept. The
    numbers are the shares of the stages in their sum, and the logarithm of the sum.

    Parameters
    ----------
    most
        Number of parts, roughly.
    """
    kept: Ints = np.zeros_like(pool.multiplicity)
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


def _divided(place: Floats, jobs: Ints, size: float) -> list[Ints]:
    """Return parts of some profiles, with no more jobs than a size unless it is one profile."""
    waiting: list[Ints] = [np.arange(len(place))]
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
        if apart.max() <= LARGE.wide_gap * apart.sum():
            cut = len(some) // 2
        waiting += [some[:cut], some[cut:]]
    return parts
