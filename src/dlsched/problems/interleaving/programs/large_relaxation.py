"""The relaxation of large instances: prices of representatives, balanced, and exact passes.

Exact pricing of a thousand jobs takes seconds, and prices from a vertex of a master with few
columns are far from the optimal ones. Here the prices of representatives are found first, each
standing for the jobs near it, and lifted: any other job costs what it is worth to the best group
with representatives. Then the jobs of each group found heuristically (`heuristic_pricing`) share
what it exceeds its prices by, a few times over. The first exact pass (`exact_pass`) comes early: it
proves a bound wherever it is stopped. Its groups become columns of a master with the prices held
within a box (`interior_point_master`), which corrects them for the next pass; the box stays where
the prices have the best estimate of a bound. Where a pass lists all groups above its prices and
they are few, the least increase of the prices which no listed group exceeds gives the bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, repeat

import numpy as np

from dlsched.problems.interleaving.programs.column_pool import Pool
from dlsched.problems.interleaving.programs.columns import Groups, Priced, Prices
from dlsched.problems.interleaving.programs.exact_pass import (
    Pass,
    full_efficiency,
    proved,
    search,
    without_rounding,
)
from dlsched.problems.interleaving.programs.heuristic_pricing import climb
from dlsched.problems.interleaving.programs.interior_point_master import InteriorMaster
from dlsched.problems.interleaving.programs.price_increase import raised
from dlsched.problems.interleaving.programs.representatives import representatives
from dlsched.problems.interleaving.structures.groups import Flags, Vector
from dlsched.run import Run

_PARTS = 150
"""Parts of the jobs, roughly, with a representative each."""
_ROUNDS = 40
"""Most solutions of the master between two exact passes."""
_WIDTH = 0.003
_SAMPLE_WIDTH = 0.02
_NEAR = 0.01
"""Half-widths of the boxes, and how far below 0 a group's reduced value may be that is a column
from the start, per unit of a class's weight; a job of a group of four costs about 0.16."""
_NARROWER = 0.7
_WIDER = 2.0
_NARROWEST = 2e-4
_WIDEST = 4.0
"""The box, where the estimate did not get better or jobs were left to the box, at least per unit of
weight, and at most in units of its first width."""
_MOST = 15
"""Columns for each row, at most."""
_ABOVE = 1e-7
"""Reduced value, per unit of weight, of a group that becomes a column."""
_OUTSIDE = 1e-4
"""Share of the jobs that may be left to the box when it counts as large enough."""
_BALANCED = 6
"""Times that jobs share what their groups exceed the prices by."""
_CAPACITY = 100_000
"""Groups of a class that an exact pass lists; with more the prices are raised by their shares."""
_FEW_ABOVE = 20_000
"""Groups above the prices for which the least increase is found by a linear program."""
_BEFORE_PASS = 0.3
_ROUND = 2.0
_SLOWER = 1.5
"""Share of the time after which the first exact pass begins, the time between two passes and the
expected time of the next one in units of the last one's."""
_LEAST_ROUND = 10.0
"""Seconds that there are between two passes, however fast they are, if these are needed."""
_ROUGH_ABOVE = 0.02
"""Reduced value, per unit of weight, up to which the first pass does not tell groups apart: so
there is a bound in a third of the time, on which the next pass builds where it is stopped."""
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
        self.weights = np.array([float(profiles.weight) for profiles in pool.classes])[
            pool.class_of
        ]

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
        prices = self._balanced(self._lifted(late), late)
        master = InteriorMaster(pool, run)
        master.add(Groups.join([self.incumbent, pool.singles()]))
        none = np.zeros(len(pool.classes))
        best = full_efficiency(pool)
        least = pool.bound(best, none)
        value = -np.inf
        close = _ROUGH
        for above in chain((_ROUGH_ABOVE,), repeat(0.0)):
            began = run.elapsed()
            found = search(pool, prices, above, _CAPACITY, run)
            higher = self._proved(prices, found, best, above)
            bound = pool.bound(higher, none)
            if bound < least:
                best, least = higher, bound
            yield best, none
            if above and not run.stop_reason():
                continue  # a pass at the same prices that tells more groups apart
            now = run.elapsed()
            seconds = now - began
            late = min(deadline - _SLOWER * seconds, now + max(_ROUND * seconds, _LEAST_ROUND))
            new = master.add(found.groups)
            solved = value > -np.inf and float(least) - value <= CLOSED * abs(value)
            if run.stop_reason() or now > late or solved or not (new or close > CLOSED):
                return
            converged = self._converge(pool, master, prices, _WIDTH, late, close)
            if converged is None:
                self.failed = not run.stop_reason()
                return
            prices, value = converged
            close = max(CLOSED, close * _FINER)

    def _proved(self, prices: Prices, found: Pass, before: Prices, above: float) -> Prices:
        """Return prices that no group exceeds, from those of a pass."""
        if above or not found.complete or len(found.groups) > _FEW_ABOVE:
            return proved(self.pool, prices, found, before)
        priced = Priced(found.groups, np.zeros(len(self.pool.classes)), True)
        higher, highest = raised(self.pool, prices, priced, self.run)
        if higher is prices:  # no group is above them, or no least increase was found
            return proved(self.pool, prices, found, before)
        return without_rounding(self.pool, self.pool.without_excess(higher, highest))

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

    def _lifted(self, late: float) -> Prices:
        """Return first prices: each job's share of its group or, of many, lifted from few."""
        rows = np.zeros(len(self.pool.multiplicity))
        members = self.incumbent.members
        sizes = (members >= 0).sum(axis=1)
        worth_of_job = np.repeat(self.incumbent.worth / sizes, sizes)
        np.maximum.at(rows, members[members >= 0], worth_of_job)
        prices = Prices(rows, 0.0)
        kept = representatives(self.pool, min(_PARTS, len(rows) // 2 + 1))
        partners: Flags = kept > 0
        if partners.all():
            return prices
        sample = self.pool.restricted(kept, self.pool.budget)
        master = InteriorMaster(sample, self.run)
        master.add(sample.singles())
        solved = self._converge(sample, master, prices, _SAMPLE_WIDTH, late)
        if solved is None:
            return prices
        known = Prices(np.where(partners, solved[0].rows, 0.0), solved[0].gpu)
        best = climb(self.pool, known, np.inf, partners, ~partners).best
        return Prices(np.where(partners, known.rows, best), known.gpu)

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
        rows = int((pool.multiplicity > 0).sum())
        outside_most = _OUTSIDE * float(pool.multiplicity.sum())
        centre = prices
        widest = _WIDEST * width
        climbed = climb(pool, prices, -_NEAR)
        master.add(climbed.groups)
        safe, least = self._estimate(pool, prices, climbed.best)
        value = -np.inf
        for _ in range(_ROUNDS):
            if self.run.elapsed() > late:
                break
            solved = master.solve(centre, width * self.weights)
            if solved is None or self.run.stop_reason():
                return None
            value, prices, outside = solved
            large = outside <= outside_most
            climbed = climb(pool, prices, _ABOVE)
            higher, estimate = self._estimate(pool, prices, climbed.best)
            better = estimate < least
            new = master.add(climbed.groups)
            if large and (not new or estimate - value <= close * abs(value)):
                return prices, value
            value = value if large else -np.inf
            if better:
                safe, least = higher, estimate
            if better or not new:
                centre = prices
                if not large:
                    width = min(widest, _WIDER * width)
            else:
                width = max(_NARROWEST, _NARROWER * width)
            master.keep(prices, _MOST * rows)
        return safe, value

    def _estimate(self, pool: Pool, prices: Prices, best: Vector) -> tuple[Prices, float]:
        """Return prices above those of all groups, if `best` is right, and their bound."""
        rows = prices.rows + np.maximum(best, 0.0) / pool.smallest
        fixed = 0.0 if pool.budget is None else prices.gpu * pool.budget
        total = fixed + float(rows @ pool.multiplicity)
        return Prices(rows, prices.gpu), total
