"""The groups that matter at the prices of a proof: an enumeration in integers, for its check.

It shares no code with what finds groupings and bounds. A group's worth, its class's weight times
gamma, is rounded up to a multiple of two to minus some bits; less the prices of its jobs and GPUs,
that is its reduced value, an integer. `groups_from` finds all groups of a class whose reduced value
is at least a floor, in two steps.

A depth-first search adds jobs to a first one, profiles in descending order of the sums of their
stages, each at a free offset. It has 64-bit integers only, rounded so that no group is missed.
Times are in units of two to minus `_TIME_BITS` of the first job's sum s, and rounded down; sums of
stages are rounded up; reduced values are shares of the weight in units of two to minus
`_VALUE_BITS`, rounded up. Of the first job's stages alone a group's iteration takes s, so a time is
at least 1 << `_TIME_BITS`, and no sum of another job's stages is larger than it. So if jobs D
join a group S whose iteration takes T, and with k resources, gamma is at most

    (sum(S) + sum(D)) / (k T):

each job d adds at most sum(d) / (k T) less its price, and that falls as T grows. The largest of
these terms from some profile on is read from a table; T is rounded down to a time of the table.

What the search finds is then computed exactly, from the stages as integers in a common unit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dlsched.proofs.forms.limit import poll
from dlsched.schema import Number, granularity

Ints: TypeAlias = NDArray[Any]
"""Integers, of 64 bits or, if they are larger, of any size."""
Positions: TypeAlias = NDArray[np.int64]

_VALUE_BITS = 30
_TIME_BITS = 26
"""With 8 jobs of 8 stages, no product of the search has more than 62 bits."""
_STEPS = 64
"""Times of the table, by doubling."""
_BLOCK = 1 << 17
"""Pairs of a partial group and a profile that are looked at together."""
_SMALL = 2**58
"""A sum of thirty integers up to this is one of 64 bits."""


@dataclass(frozen=True)
class PricedClass:
    """The profiles of one number of GPUs, with the prices of a proof.

    Attributes
    ----------
    stages, jobs
        Of each profile, the stages and the number of jobs.
    smallest, largest
        The fewest and the most jobs of a group.
    weight
        Of a group's gamma.
    prices, fixed
        Of a job of each profile, and of a group's GPUs, in multiples of two to minus ``bits``.
    """

    stages: Sequence[Sequence[Number]]
    jobs: Sequence[int]
    smallest: int
    largest: int
    weight: int
    prices: Sequence[int]
    fixed: int
    bits: int


class ExactGroup(NamedTuple):
    """A group: its profiles, ascending, what it is worth, and its reduced value."""

    profiles: tuple[int, ...]
    worth: Fraction
    reduced: int


class TooManyGroups(ValueError):
    """More groups have the floor than were allowed."""


def groups_from(data: PricedClass, floor: int, most: int) -> list[ExactGroup]:
    """Return all groups whose reduced value is at least the floor, by their profiles.

    Raises
    ------
    TooManyGroups
        If there are more than `most`.
    """
    times = _ExactTimes(data)
    groups: dict[tuple[int, ...], ExactGroup] = {}
    for members in _CandidateSearch(data, floor).candidates():
        for group in times.groups(members):
            if group.reduced >= floor:
                groups[group.profiles] = group
        if len(groups) > most:
            raise TooManyGroups(f"more than {most:,} groups matter at these prices")
    return [groups[profiles] for profiles in sorted(groups)]


class _ExactTimes:
    """Iteration times from the stages as integers in a common unit."""

    def __init__(self, data: PricedClass) -> None:
        self.data = data
        self.k = len(data.stages[0])
        self.stages = _array(_in_units(data.stages))

    def groups(self, members: Positions) -> Iterator[ExactGroup]:
        """Yield groups of one size, given by their profiles."""
        data = self.data
        sums = self.stages[members].sum(axis=(1, 2)).tolist()
        for row, total, time in zip(members.tolist(), sums, self.least(members), strict=True):
            worth = Fraction(data.weight * total, self.k * time)
            price = sum(data.prices[p] for p in row) + data.fixed
            reduced = math.ceil(worth * 2**data.bits) - price
            yield ExactGroup(tuple(sorted(row)), worth, reduced)

    def least(self, members: Positions) -> list[int]:
        """Return the time of each group at its best offsets; the first job stays at 0."""
        times = []
        for rest in permutations(range(1, self.k), members.shape[1] - 1):
            busiest = self.stages[members[:, 0]]
            for column, offset in enumerate(rest, 1):
                moved = np.roll(self.stages[members[:, column]], -offset, axis=1)
                busiest = np.maximum(busiest, moved)
            times.append(busiest.sum(axis=1))
        return [int(time) for time in np.min(times, axis=0)]


class _Partial(NamedTuple):
    """Partial groups of one size, one after the other in the last dimension of each array.

    `members` are profiles in the order of the search, from the first one on; `offset` is the last
    one's; `used` has a bit for each offset that is taken; `busiest` has the longest stage in each
    step, `total` the sum of all stages, `cost` the prices. Of the group as it is, `time` is the
    iteration's, and `value` a bound on the reduced value.
    """

    members: Positions
    offset: Positions
    used: Positions
    busiest: Positions
    total: Positions
    cost: Ints
    time: Positions
    value: Ints

    def some(self, at: Positions | slice) -> _Partial:
        """Return some of the partial groups."""
        return _Partial(*(part[..., at] for part in self))


class _CandidateSearch:
    """The search in one class."""

    def __init__(self, data: PricedClass, floor: int) -> None:
        self.data = data
        self.k = len(data.stages[0])
        units = _in_units(data.stages)
        self.order = sorted(range(len(units)), key=lambda p: -sum(units[p]))
        self.stages = [units[p] for p in self.order]
        self.sums = [sum(row) for row in self.stages]
        self.jobs = np.array([data.jobs[p] for p in self.order], dtype=np.int64)
        scale = Fraction(1 << _VALUE_BITS, data.weight << data.bits)
        # A reduced value was rounded up by less than one.
        stated = [floor - 1, data.fixed, *(data.prices[p] for p in self.order)]
        self.floor, self.fixed, *_ = scaled = [math.floor(v * scale) for v in stated]
        self.prices = _array(scaled)[2:]
        doublings = range(math.ceil(math.log2(data.largest)) + 1)
        steps = [
            (_STEPS + s << _TIME_BITS) // _STEPS << d for d in doublings for s in range(_STEPS)
        ]
        self.times = np.array(steps, dtype=np.int64)

    def candidates(self) -> Iterator[Positions]:
        """Yield groups of one size, groups x size; all that have the floor are among them."""
        order = np.array(self.order)
        parts = (first + part for first in range(len(order)) for part in self._from(first))
        for joined in _joined(parts):
            yield np.unique(order[joined.T], axis=0)

    def _from(self, first: int) -> Iterator[Positions]:
        """Yield groups with this first profile, counted from it; size x groups."""
        unit = self.sums[first]
        shift = 1 << _TIME_BITS
        rounded = [[s * shift // unit for s in row] for row in self.stages[first:]]
        stages = np.array(rounded, dtype=np.int64).T
        self.moved = [np.roll(stages, -offset, axis=0) for offset in range(self.k)]
        filled = [-(-s * shift // unit) for s in self.sums[first:]]
        self.filled = np.array(filled, dtype=np.int64)
        self.price = self.prices[first:]
        self.copies = self.jobs[first:]
        adds: Ints = _divided_up(self.filled << _VALUE_BITS, self.k * self.times[:, None])
        self.adds = adds - self.price
        from_last = np.maximum.accumulate(self.adds[:, ::-1], axis=1)
        self.best = from_last[:, ::-1]
        zero = np.zeros(1, np.int64)
        total = self.filled[:1]
        cost = self.fixed + self.price[:1]
        time = self._time(stages[:, :1])
        value = self._value(total, cost, time)
        alone = _Partial(zero[None], zero, zero + 1, stages[:, :1], total, cost, time, value)
        if self.data.smallest == 1 and value[0] >= self.floor:
            yield alone.members
        if self.data.largest > 1:
            yield from self._grown(alone)

    def _time(self, busiest: Positions) -> Positions:
        time: Positions = np.maximum(busiest.sum(axis=0), 1 << _TIME_BITS)
        return time

    def _value(self, total: Positions, cost: Ints, time: Positions) -> Ints:
        value: Ints = _divided_up(total << _VALUE_BITS, self.k * time)
        return value - cost

    def _row(self, time: Positions) -> Positions:
        """Return the row of the table for each time."""
        return np.searchsorted(self.times, time, side="right") - 1

    def _more(self, jobs: int, best: Ints) -> Ints:
        """Return the most that further jobs add; if groups may be smaller, at least 0."""
        if self.data.smallest == self.data.largest:
            return jobs * best
        return jobs * np.maximum(best, 0)

    def _grown(self, partial: _Partial) -> Iterator[Positions]:
        """Yield the groups that one job, or more, make of partial groups."""
        step = max(1, _BLOCK // len(self.filled))
        for begin in range(0, len(partial.offset), step):
            poll()
            block = partial.some(slice(begin, begin + step))
            group, job = self._pairs(block)
            grown = [self._with(block, group, job, offset) for offset in range(1, self.k)]
            yield from self._found(grown)

    def _found(self, grown: Sequence[_Partial]) -> Iterator[Positions]:
        """Yield the groups among partial groups of one size, and those that they grow to."""
        size = len(grown[0].members)
        for part in grown:
            enough = part.value >= self.floor
            if size >= self.data.smallest and enough.any():
                yield part.members[:, enough]
        if size < self.data.largest:
            parts = (np.concatenate(parts, axis=-1) for parts in zip(*grown, strict=True))
            yield from self._grown(_Partial(*parts))

    def _pairs(self, partial: _Partial) -> tuple[Positions, Positions]:
        """Return which partial groups a job may join, and its profile.

        With others after it, the group then may have the floor.
        """
        last = partial.members[-1]
        row = self._row(partial.time)
        missing = self.data.largest - len(partial.members) - 1
        others = self._more(missing, self.best[row, last])
        needed = self.floor - partial.value - others
        group, job = np.nonzero(self.adds[row] >= needed[:, None])
        allowed = job >= last[group]
        again = np.flatnonzero(job == last[group])
        copies = (partial.members[:, group[again]] == job[again]).sum(axis=0)
        allowed[again] = copies < self.copies[job[again]]
        return group[allowed], job[allowed]

    def _with(self, partial: _Partial, group: Positions, job: Positions, offset: int) -> _Partial:
        """Return partial groups with a job more each, at one offset, that may have the floor."""
        # Jobs of one profile have their offsets in ascending order.
        free = (partial.used[group] >> offset) & 1 == 0
        free &= (job != partial.members[-1, group]) | (partial.offset[group] < offset)
        group = group[free]
        job = job[free]
        busiest = np.maximum(partial.busiest[:, group], self.moved[offset][:, job])
        total = partial.total[group] + self.filled[job]
        cost = partial.cost[group] + self.price[job]
        time = self._time(busiest)
        value = self._value(total, cost, time)
        most = value
        missing = self.data.largest - len(partial.members) - 1
        if missing:
            most = value + self._more(missing, self.best[self._row(time), job])
        kept = np.flatnonzero(most >= self.floor)
        group = group[kept]
        job = job[kept]
        members = np.concatenate([partial.members[:, group], job[None]])
        used = partial.used[group] | (1 << offset)
        last = np.full(len(group), offset)
        grown = (part[..., kept] for part in (busiest, total, cost, time, value))
        return _Partial(members, last, used, *grown)


def _joined(parts: Iterable[Positions]) -> Iterator[Positions]:
    """Yield the groups of several arrays, size x groups, in fewer arrays."""
    waiting: dict[int, list[Positions]] = {}
    for part in parts:
        same = waiting.setdefault(len(part), [])
        same.append(part)
        if sum(map(np.size, same)) > _BLOCK:
            yield np.concatenate(waiting.pop(len(part)), axis=1)
    for same in waiting.values():
        yield np.concatenate(same, axis=1)


def _in_units(stages: Sequence[Sequence[Number]]) -> list[list[int]]:
    """Return stages as multiples of the largest number of which all are multiples."""
    unit = granularity(s for row in stages for s in row)
    return [[int(s / unit) for s in row] for row in stages]


def _array(values: Sequence[Any]) -> Ints:
    """Return integers as an array, of 64 bits if sums of thirty of them fit."""
    array = np.array(values, dtype=object)
    small = all(abs(v) < _SMALL for v in array.flat)
    return array.astype(np.int64) if small else array


def _divided_up(values: Ints, by: Ints) -> Ints:
    return -(-values // by)
