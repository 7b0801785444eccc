"""The search of `dp` on two pools: level 1, the bound of level 2, fixing, and the tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dlsched.problems.elastic.exact.two_pools_fixing import Fixing, Part
from dlsched.problems.elastic.programs.two_pools_lagrangian import (
    Relaxation,
    launch,
    launch_bound,
    reduction_bound,
    relax,
)
from dlsched.problems.elastic.structures.two_pools_table import Table, fill_table, proves, through
from dlsched.results.objective import SOLVER_PRECISION, Bound, relative_gap
from dlsched.results.result import Status

SMALL = {"int64": 2_000_000, "object": 20_000}
"""Up to this many steps (items x states) filling the whole table is faster than fixing first."""
CORE = 16
"""Number of jobs with the least second-best loss, solved first for a good incumbent."""
EXACT = 200_000
"""Most steps of a table of Python's integers before rounded reductions narrow it down."""
MOST_EXACT = 5_000_000
"""Most steps of a table of Python's integers after that."""


@dataclass
class PoolSearch(Fixing):
    """The search; ``bounds`` has for each level those found, ``most`` is that of level 1."""

    def __post_init__(self) -> None:
        """Set the bound of level 1, and launch the smallest jobs."""
        first = launch(self.items)
        self.most = first.most
        self.bounds[0] = [launch_bound(self.most)]
        self.offer(first.chosen)

    def solve(self) -> None:
        """Fill the table of all items; if it is large, solve level 1, bound and fix first."""
        items = self.items
        worth = items.exact.worth
        if len(items) * items.states <= SMALL[worth.dtype.name]:
            whole = self.fill(self.everything(), worth)
            if self.holds(whole, worth):
                if self.launched < self.most:
                    self.prove_launches()
                self.prove(self.table_bound())
                return
        if self.launched < self.most:
            self.solve_launches()
        relaxation = relax(items, self.launched, self.most, self.run.remaining())
        self.bounds[1] = [reduction_bound(items, relaxation)]
        self.offer(self.improved(relaxation))
        if self.launched == self.most:
            self.solve_savings(relaxation)
        stopped = self.run.stop_reason()
        if self.status is not Status.OPTIMAL and stopped:
            self.termination, self.reason = stopped, ""

    def solve_launches(self) -> None:
        """Fill the table of level 1, with the items of each job that take no more than needed."""
        items = self.items
        part = self.everything()
        part.keep[items.launch == 0] = False
        for a, b in zip(items.starts.tolist(), items.ends.tolist(), strict=True):
            for i in range(a, b):
                less = (items.gpus[a:b] <= items.gpus[i]).all(axis=1)
                part.keep[i] &= int(less.sum()) == 1
        if self.holds(self.fill(part, items.launch), items.launch):
            self.prove_launches()

    def solve_savings(self, relaxation: Relaxation) -> None:
        """Solve level 2 with the items that the relaxation cannot rule out.

        Tables of the items with small losses, with rounded reductions, are filled until one holds
        an incumbent whose distance to the bound is within these losses. The table of the items
        within that distance then decides.
        """
        for limit in self.limits(relaxation):
            if self.at_bound(relaxation):
                return
            if limit >= self.slack(relaxation):
                break
            if self.fill(self.within(relaxation, limit), self.items.rounded.worth) is None:
                return
        if not self.at_bound(relaxation):
            self.decide(self.within(relaxation, self.slack(relaxation)))

    def improved(self, relaxation: Relaxation) -> list[int]:
        """Return the incumbent with items that save more instead, those of least loss first."""
        items = self.items
        value, gpus, row = items.value.tolist(), items.gpus.tolist(), items.row.tolist()
        now = {row[i]: i for i in self.incumbent or ()}
        taken = items.gpus[np.array(self.incumbent, dtype=np.int64)].sum(axis=0).tolist()
        left = [items.capacity[0] - taken[0], items.capacity[1] - taken[1]]
        for i in np.argsort(relaxation.loss, kind="stable").tolist():
            held = now.get(row[i])
            if held is None and items.launch[i]:
                continue
            saved, (g, h) = (value[held], gpus[held]) if held is not None else (0, (0, 0))
            more = gpus[i][0] - g, gpus[i][1] - h
            if value[i] > saved and more[0] <= left[0] and more[1] <= left[1]:
                now[row[i]] = i
                left = [left[0] - more[0], left[1] - more[1]]
        return list(now.values())

    def limits(self, relaxation: Relaxation) -> Iterator[int]:
        """Iterate over losses that each leave twice as many jobs with a choice as the last.

        The first one is at most half of the distance between incumbent and bound.
        """
        items = self.items
        second = sorted(
            sorted([idle, *relaxation.loss[a:b].tolist()])[1]
            for idle, a, b in zip(relaxation.idle_loss, items.starts, items.ends, strict=True)
        )
        if not second:
            return
        yield min(second[min(CORE, len(second)) - 1], self.slack(relaxation) // 2)
        jobs = 2 * CORE
        while jobs < len(second):
            yield second[jobs]
            jobs *= 2

    def decide(self, part: Part) -> None:
        """Prove the incumbent optimal by the table of a part with all that a better one may use.

        If the table of exact integers would be large, tables of rounded reductions first narrow the
        part down. If they cannot, the bound that they give is stated.
        """
        items, rounded = self.items, self.items.rounded
        if self.steps(part) > EXACT and rounded is not items.exact:
            filled = self.fill(part, rounded.worth)
            if filled is None:
                return
            if filled.table is not None:
                part = self.narrowed(part, filled.table, filled.fixed)
                if self.steps(part) > MOST_EXACT:
                    self.state_rounded(filled.table, filled.fixed)
                    return
        if self.holds(self.fill(part, items.exact.worth), items.exact.worth):
            self.prove(self.table_bound())

    def steps(self, part: Part) -> int:
        """Return how many steps it takes to fill the table of a part."""
        _, free, left = self.split(part)
        return int(free.sum()) * max(0, left[0] + 1) * max(0, left[1] + 1)

    def narrowed(self, part: Part, table: Table, fixed: int) -> Part:
        """Return the choices of a part that are in an allocation better than the incumbent.

        A choice is left out if no allocation with it has a sum of rounded reductions that a
        better one would have, by this table and that of the same items in reverse order.
        """
        items, rounded = self.items, self.items.rounded
        numbers, left = table.numbers, table.entries.shape[1:]
        capacity, worth = (left[0] - 1, left[1] - 1), table.worth[::-1]
        if 16 * table.entries.size > self.memory_gib * 2**30:
            return part
        backward = fill_table(items, numbers[::-1], worth, capacity, self.stop)
        if backward is None or not proves(table, self.stop) or not proves(backward, self.stop):
            return part
        bounds = through(table, backward, self.stop)
        if bounds is None:
            return part
        better = -(-(self.value + 1) >> rounded.shift) + self.launched * rounded.step - fixed
        keep, busy = part.keep.copy(), part.busy.copy()
        fits = np.zeros(len(items), dtype=bool)
        fits[self.split(part)[0]] = True
        fits[numbers] = np.array(bounds.item, dtype=np.int64) >= better
        busy[np.unique(items.row[numbers])] |= np.array(bounds.idle, dtype=np.int64) < better
        return Part(keep & fits, busy)

    def state_rounded(self, table: Table, fixed: int) -> None:
        """State the bound of a table with rounded reductions; it may prove the incumbent."""
        if not proves(table, self.stop):
            return
        items, rounded = self.items, self.items.rounded
        most = fixed + int(table.entries[-1, -1, -1]) - self.launched * rounded.step
        most = max(self.value, most << rounded.shift)
        bound = Bound(items.seconds(most), "certified", "dp table, rounded up")
        if relative_gap(most, self.value) <= max(self.run.gap, SOLVER_PRECISION):
            self.prove(bound)
        else:
            self.bounds[1].append(bound)

    def slack(self, relaxation: Relaxation) -> int:
        """Return the largest loss of a choice in a better allocation than the incumbent."""
        return relaxation.bound - ((self.value + 1) << relaxation.shift)

    def within(self, relaxation: Relaxation, limit: int) -> Part:
        """Return the part with the choices of at most this loss."""
        keep, busy = relaxation.loss <= limit, relaxation.idle_loss > limit
        return Part(keep.astype(bool), busy.astype(bool))

    def at_bound(self, relaxation: Relaxation) -> bool:
        """Whether the relaxation proves the incumbent optimal, within the gap asked for."""
        proved = self.within_gap(relaxation.bound >> relaxation.shift)
        if proved:
            self.prove(reduction_bound(self.items, relaxation))
        return proved

    def prove_launches(self) -> None:
        """Record that a table proves the number of jobs launched."""
        self.most = self.launched
        self.bounds[0] = [Bound(self.launched, "certified", "dp table")]
