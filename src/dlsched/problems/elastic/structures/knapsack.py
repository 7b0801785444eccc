"""The multiple-choice knapsack of one capacity as integer arrays."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.elastic.definition.schema import Instance, Job, Solution
from dlsched.problems.elastic.structures.items import (
    SAFE,
    Ints,
    OptionalItems,
    Ratio,
    in_units,
    integers,
)


@dataclass(frozen=True)
class Items(OptionalItems):
    """The undominated items of an instance, job by job, in order of their GPUs.

    Attributes
    ----------
    workers, gpus
        One entry per item.
    capacity
        Free GPUs.
    """

    workers: NDArray[np.int64]
    gpus: Ints
    capacity: int

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

    def pick(self, keep: NDArray[np.bool_], capacity: int) -> Items:
        """Return some of the items with another capacity."""
        columns = ("job", "workers", "gpus", "launch", "value")
        kept = {name: getattr(self, name)[keep] for name in columns}
        return replace(self, capacity=capacity, **kept)

    def solution(self, instance: Instance, chosen: Sequence[int]) -> Solution:
        """Return the allocation of the chosen items, every other job at its base."""
        workers = {job.id: job.min_workers for job in instance.jobs if job.running}
        for i in chosen:
            workers[instance.jobs[self.job[i]].id] = int(self.workers[i])
        return Solution(workers=workers)

    def within(self, instance: Instance, solution: Solution) -> list[int]:
        """Return for each job its best item with no more workers than the solution gives it."""
        chosen, counts = [], solution.counts
        for a, b in zip(self.starts, self.ends, strict=True):
            given = counts.get(instance.jobs[self.job[a]].id, 0)
            chosen += [i for i in range(a, b) if self.workers[i] <= given][-1:]
        return chosen


def items_of(instance: Instance) -> Items:
    """Return the items that fit and that no other item of the same job dominates.

    GPUs are divided by their greatest common divisor; the capacity is at most what all jobs
    together can use.
    """
    rows: list[tuple[int, int, int, int]] = []
    fractions: list[Ratio] = []
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
    rows: Sequence[tuple[int, int, int, int]], fractions: Sequence[Ratio], capacity: int
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
    values, unit = in_units(fractions)
    columns = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    taken = math.gcd(*columns[2].tolist()) or 1
    gpus = columns[2] // taken
    largest = dict(zip(columns[0].tolist(), gpus.tolist(), strict=True))  # each job's last item
    capacity = min(capacity // taken, sum(largest.values()))
    if capacity * (len(largest) + 1) >= SAFE:
        gpus = gpus.astype(object)
    return Items(
        job=columns[0],
        workers=columns[1],
        gpus=gpus,
        launch=columns[3],
        value=integers(values, jobs + 1),
        capacity=capacity,
        unit=unit,
    )


def _reductions(job: Job) -> Iterator[tuple[int, Ratio]]:
    """Iterate over (workers, reduction as numerator and denominator)."""
    if job.min_running_time is None:
        for w in range(job.min_workers, job.max_workers + 1):
            yield w, Fraction(job.reduction(w)).as_integer_ratio()
        return
    work, divisor = Fraction(job.min_running_time).as_integer_ratio()
    work, divisor = work * job.max_workers, divisor * job.min_workers
    for w in range(job.min_workers, job.max_workers + 1):  # work / min - work / w
        yield w, (work * (w - job.min_workers), divisor * w)
