"""The search of `dp` on two pools: level 1, the bound of level 2, fixing, and the tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dlsched.objective import SOLVER_PRECISION, Bound, relative_gap
from dlsched.problems.elastic.knapsack import Ints
from dlsched.problems.elastic.knapsack_pools import PoolItems, Table, fill_table, proves, read_table
from dlsched.problems.elastic.lagrangian_pools import (
    Relaxation,
    launch,
    launch_bound,
    reduction_bound,
    relax,
)
from dlsched.result import Status, Termination
from dlsched.run import Run

Mask: TypeAlias = NDArray[np.bool_]

SMALL = {"int64": 2_000_000, "object": 20_000}
"""Up to this many steps (items x states) filling the whole table is faster than fixing first."""
CORE = 64
"""Number of jobs with the least second-best loss, solved first for a good incumbent."""
EXACT = 5_000_000
"""Most steps of a table of Python's integers; a larger one is filled with rounded reductions."""
_ENTRY_BYTES = {"int64": 8, "object": 48}


class Part(NamedTuple):
    """A part of the choices: the items to choose from, and the jobs with items that are not idle.

    ``busy`` has an entry per job with items.
    """

    keep: Mask
    busy: Mask


class Filled(NamedTuple):
    """A table, the worth that fixed items add to its entries, ``None`` if these do not fit."""

    table: Table | None
    fixed: int


@dataclass
class PoolSearch:
    """The incumbent and what is proved about it; the attributes are those of `search.Search`."""

    items: PoolItems
    run: Run
    memory_gib: float = 2.0
    incumbent: Sequence[int] | None = None
    launched: int = -1
    value: int = 0
    status: Status = Status.FEASIBLE
    termination: Termination | None = None
    reason: str = ""

    def __post_init__(self) -> None:
        """Set the bound of level 1, and launch the smallest jobs."""
        first = launch(self.items)
        self.most = first.most
        self.bounds: list[list[Bound]] = [[launch_bound(self.most)], []]
        self.offer(first.chosen)

    def offer(self, chosen: Sequence[int]) -> None:
        """Make a choice of items the incumbent if it is better."""
        picked = np.array(chosen, dtype=np.int64)
        launched = int(self.items.launch[picked].sum())
        value = sum(self.items.value[picked].tolist())
        if self.incumbent is None or (launched, value) > (self.launched, self.value):
            self.incumbent, self.launched, self.value = chosen, launched, value
            self.run.record(float(self.items.seconds(value)), None)

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

        If the table of exact integers would be large, rounded reductions give a bound that exceeds
        the optimum by the rounding at most.
        """
        items = self.items
        _, free, left = self._split(part)
        steps = int(free.sum()) * max(0, left[0] + 1) * max(0, left[1] + 1)
        worths = items.exact if steps <= EXACT else items.rounded
        filled = self.fill(part, worths.worth)
        if filled is None:
            return
        if worths is items.exact or filled.table is None:
            if self.holds(filled, worths.worth):
                self.prove(self.table_bound())
            return
        if not proves(filled.table, self.stop):
            return
        most = filled.fixed + int(filled.table.entries[-1, -1, -1])
        most = max(self.value, (most - self.launched * worths.step) << worths.shift)
        bound = Bound(items.seconds(most), "certified", "dp table, rounded up")
        if relative_gap(most, self.value) <= max(self.run.gap, SOLVER_PRECISION):
            self.prove(bound)
        else:
            self.bounds[1].append(bound)

    def slack(self, relaxation: Relaxation) -> int:
        """Return the largest loss of a choice in a better allocation than the incumbent."""
        return relaxation.bound - ((self.value + 1) << relaxation.shift)

    def everything(self) -> Part:
        """Return the part with all choices."""
        items = self.items
        return Part(np.ones(len(items), dtype=bool), np.zeros(len(items.starts), dtype=bool))

    def within(self, relaxation: Relaxation, limit: int) -> Part:
        """Return the part with the choices of at most this loss."""
        keep, busy = relaxation.loss <= limit, relaxation.idle_loss > limit
        return Part(keep.astype(bool), busy.astype(bool))

    def fill(self, part: Part, worth: Ints) -> Filled | None:
        """Fix the jobs with one choice left, fill the table of the others, offer its optimum.

        Parameters
        ----------
        part
            The choices; a job that is busy without an item in it counts as idle.
        worth
            Worth of all items.

        Returns
        -------
        Filled or None
            ``None`` if a limit is reached.
        """
        items = self.items
        fixed, free, left = self._split(part)
        if min(left) < 0:
            return Filled(None, 0)
        numbers = np.flatnonzero(free & (items.gpus <= left).all(axis=1))
        rows = len(np.unique(items.row[numbers]))
        gib = (rows + 1) * (left[0] + 1) * (left[1] + 1) * _ENTRY_BYTES[worth.dtype.name] / 2**30
        if gib > self.memory_gib:
            self.termination = Termination.MEMORY_LIMIT
            self.reason = f"the table needs {gib:.1f} GiB, the limit is {self.memory_gib:g}"
            return None
        table = fill_table(items, numbers, worth[numbers], (left[0], left[1]), self.stop)
        if table is None:
            return None
        self.offer([*fixed.tolist(), *read_table(table)])
        return Filled(table, sum(worth[fixed].tolist()))

    def _split(self, part: Part) -> tuple[NDArray[np.int64], Mask, list[int]]:
        """Return the items of jobs without another choice, the other items, and the GPUs left."""
        items = self.items
        counts = np.bincount(items.row[part.keep], minlength=len(part.busy))
        alone = part.keep & (part.busy & (counts == 1))[items.row]
        fixed = np.flatnonzero(alone)
        taken = items.gpus[fixed].sum(axis=0).tolist()
        return (
            fixed,
            part.keep & ~alone,
            [c - g for c, g in zip(items.capacity, taken, strict=True)],
        )

    def holds(self, filled: Filled | None, worth: Ints) -> bool:
        """Whether a checked table shows that the incumbent is worth as much as any choice."""
        if filled is None:
            return False
        if filled.table is None:  # what must be used does not fit, so nothing beats the incumbent
            return True
        held = sum(worth[np.array(self.incumbent, dtype=np.int64)].tolist())
        most = filled.fixed + int(filled.table.entries[-1, -1, -1])
        return held >= most and proves(filled.table, self.stop)

    def stop(self) -> Termination | None:
        """Return the reason to stop now, if any."""
        return self.run.stop_reason()

    def at_bound(self, relaxation: Relaxation) -> bool:
        """Whether the relaxation proves the incumbent optimal, within the gap asked for."""
        limit = relaxation.bound >> relaxation.shift
        slack = Fraction(self.run.gap) * max(abs(limit), abs(self.value))
        if limit - self.value > slack:
            return False
        self.prove(reduction_bound(self.items, relaxation))
        return True

    def prove_launches(self) -> None:
        """Record that a table proves the number of jobs launched."""
        self.most = self.launched
        self.bounds[0] = [Bound(self.launched, "certified", "dp table")]

    def table_bound(self) -> Bound:
        """Return the bound of level 2 by a table that the incumbent attains."""
        return Bound(self.items.seconds(self.value), "certified", "dp table")

    def prove(self, bound: Bound) -> None:
        """Record that the incumbent is optimal by a bound of level 2."""
        self.bounds[1] = [bound]
        self.status, self.termination, self.reason = Status.OPTIMAL, None, ""
