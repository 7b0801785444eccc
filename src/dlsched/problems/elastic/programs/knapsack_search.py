"""The search of `dp`: bound, fix items by the bound, and fill the table of the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.elastic.programs.incumbent import Incumbent
from dlsched.problems.elastic.programs.lagrangian import (
    Relaxation,
    launch_bound,
    reduction_bound,
    relax,
)
from dlsched.problems.elastic.structures.knapsack import Items
from dlsched.problems.elastic.structures.knapsack_table import fill_table, proves, read_table

Mask: TypeAlias = NDArray[np.bool_]

SMALL = 4_000_000
"""Up to this many steps (items x GPUs) filling the whole table is faster than fixing first."""
CORE = 64
"""Number of jobs with the least second-best loss, solved first for a good incumbent."""


@dataclass
class KnapsackSearch(Incumbent[Items]):
    """The search; at the start ``bounds`` has that of level 1, which needs no search."""

    def __post_init__(self) -> None:
        """Set the bound of level 1."""
        self.bounds[0] = [launch_bound(self.items)]

    def solve(self) -> None:
        """Fill the table of all items; if it is large, bound and fix items first."""
        small = len(self.items) * self.items.capacity <= SMALL
        if small and self.fill(self.items, proof=True):
            return
        relaxation = relax(self.items, self.run.stop_reason)
        self.offer(self.extended(relaxation))
        if not self.at_bound(relaxation):
            self.solve_core(relaxation, self.uncertain(relaxation), slack=0)
        if not self.at_bound(relaxation):
            slack = relaxation.bound - ((self.value + 1) << relaxation.shift)
            if not self.solve_core(relaxation, relaxation.loss <= slack, slack, proof=True):
                self.bounds[1] = [reduction_bound(self.items, relaxation)]
                if stopped := self.run.stop_reason():
                    self.termination, self.reason = stopped, ""

    def extended(self, relaxation: Relaxation) -> list[int]:
        """Return the relaxation's choice with the remaining GPUs used, least loss first."""
        items = self.items
        now = dict(zip(items.row[relaxation.chosen].tolist(), relaxation.chosen, strict=True))
        left = items.capacity - sum(items.gpus[relaxation.chosen].tolist())
        for i in np.argsort(relaxation.loss, kind="stable").tolist():
            if not left or self.run.stop_reason():
                break
            row = int(items.row[i])
            held = now.get(row)
            if held is None and items.launch[i]:
                continue  # the most pending jobs are launched already
            gpus, value = (items.gpus[held], items.value[held]) if held is not None else (0, 0)
            if items.value[i] > value and items.gpus[i] - gpus <= left:
                now[row] = i
                left -= int(items.gpus[i] - gpus)
        return list(now.values())

    def at_bound(self, relaxation: Relaxation) -> bool:
        """Whether the relaxation proves the incumbent optimal, within the gap asked for."""
        limit = relaxation.bound >> relaxation.shift
        proved = self.launched == self.items.most_launched and self.within_gap(limit)
        if proved:
            self.prove(reduction_bound(self.items, relaxation))
        return proved

    def uncertain(self, relaxation: Relaxation) -> Mask:
        """Return a mask of the items of the `CORE` jobs with the least second-best losses."""
        items = self.items
        second = np.array(
            [
                sorted([idle, *relaxation.loss[a:b].tolist()])[1]
                for idle, a, b in zip(relaxation.idle_loss, items.starts, items.ends, strict=True)
            ]
        )
        near = np.zeros(len(second), dtype=bool)
        near[np.argsort(second, kind="stable")[:CORE]] = True
        keep: Mask = near[items.row] | (relaxation.loss == 0)
        return keep

    def solve_core(
        self, relaxation: Relaxation, keep: Mask, slack: int, proof: bool = False
    ) -> bool:
        """Fix the jobs that have one choice left, and fill the table of the others.

        With `proof`, `keep` and `slack` must leave out only choices whose loss exceeds the slack
        between the relaxation's bound and the next better value than the incumbent's. If the
        result is True, the incumbent is then the optimum of all items.
        """
        items = self.items
        fixed: list[int] = []
        free = keep.copy()
        for r in np.flatnonzero(relaxation.idle_loss > slack):
            left = np.flatnonzero(keep[items.starts[r] : items.ends[r]]) + items.starts[r]
            if len(left) == 1:
                fixed.append(int(left[0]))
                free[left] = False
        capacity = items.capacity - sum(items.gpus[fixed].tolist())
        if capacity < 0:  # the fixed items do not fit, so nothing beats the incumbent
            if proof:
                self.prove(self.table_bound())
            return proof
        free &= items.gpus <= capacity
        return self.fill(items.pick(free, capacity), proof, fixed, np.flatnonzero(free))

    def fill(
        self,
        part: Items,
        proof: bool,
        fixed: Sequence[int] = (),
        numbers: NDArray[np.int64] | None = None,
    ) -> bool:
        """Fill a table and offer its optimum; with `proof`, check the table.

        Parameters
        ----------
        part, fixed, numbers
            Items to choose from, the numbers of items chosen already, and those of `part`.

        Returns
        -------
        bool
            Whether the table was filled and, with `proof`, proves the incumbent optimal.
        """
        entries = (len(part.starts) + 1) * (part.capacity + 1)
        if not self.fits_in_memory(entries, part.value.dtype.name):
            return False
        table = fill_table(part, self.run.stop_reason)
        if table is None:
            return False
        chosen = read_table(part, table)
        self.offer([*fixed, *(chosen if numbers is None else numbers[chosen].tolist())])
        if not proof:
            return True
        launched, value = self.worth(fixed)
        more, rest = divmod(int(table[-1, -1]), part.step)
        held = (launched + more, value + rest) <= (self.launched, self.value)
        proved = held and proves(part, table, self.run.stop_reason)
        if proved:
            self.prove(self.table_bound())
        return proved
