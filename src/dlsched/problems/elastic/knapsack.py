"""The multiple-choice knapsack as integer arrays, its table, and the check of a table.

Every job can be left at its base without cost: a pending job without workers, a running one with
its least number. So an instance is a set of optional items, at most one per job, each with the GPUs
it takes, whether it launches its job, and the running time it saves. Times are multiples of the
reductions' granularity, hence integers, and nothing here is rounded.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.elastic.schema import Instance, Job, Solution
from dlsched.schema import Number, simplify

Ints = NDArray[Any]
"""64-bit integers, or Python's where those are too short."""

SAFE = 2**62
"""Sums below this are computed in 64 bits."""


@dataclass(frozen=True)
class Items:
    """The undominated items of an instance, job by job, in order of their GPUs.

    Attributes
    ----------
    job, workers, gpus, launch, value
        One entry per item; ``launch`` is 1 if it starts a pending job, ``value`` is the reduction
        in units.
    capacity
        Free GPUs.
    unit
        The granularity of the reductions, in seconds.
    """

    job: NDArray[np.int64]
    workers: NDArray[np.int64]
    gpus: Ints
    launch: NDArray[np.int64]
    value: Ints
    capacity: int
    unit: Fraction

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self.job)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Position of each job's first item."""
        return np.flatnonzero(np.diff(self.job, prepend=-1))

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        """Position after each job's last item."""
        return np.append(self.starts[1:], len(self))[: len(self.starts)]

    @cached_property
    def row(self) -> NDArray[np.int64]:
        """For each item the position of its job among those with items."""
        return np.repeat(np.arange(len(self.starts)), self.ends - self.starts)

    @cached_property
    def most_launched(self) -> int:
        """The optimum of level 1: pending jobs that fit, smallest base demand first."""
        first = self.starts[self.launch[self.starts] == 1]
        totals = itertools.accumulate(sorted(self.gpus[first].tolist()))
        return sum(total <= self.capacity for total in totals)

    @cached_property
    def step(self) -> int:
        """The weight of a launched job in `worth`: more than all reductions together."""
        if not len(self):
            return 1
        return 1 + int(sum(np.maximum.reduceat(self.value, self.starts).tolist()))

    @cached_property
    def worth(self) -> Ints:
        """Each item's contribution to both levels as one integer, ordered lexicographically."""
        worth: Ints = self.value + self.launch.astype(self.value.dtype) * self.step
        return worth

    def seconds(self, units: int) -> Number:
        """Return a number of units in seconds."""
        return simplify(units * self.unit)

    def pick(self, keep: NDArray[np.bool_], capacity: int) -> Items:
        """Return some of the items with another capacity."""
        columns = ("job", "workers", "gpus", "launch", "value")
        kept = {name: getattr(self, name)[keep] for name in columns}
        return replace(self, capacity=capacity, **kept)


def items_of(instance: Instance) -> Items:
    """Return the items that fit and that no other item of the same job dominates.

    GPUs are divided by their greatest common divisor; the capacity is at most what all jobs
    together can use.
    """
    rows: list[tuple[int, int, int, int]] = []
    fractions: list[tuple[int, int]] = []
    for j, job in enumerate(instance.jobs):
        best = (0, 1) if job.running else None
        for w, (numerator, denominator) in _reductions(job):
            gpus = job.gpus(w)
            if gpus > instance.gpus:
                break
            if best is None or numerator * best[1] > best[0] * denominator:
                best = (numerator, denominator)
                rows.append((j, w, gpus, not job.running))
                fractions.append(best)
    return assemble(rows, fractions, instance.gpus)


