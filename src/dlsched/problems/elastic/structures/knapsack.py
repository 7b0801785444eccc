"""The multiple-choice knapsack of an instance as integer arrays, with one capacity or two.

Every job can be left at its base without cost: a pending job without workers, a running one with
its least number. So an instance is a set of optional items, at most one per job, each with the GPUs
it takes, whether it launches its job, and the running time it saves, which is negative if it
launches its job on slow GPUs. Times are multiples of the reductions' granularity, hence integers,
and exact unless that has thousands of digits.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dlsched.problems.elastic.definition.job_choices import (
    Workers,
    base_of,
    solution_of,
    workers_of,
)
from dlsched.problems.elastic.definition.schema import Instance, Solution
from dlsched.problems.elastic.structures.reduction_units import SAFE, Integers, in_units, integers
from dlsched.problems.elastic.structures.undominated_choices import Choice, undominated
from dlsched.schema import Number, simplify
from dlsched.solvers.arrays import IntRows, Ints


class Worths(NamedTuple):
    """Each item's contribution to both levels as one integer, ordered lexicographically.

    Attributes
    ----------
    worth
        Reduction in ``2**shift`` units + ``step`` for an item that launches its job.
    step
        More than the difference between the sums of any two allocations' reductions.
    """

    worth: Integers
    step: int
    shift: int


@dataclass(frozen=True)
class Items:
    """The undominated items of an instance that fit, job by job; at most one of a job is chosen.

    Attributes
    ----------
    job, launch, value
        One entry per item: the number of its job, 1 if it starts a pending job, and the reduction
        in units.
    workers, gpus
        One row per item, with an entry per capacity. With one capacity the GPUs are divided by
        their greatest common divisor.
    capacity
        Free GPUs, at most what all jobs together can use.
    unit
        The granularity of the reductions, in seconds.
    """

    job: Ints
    launch: Ints
    value: Integers
    workers: IntRows
    gpus: Integers
    capacity: Workers
    unit: Fraction

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self.job)

    @cached_property
    def starts(self) -> Ints:
        """Position of each job's first item."""
        return first_entries(self.job)

    @cached_property
    def ends(self) -> Ints:
        """Position after each job's last item."""
        return np.append(self.starts[1:], len(self))[: len(self.starts)]

    @cached_property
    def row(self) -> Ints:
        """For each item the position of its job among those with items."""
        return np.repeat(np.arange(len(self.starts)), self.ends - self.starts)

    @property
    def states(self) -> int:
        """Number of combinations of GPUs that a table has a column for."""
        return math.prod(free + 1 for free in self.capacity)

    @cached_property
    def exact(self) -> Worths:
        """Worth of each item."""
        return self._worths(self.value, 0)

    @cached_property
    def rounded(self) -> Worths:
        """`exact` in 64 bits, the reductions rounded up; equal to it if that has 64 bits."""
        if self.exact.worth.dtype != object:
            return self.exact
        spread = self.exact.step * (len(self.starts) + 2)
        shift = max(0, spread.bit_length() - 60)
        return self._worths((-(-self.value >> shift)).astype(np.int64), shift)

    def _worths(self, value: Integers, shift: int) -> Worths:
        """Return the worths of the items with these values, in ``2**shift`` units."""
        if not len(self):
            return Worths(value, 1, shift)
        highest = np.maximum.reduceat(value, self.starts).tolist()
        lowest = np.minimum.reduceat(value, self.starts).tolist()
        step = 1 + sum(
            max(0, most) - min(0, least) for most, least in zip(highest, lowest, strict=True)
        )
        dtype: Any = value.dtype if step * (len(self.starts) + 2) < SAFE else object
        return Worths(value.astype(dtype) + self.launch.astype(dtype) * step, step, shift)

    def seconds(self, units: int) -> Number:
        """Return a number of units in seconds."""
        return simplify(units * self.unit)

    def solution(self, instance: Instance, chosen: Sequence[int]) -> Solution:
        """Return the allocation of the chosen items, every other job at its base."""
        workers = {job.id: base_of(instance, job) for job in instance.jobs if job.running}
        for i in chosen:
            workers[instance.jobs[self.job[i]].id] = tuple(self.workers[i].tolist())
        return solution_of(workers)

    def within(self, instance: Instance, solution: Solution) -> list[int]:
        """Return for each job its best item with no more workers than the solution gives it."""
        best: dict[int, int] = {}
        for i, (j, workers) in enumerate(
            zip(self.job.tolist(), self.workers.tolist(), strict=True)
        ):
            given = workers_of(instance, solution, instance.jobs[j])
            fits = all(n <= most for n, most in zip(workers, given, strict=True))
            if fits and (j not in best or self.value[i] > self.value[best[j]]):
                best[j] = i
        return list(best.values())


def first_entries(groups: Ints) -> Ints:
    """Return the positions at which the entries of a group, such as a job, begin."""
    return np.flatnonzero(np.diff(groups, prepend=-1))


def items_of(instance: Instance) -> Items:
    """Return the items that fit and that no other item of the same job dominates."""
    return assemble(undominated(instance), instance.capacities)


def assemble(choices: Sequence[Choice], capacity: Workers) -> Items:
    """Return choices as items; reductions are in their largest common unit."""
    values, unit = in_units([choice.reduction for choice in choices])
    job = np.array([choice.job for choice in choices], dtype=np.int64)
    shape = (len(choices), len(capacity))
    gpus = np.array([choice.gpus for choice in choices], dtype=np.int64).reshape(shape)
    if len(capacity) == 1:
        divisor = math.gcd(*gpus[:, 0].tolist()) or 1
        gpus //= divisor
        capacity = (capacity[0] // divisor,)
    starts = first_entries(job)
    if len(choices):
        usable = np.maximum.reduceat(gpus, starts).T.tolist()
        capacity = tuple(min(free, sum(most)) for free, most in zip(capacity, usable, strict=True))
    else:
        capacity = (0,) * len(capacity)
    if max(capacity) * (len(starts) + 1) >= SAFE:
        gpus = gpus.astype(object)
    return Items(
        job=job,
        launch=np.array([choice.launches for choice in choices], dtype=np.int64),
        value=integers(values, len(starts) + 2),
        workers=np.array([choice.workers for choice in choices], dtype=np.int64).reshape(shape),
        gpus=gpus,
        capacity=capacity,
        unit=unit,
    )
