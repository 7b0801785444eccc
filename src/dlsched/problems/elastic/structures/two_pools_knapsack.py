"""The knapsack with two capacities as integer arrays.

An item may save a negative number of seconds, if it launches its job on slow GPUs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.elastic.definition.schema import Instance, Solution
from dlsched.problems.elastic.definition.two_pools_choices import (
    Split,
    base_of,
    gpus_of,
    solution_of,
)
from dlsched.problems.elastic.structures.items import (
    SAFE,
    Ints,
    OptionalItems,
    firsts,
    in_units,
    integers,
)
from dlsched.problems.elastic.structures.two_pools_undominated import Speeds, undominated


class Worths(NamedTuple):
    """Each item's contribution to both levels as one integer, ordered lexicographically.

    Attributes
    ----------
    worth
        Reduction in ``2**shift`` units + ``step`` for an item that launches its job.
    step
        More than the difference between the sums of any two allocations' reductions.
    """

    worth: Ints
    step: int
    shift: int


@dataclass(frozen=True)
class PoolItems(OptionalItems):
    """The undominated items of an instance that fit, job by job.

    Attributes
    ----------
    workers, gpus
        One row per item, with an entry per pool.
    capacity
        Free GPUs by pool, at most what all jobs together can use.
    """

    workers: NDArray[np.int64]
    gpus: NDArray[np.int64]
    capacity: Split

    @property
    def states(self) -> int:
        """Number of pairs of GPUs that a table has a column for."""
        return (self.capacity[0] + 1) * (self.capacity[1] + 1)

    @cached_property
    def exact(self) -> Worths:
        """Worth of each item."""
        return worths(self, self.value, 0)

    @cached_property
    def rounded(self) -> Worths:
        """`exact` in 64 bits, the reductions rounded up; equal to it if that has 64 bits."""
        if self.exact.worth.dtype != object:
            return self.exact
        spread = self.exact.step * (len(self.starts) + 2)
        shift = max(0, spread.bit_length() - 60)
        return worths(self, (-(-self.value >> shift)).astype(np.int64), shift)

    def solution(self, instance: Instance, chosen: Sequence[int]) -> Solution:
        """Return the allocation of the chosen items, every other job at its base."""
        workers = {job.id: base_of(instance, job) for job in instance.jobs if job.running}
        for i in chosen:
            training, loan = self.workers[i].tolist()
            workers[instance.jobs[self.job[i]].id] = (training, loan)
        return solution_of(workers)

    def within(self, instance: Instance, solution: Solution) -> list[int]:
        """Return for each job its best item with no more GPUs than the solution gives it."""
        best: dict[int, int] = {}
        for i, (j, gpus) in enumerate(zip(self.job.tolist(), self.gpus.tolist(), strict=True)):
            job = instance.jobs[j]
            given = solution.split(job.id)
            if any(given):
                most = gpus_of(instance, job, given)
                fits = gpus[0] <= most[0] and gpus[1] <= most[1]
                if fits and (j not in best or self.value[i] > self.value[best[j]]):
                    best[j] = i
        return list(best.values())


def worths(items: PoolItems, value: Ints, shift: int) -> Worths:
    """Return the worths of items with these values, in ``2**shift`` units."""
    if not len(items):
        return Worths(value, 1, shift)
    high = np.maximum(np.maximum.reduceat(value, items.starts), 0).tolist()
    low = np.minimum(np.minimum.reduceat(value, items.starts), 0).tolist()
    step = 1 + sum(high) - sum(low)
    kind: Any = np.int64 if value.dtype != object else object
    if step * (len(items.starts) + 2) >= SAFE:
        kind = object
    return Worths(value.astype(kind) + items.launch.astype(kind) * step, step, shift)


def items_of(instance: Instance) -> PoolItems:
    """Return the items that fit and that no other choice of the same job dominates."""
    speeds = Speeds(instance)
    rows = [
        (j, choice)
        for j, job in enumerate(instance.jobs)
        for choice in undominated(instance, job, speeds)
    ]
    values, unit = in_units([choice.reduction for _, choice in rows])
    jobs = np.array([j for j, _ in rows], dtype=np.int64)
    gpus = np.array([choice.gpus for _, choice in rows], dtype=np.int64).reshape(-1, 2)
    largest = np.maximum.reduceat(gpus, firsts(jobs)).sum(axis=0).tolist() if rows else (0, 0)
    training, loan = instance.by_pool
    return PoolItems(
        job=jobs,
        workers=np.array([choice.workers for _, choice in rows], dtype=np.int64).reshape(-1, 2),
        gpus=gpus,
        launch=np.array([not instance.jobs[j].running for j, _ in rows], dtype=np.int64),
        value=integers(values, len(instance.jobs) + 2),
        capacity=(min(training.capacity, largest[0]), min(loan.capacity, largest[1])),
        unit=unit,
    )