def assemble(
    rows: Sequence[tuple[int, int, int, int]], fractions: Sequence[tuple[int, int]], capacity: int
) -> Items:
    """Return items with the greatest common divisors divided out.

    Parameters
    ----------
    rows
        For each item its job's number, workers, GPUs, and whether it launches the job.
    fractions
        For each item numerator and denominator of its reduction.
    """
    jobs = len({row[0] for row in rows})
    scale = math.lcm(*{denominator for _, denominator in fractions})
    scaled = [numerator * (scale // denominator) for numerator, denominator in fractions]
    divisor = math.gcd(*scaled) or 1
    values = [v // divisor for v in scaled]
    unit = Fraction(divisor, scale)
    columns = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    taken = math.gcd(*columns[2].tolist()) or 1
    gpus = columns[2] // taken
    largest = dict(zip(columns[0].tolist(), gpus.tolist(), strict=True))  # each job's last item
    capacity = min(capacity // taken, sum(largest.values()))
    if capacity * (len(largest) + 1) >= SAFE:
        gpus = gpus.astype(object)
    total = sum(map(abs, values)) + 1
    kind: Any = np.int64 if total * (jobs + 1) < SAFE else object
    return Items(
        job=columns[0],
        workers=columns[1],
        gpus=gpus,
        launch=columns[3],
        value=np.array(values, dtype=kind),
        capacity=capacity,
        unit=unit,
    )


def _reductions(job: Job) -> Iterator[tuple[int, tuple[int, int]]]:
    """Iterate over (workers, reduction as numerator and denominator)."""
    if job.min_running_time is None:
        for w in range(job.min_workers, job.max_workers + 1):
            yield w, Fraction(job.reduction(w)).as_integer_ratio()
        return
    work, divisor = Fraction(job.min_running_time).as_integer_ratio()
    work, divisor = work * job.max_workers, divisor * job.min_workers
    for w in range(job.min_workers, job.max_workers + 1):  # work / min - work / w
        yield w, (work * (w - job.min_workers), divisor * w)


def solution_of(instance: Instance, items: Items, chosen: Sequence[int]) -> Solution:
    """Return the allocation of the chosen items, every other job at its base."""
    workers = {job.id: job.min_workers for job in instance.jobs if job.running}
    for i in chosen:
        workers[instance.jobs[items.job[i]].id] = int(items.workers[i])
    return Solution(workers=workers)


def fill_table(items: Items, stop: Callable[[], str | None]) -> Ints | None:
    """Return the dynamic program's table, or ``None`` if `stop` returns a reason.

    Row r, column c is the largest sum of ``items.worth`` of the first r jobs with items on c GPUs.
    The order is lexicographic because ``items.step`` exceeds every sum of reductions.
    """
    table = np.zeros((len(items.starts) + 1, items.capacity + 1), dtype=items.value.dtype)
    worth = items.worth
    for r, (a, b) in enumerate(zip(items.starts, items.ends, strict=True)):
        before, after = table[r], table[r + 1]
        after[:] = before
        for i in range(a, b):
            if stop():
                return None
            g = items.gpus[i]
            np.maximum(after[g:], before[: len(before) - g] + worth[i], out=after[g:])
    return table


def read_table(items: Items, table: Ints) -> list[int]:
    """Return the numbers of the items of an optimal choice."""
    worth = items.worth
    chosen = []
    c = items.capacity
    for r in reversed(range(len(items.starts))):
        if table[r + 1, c] == table[r, c]:
            continue
        for i in range(items.starts[r], items.ends[r]):
            g = items.gpus[i]
            if g <= c and table[r, c - g] + worth[i] == table[r + 1, c]:
                chosen.append(i)
                c -= int(g)
                break
    return chosen


def proves(items: Items, table: Ints, stop: Callable[[], str | None]) -> bool:
    """Whether a table, however computed, proves that its last entry bounds every choice of items.

    If row 0 is non-negative and each row is at least the one before it, also after adding any of
    the job's items, then by induction a row bounds all choices among its jobs. The result is False
    if `stop` returns a reason before all inequalities are checked.
    """
    width = items.capacity + 1
    if table.shape != (len(items.starts) + 1, width) or (table[0] < 0).any():
        return False
    grows = all(not stop() and bool((b >= a).all()) for a, b in itertools.pairwise(table))
    return grows and all(
        not stop() and bool((table[r + 1, g:] >= table[r, : width - g] + w).all())
        for r, g, w in zip(items.row, items.gpus, items.worth, strict=True)
    )
