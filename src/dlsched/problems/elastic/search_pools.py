"""The search of `dp` on two pools: level 1, the bound of level 2, fixing, and the tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dlsched.objective import Bound
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
ROUNDS = 12
"""Most tables with rounded reductions; each admits choices with twice the loss."""
_ENTRY_BYTES = {"int64": 8, "object": 48}


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
        if len(items) * items.states <= SMALL[items.worth.dtype.name]:
            every, none = np.ones(len(items), dtype=bool), np.zeros(len(items.starts), dtype=bool)
            self.fill(every, none, items.worth, prove=self.prove_both)
            if self.status is Status.OPTIMAL:
                return
        if self.launched < self.most:
            self.solve_launches()
        relaxation = relax(items, self.launched, self.most, self.run.remaining())
        if self.launched == self.most:
            self.solve_savings(relaxation)
        if self.status is not Status.OPTIMAL:
            self.bounds[1] = [reduction_bound(items, relaxation)]
            if stopped := self.run.stop_reason():
                self.termination, self.reason = stopped, ""

    def solve_launches(self) -> None:
        """Fill the table of level 1, with the items of each job that take no more than needed."""
        items = self.items
        keep = items.launch == 1
        for a, b in zip(items.starts.tolist(), items.ends.tolist(), strict=True):
            for i in range(a, b):
                less = (items.gpus[a:b] <= items.gpus[i]).all(axis=1)
                keep[i] &= int(less.sum()) == 1
        none = np.zeros(len(items.starts), dtype=bool)
        self.fill(keep, none, items.launch, prove=self.prove_launches)

    def solve_savings(self, relaxation: Relaxation) -> None:
        """Solve level 2 with the items that the relaxation cannot rule out.

        Tables of the items with small losses, with rounded reductions, are filled until one holds
        an incumbent whose distance to the bound is within these losses. The exact table of the
        items within that distance then decides.
        """
        second = np.sort(self._second_losses(relaxation))
        limit = int(second[min(CORE, len(second)) - 1]) if len(second) else 0
        for _ in range(ROUNDS):
            if self.at_bound(relaxation):
                return
            if not self.fill(*self.within(relaxation, limit), self.items.rough):
                return
            if self.slack(relaxation) <= limit:
                break
            limit = min(max(2 * limit, 1), self.slack(relaxation))
        if not self.at_bound(relaxation):
            keep, busy = self.within(relaxation, self.slack(relaxation))
            self.fill(keep, busy, self.items.worth, prove=self.prove_savings)

    def slack(self, relaxation: Relaxation) -> int:
        """Return the largest loss of a choice in a better allocation than the incumbent."""
        return relaxation.bound - ((self.value + 1) << relaxation.shift)

    def _second_losses(self, relaxation: Relaxation) -> Ints:
        """Return for each job with items its second smallest loss, of items and of idleness."""
        items = self.items
        losses = [
            sorted([idle, *relaxation.loss[a:b].tolist()])[1]
            for idle, a, b in zip(relaxation.idle_loss, items.starts, items.ends, strict=True)
        ]
        return np.array(losses, dtype=object)

    def within(self, relaxation: Relaxation, limit: int) -> tuple[Mask, Mask]:
        """Return which items have at most this loss, and which jobs a higher one if idle."""
        return (relaxation.loss <= limit).astype(bool), (relaxation.idle_loss > limit).astype(bool)

    def fill(
        self, keep: Mask, busy: Mask, worth: Ints, prove: Callable[[], None] | None = None
    ) -> bool:
        """Fix the jobs with one choice left, fill the table of the others, offer its optimum.

        Parameters
        ----------
        keep, busy
            The items to choose from, and the jobs with items that are not left idle.
        worth
            Worth of all items.
        prove
            Called if the table, checked, proves that no choice among `keep` is worth more than
            the incumbent.

        Returns
        -------
        bool
            Whether nothing stopped it.
        """
        items = self.items
        fixed, free = self._fixed(keep, busy)
        left = [c - int(g) for c, g in zip(items.capacity, items.gpus[fixed].sum(0), strict=True)]
        if min(left) < 0:  # what must be used does not fit, so nothing beats the incumbent
            if prove is not None:
                prove()
            return True
        numbers = np.flatnonzero(free & (items.gpus <= left).all(axis=1))
        rows = len(np.unique(items.row[numbers]))
        gib = (rows + 1) * (left[0] + 1) * (left[1] + 1) * _ENTRY_BYTES[worth.dtype.name] / 2**30
        if gib > self.memory_gib:
            self.termination = Termination.MEMORY_LIMIT
            self.reason = f"the table needs {gib:.1f} GiB, the limit is {self.memory_gib:g}"
            return False
        stop = self.run.stop_reason
        table = fill_table(items, numbers, worth[numbers], (left[0], left[1]), stop)
        if table is None:
            return False
        self.offer([*fixed.tolist(), *read_table(table)])
        if prove is not None and self._bounds(table, fixed, worth):
            prove()
        return not stop()

    def _fixed(self, keep: Mask, busy: Mask) -> tuple[NDArray[np.int64], Mask]:
        """Return the items of jobs that have no other choice, and which of `keep` are left."""
        counts = np.bincount(self.items.row[keep], minlength=len(busy))
        alone = keep & (busy & (counts == 1))[self.items.row]
        return np.flatnonzero(alone), keep & ~alone

    def _bounds(self, table: Table, fixed: NDArray[np.int64], worth: Ints) -> bool:
        """Whether a checked table shows that the incumbent is worth as much as any choice."""
        most = sum(worth[fixed].tolist()) + int(table.entries[-1, -1, -1])
        held = sum(worth[np.array(self.incumbent, dtype=np.int64)].tolist())
        return held >= most and proves(table, self.run.stop_reason)

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

    def prove_savings(self) -> None:
        """Record that a table proves the incumbent optimal at level 2."""
        self.prove(Bound(self.items.seconds(self.value), "certified", "dp table"))

    def prove_both(self) -> None:
        """Record that a table of all items proves the incumbent optimal."""
        if self.launched < self.most:
            self.prove_launches()
        self.prove_savings()

    def prove(self, bound: Bound) -> None:
        """Record that the incumbent is optimal by a bound of level 2."""
        self.bounds[1] = [bound]
        self.status, self.termination, self.reason = Status.OPTIMAL, None, ""
