"""The search of `dp`: bound, fix what the bound decides, and fill the table of the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dlsched.objective import Bound
from dlsched.problems.elastic.bounds import launch_bound, relaxation_bounds, seconds
from dlsched.problems.elastic.knapsack import Items, fill_table, proves, read_table
from dlsched.problems.elastic.lagrange import Relaxation, relax
from dlsched.result import Status
from dlsched.run import Run

Mask: TypeAlias = NDArray[np.bool_]

SMALL = 4_000_000
"""Up to this many table steps (items x GPUs) the whole table is cheaper than reducing first."""
CORE = 64
"""Jobs whose choice is least certain, solved first for a good incumbent."""
_CELL = {"int64": 8, "object": 48}
"""Bytes of a table's cell; a Python integer is an object beside its reference."""


@dataclass
class Search:
    """The incumbent, as item numbers with its launched jobs and grid units, and the proof.

    Attributes
    ----------
    bounds
        For each level, the bounds found.
    """

    items: Items
    run: Run
    memory_gib: float = 2.0
    incumbent: Sequence[int] | None = None
    launched: int = -1
    value: int = 0
    status: Status = Status.FEASIBLE
    reason: str = ""

    def __post_init__(self) -> None:
        """Begin with what needs no search: level 1."""
        self.bounds: list[list[Bound]] = [[launch_bound(self.items)], []]

    def offer(self, chosen: Sequence[int]) -> None:
        """Make a choice of items the incumbent if it is better."""
        launched, value = self.worth(chosen)
        if self.incumbent is None or (launched, value) > (self.launched, self.value):
            self.incumbent, self.launched, self.value = chosen, launched, value
            self.run.record(float(seconds(self.items, value)), None)

    def worth(self, chosen: Sequence[int]) -> tuple[int, int]:
        """Return (jobs launched, grid units saved) of some items."""
        picked = np.array(chosen, dtype=np.int64)
        return int(self.items.launch[picked].sum()), sum(self.items.value[picked].tolist())

    def solve(self) -> None:
        """Fill the table of all items; if that is large, bound and fix first."""
        small = len(self.items) * self.items.capacity <= SMALL
        if small and self.fill(self.items, proof=True):
            return
        relaxation = relax(self.items, self.run.stop_reason)
        self.offer(self.filled(relaxation))
        if not self.met(relaxation):
            self.solve_core(relaxation, self.uncertain(relaxation), slack=0)
        if not self.met(relaxation):
            slack = relaxation.bound - ((self.value + 1) << relaxation.shift)
            if not self.solve_core(relaxation, relaxation.loss <= slack, slack, proof=True):
                self.bounds = relaxation_bounds(self.items, relaxation)
                self.reason = self.run.stop_reason() or self.reason

    def filled(self, relaxation: Relaxation) -> list[int]:
        """Use the GPUs that the relaxation's choice leaves, least loss first."""
        items = self.items
        now = dict(zip(items.row[relaxation.chosen].tolist(), relaxation.chosen, strict=True))
        left = items.capacity - sum(items.gpus[relaxation.chosen].tolist())
        for i in np.argsort(relaxation.loss, kind="stable").tolist():
            if not left or self.run.stop_reason():
                break
            row = int(items.row[i])
            held = now.get(row)
            if held is None and items.launch[i]:
                continue  # as many pending jobs are launched as can be
            gpus, value = (items.gpus[held], items.value[held]) if held is not None else (0, 0)
            if items.value[i] > value and items.gpus[i] - gpus <= left:
                now[row] = i
                left -= int(items.gpus[i] - gpus)
        return list(now.values())

    def met(self, relaxation: Relaxation) -> bool:
        """Whether the relaxation alone proves the incumbent, within the gap asked for."""
        limit = relaxation.bound >> relaxation.shift
        complete = self.launched == self.items.most_launched
        slack = Fraction(self.run.gap) * max(abs(limit), abs(self.value))  # beyond a double
        if not complete or limit - self.value > slack:
            return False
        self.bounds = relaxation_bounds(self.items, relaxation)
        self.status, self.reason = Status.OPTIMAL, "the relaxation meets the incumbent"
        return True

    def uncertain(self, relaxation: Relaxation) -> Mask:
        """Return which items to keep: all of the jobs with the closest second choices."""
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

        With `proof`, every choice left out is one that costs the relaxation more than the slack
        between its bound and the next better value, so the incumbent is the optimum of all.
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
        if capacity < 0:  # what must be chosen does not fit, so nothing beats the incumbent
            return proof and self.prove()
        free &= items.gpus <= capacity
        return self.fill(items.pick(free, capacity), proof, fixed, np.flatnonzero(free))

    def fill(
        self,
        part: Items,
        proof: bool,
        fixed: Sequence[int] = (),
        numbers: NDArray[np.int64] | None = None,
    ) -> bool:
        """Fill a table, offer its optimum, and re-check it if it is to be a proof.

        Parameters
        ----------
        part, fixed, numbers
            Items to choose from, those chosen already, and the numbers of `part` among all.

        Returns
        -------
        bool
            Whether it got to the end.
        """
        cells = (len(part.starts) + 1) * (part.capacity + 1)
        gib = cells * _CELL[part.value.dtype.name] / 2**30
        if gib > self.memory_gib:
            self.reason = f"the table needs {gib:.1f} GiB, the limit is {self.memory_gib:g}"
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
        return held and proves(part, table, self.run.stop_reason) and self.prove()

    def prove(self) -> bool:
        """Note that the incumbent is optimal."""
        value = seconds(self.items, self.value)
        self.bounds = [[launch_bound(self.items)], [Bound(value, "certified", "dp table")]]
        self.status, self.reason = Status.OPTIMAL, "proved optimal"
        return True
