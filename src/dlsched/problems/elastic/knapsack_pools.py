"""The knapsack with two capacities as integer arrays.

As with one capacity, a job can be left at its base without cost, so an instance is a set of
optional items, at most one per job. An item may save a negative number of seconds, if it launches
its job on slow GPUs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.elastic.knapsack import SAFE, Ints
from dlsched.problems.elastic.pools import Split, base_of, gpus_of, solution_of, splits
from dlsched.problems.elastic.schema import Instance, Job, Solution
from dlsched.schema import Number, simplify

Ratio: TypeAlias = tuple[int, int]
"""Numerator and denominator, not reduced."""


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
class PoolItems:
    """The undominated items of an instance that fit, job by job.

    Attributes
    ----------
    job, workers, gpus, launch, value
        One entry per item, of ``workers`` and ``gpus`` a row with one per pool; ``launch`` is 1 if
        it starts a pending job, ``value`` is the reduction in units.
    capacity
        Free GPUs by pool.
    unit
        The granularity of the reductions, in seconds.
    """

    job: NDArray[np.int64]
    workers: NDArray[np.int64]
    gpus: NDArray[np.int64]
    launch: NDArray[np.int64]
    value: Ints
    capacity: Split
    unit: Fraction

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self.job)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Position of each job's first item."""
        return firsts(self.job)

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        """Position after each job's last item."""
        return np.append(self.starts[1:], len(self))[: len(self.starts)]

    @cached_property
    def row(self) -> NDArray[np.int64]:
        """For each item the position of its job among those with items."""
        return np.repeat(np.arange(len(self.starts)), self.ends - self.starts)

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

    def seconds(self, units: int) -> Number:
        """Return a number of units in seconds."""
        return simplify(units * self.unit)


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
    """Return the items that fit and that no other choice of the same job dominates.

    A choice dominates another one that takes no fewer GPUs of either pool and saves no more.
    """
    free = [pool.capacity for pool in instance.by_pool]
    found: list[tuple[int, Split, Split, Ratio]] = []
    for j, job in enumerate(instance.jobs):
        for split, ratio in _reductions(instance, job):
            gpus = gpus_of(instance, job, split)
            if any(gpus) and gpus[0] <= free[0] and gpus[1] <= free[1]:
                found.append((j, split, gpus, ratio))
    scale = math.lcm(*{ratio[1] for *_, ratio in found})
    values = [ratio[0] * (scale // ratio[1]) for *_, ratio in found]
    divisor = math.gcd(*values) or 1
    values = [value // divisor for value in values]
    running = [job.running for job in instance.jobs]
    kept: list[int] = []
    for j, group in itertools.groupby(range(len(found)), key=lambda i: found[i][0]):
        kept += _undominated(found, values, list(group), running[j])
    jobs = np.array([found[i][0] for i in kept], dtype=np.int64)
    total = sum(abs(values[i]) for i in kept) + 1
    kind: Any = np.int64 if total * (len(instance.jobs) + 2) < SAFE else object
    pairs = [np.array([found[i][k] for i in kept], dtype=np.int64).reshape(-1, 2) for k in (1, 2)]
    used = [int(np.maximum.reduceat(pairs[1][:, k], firsts(jobs)).sum()) if kept else 0
            for k in (0, 1)]  # fmt: skip
    return PoolItems(
        job=jobs,
        workers=pairs[0],
        gpus=pairs[1],
        launch=np.array([not running[found[i][0]] for i in kept], dtype=np.int64),
        value=np.array([values[i] for i in kept], dtype=kind),
        capacity=(min(free[0], used[0]), min(free[1], used[1])),
        unit=Fraction(divisor, scale),
    )


def firsts(jobs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the positions at which a job's entries begin."""
    return np.flatnonzero(np.diff(jobs, prepend=-1))


def _undominated(
    found: Sequence[tuple[int, Split, Split, Ratio]],
    values: Sequence[int],
    group: Sequence[int],
    running: bool,
) -> list[int]:
    """Return the undominated ones of a job's choices; a running job may also stay at its base."""
    front: list[Split] = []
    kept = []
    for i in sorted(group, key=lambda i: (-values[i], found[i][2])):
        gpus = found[i][2]
        if running and values[i] <= 0:
            break
        if not any(g <= gpus[0] and h <= gpus[1] for g, h in front):
            front.append(gpus)
            kept.append(i)
    return sorted(kept)


def _reductions(instance: Instance, job: Job) -> Iterator[tuple[Split, Ratio]]:
    """Iterate over (workers, reduction), in integers as fractions would take most of the time."""
    speeds = [Fraction(pool.speed) for pool in instance.by_pool]
    per = math.lcm(speeds[0].denominator, speeds[1].denominator)
    first, second = (int(speed * per) for speed in speeds)
    share = Fraction(instance.mixed_efficiency).as_integer_ratio()

    def seconds(split: Split) -> Ratio:
        count = sum(split)
        if job.min_running_time is None:
            work, part = Fraction(job.running_time(count) * count).as_integer_ratio()
        else:
            work, part = linear
        top, bottom = work * per, part * (split[0] * first + split[1] * second)
        return (top * share[1], bottom * share[0]) if all(split) else (top, bottom)

    linear = Fraction((job.min_running_time or 0) * job.max_workers).as_integer_ratio()
    base = Fraction(*seconds(base_of(instance, job))).as_integer_ratio()
    for split in splits(instance, job):
        top, bottom = seconds(split)
        top, bottom = base[0] * bottom - top * base[1], base[1] * bottom
        divisor = math.gcd(top, bottom)
        yield split, (top // divisor, bottom // divisor)


def allocation(instance: Instance, items: PoolItems, chosen: Sequence[int]) -> Solution:
    """Return the allocation of the chosen items, every other job at its base."""
    workers = {job.id: base_of(instance, job) for job in instance.jobs if job.running}
    for i in chosen:
        training, loan = items.workers[i].tolist()
        workers[instance.jobs[items.job[i]].id] = (training, loan)
    return solution_of(workers)
