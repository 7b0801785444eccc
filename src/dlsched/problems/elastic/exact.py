"""Exact methods for elastic: the integer program, and a dynamic program on a reduced knapsack."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dlsched.problem import method
from dlsched.problems.elastic.bounds import launch_bound, relaxation_bounds, seconds
from dlsched.problems.elastic.check import evaluate
from dlsched.problems.elastic.knapsack import (
    Items,
    fill_table,
    items_of,
    proves,
    read_table,
    solution_of,
)
from dlsched.problems.elastic.lagrange import Relaxation, relax
from dlsched.problems.elastic.schema import Instance
from dlsched.result import Bound, Claim, Start, Status
from dlsched.run import Run
from dlsched.solvers.levels import solve_levels

Mask: TypeAlias = NDArray[np.bool_]

SMALL = 4_000_000
"""Up to this many table steps (items x GPUs) the whole table is cheaper than reducing first."""
CORE = 64
"""Jobs whose choice is least certain, solved first for a good incumbent."""


@method("elastic", kind="exact")
def milp(instance: Instance, run: Run, levels: int = 2) -> Claim:
    """Integer program: first the jobs launched, then, held at its optimum, the reduction.

    Exact because the model's solutions are the instance's (models/elastic.md) and a branch and
    bound searches them all; the certified part of the bound comes from the relaxation's duals.

    Parameters
    ----------
    levels
        1 to stop after the jobs launched.
    """
    from dlsched.problems.elastic import model

    return solve_levels(instance, run, model, levels)


@method("elastic", kind="exact")
def dp(instance: Instance, run: Run, memory_gib: float = 2.0) -> Claim:
    """Dynamic program over the GPUs, after Lagrangian fixing where the table would be large.

    Exact because a table row holds the lexicographic optimum for every number of GPUs, and an item
    is left out only if the multipliers prove that no allocation with it beats the incumbent. Both
    proofs are re-checked: the table by its inequalities, the fixing by the exact bound.

    Parameters
    ----------
    memory_gib
        Largest table; if it would not suffice, the incumbent and its bound are returned.
    """
    began = time.perf_counter()
    items = items_of(instance)
    search = _Search(items, run, memory_gib)
    built = time.perf_counter() - began
    start = search.offer_start(instance) if run.start is not None else None
    search.solve()
    assert search.incumbent is not None
    return Claim(
        solution=solution_of(instance, items, search.incumbent, "dp"),
        status=search.status,
        reason=search.reason,
        objective=[search.launched, seconds(items, search.value)],
        bounds=search.bounds,
        build_seconds=built,
        start=start,
    )


@dataclass
class _Search:
    """The incumbent, as item numbers with its launched jobs and grid units, and the proof."""

    items: Items
    run: Run
    memory_gib: float
    incumbent: list[int] | None = None
    launched: int = -1
    value: int = 0
    status: Status = Status.FEASIBLE
    reason: str = ""

    def __post_init__(self) -> None:
        self.bounds: list[list[Bound]] = [[launch_bound(self.items)], []]

    def offer(self, chosen: list[int]) -> bool:
        """Make a choice of items the incumbent if it is better."""
        launched = int(self.items.launch[chosen].sum())
        value = int(self.items.value[chosen].sum())
        better = self.incumbent is None or (launched, value) > (self.launched, self.value)
        if better:
            self.incumbent, self.launched, self.value = chosen, launched, value
            self.run.tell(float(seconds(self.items, value)), None)
        return better

    def offer_start(self, instance: Instance) -> Start:
        """Take the user's start as the first incumbent, each job at its best item within it."""
        workers = self.run.start.workers  # type: ignore[union-attr]
        chosen = []
        for a, b in zip(self.items.starts, self.items.ends, strict=True):
            given = workers.get(instance.jobs[self.items.job[a]].id, 0)
            fitting = [i for i in range(a, b) if self.items.workers[i] <= given]
            chosen += fitting[-1:]
        self.offer(chosen)
        worth = evaluate(instance, workers)
        return Start(True, f"first incumbent, {worth}")

    def solve(self) -> None:
        """Fill the table of all items; if that is large, bound and fix first."""
        if len(self.items) * self.items.capacity <= SMALL:
            if not self.fill(self.items, proof=True):
                self.give_up(relax(self.items))
            return
        relaxation = relax(self.items)
        self.offer(relaxation.chosen)
        if not self.done(relaxation):
            self.solve_core(relaxation, self.uncertain(relaxation), slack=0)
        if not self.done(relaxation):
            slack = relaxation.bound - ((self.value + 1) << relaxation.shift)
            if not self.solve_core(relaxation, relaxation.loss <= slack, slack, proof=True):
                self.give_up(relaxation)

    def done(self, relaxation: Relaxation) -> bool:
        """Whether the relaxation alone proves the incumbent, within the gap asked for."""
        limit = relaxation.bound >> relaxation.shift
        if limit - self.value > self.run.gap * max(abs(limit), abs(self.value)):
            return False
        self.bounds = relaxation_bounds(self.items, relaxation)
        self.status, self.reason = Status.OPTIMAL, "the relaxation meets the incumbent"
        return True

    def uncertain(self, relaxation: Relaxation) -> Mask:
        """Return which items to keep: all of the jobs with the closest second choices."""
        items = self.items
        second = np.array(
            [
                sorted([idle, *losses.tolist()])[1]
                for idle, losses in zip(
                    relaxation.idle_loss, np.split(relaxation.loss, items.starts[1:]), strict=True
                )
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

        With `proof`, every item left out is one that costs the relaxation more than the slack
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
        room = items.capacity - int(items.gpus[fixed].sum())
        if room < 0:  # what must be chosen does not fit, so nothing beats the incumbent
            return proof and self.prove()
        free &= items.gpus <= room
        return self.fill(items.pick(free, room), proof, fixed, np.flatnonzero(free))

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
        gib = (len(part.starts) + 1) * (part.capacity + 1) * 8 / 2**30
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
        return proves(part, table, int(table[-1, -1])) and self.prove()

    def prove(self) -> bool:
        """Note that the incumbent is optimal."""
        value = seconds(self.items, self.value)
        self.bounds = [[launch_bound(self.items)], [Bound(value, "certified", "dp table")]]
        self.status, self.reason = Status.OPTIMAL, "proved optimal"
        return True

    def give_up(self, relaxation: Relaxation) -> None:
        """Say what is known when time or memory ran out."""
        self.offer(relaxation.chosen)
        self.status = Status.FEASIBLE
        self.bounds = relaxation_bounds(self.items, relaxation)
        self.reason = self.run.stop_reason() or self.reason
