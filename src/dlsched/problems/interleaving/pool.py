"""What column generation works on: classes of profiles, groups of them, and a safe bound.

Jobs of one profile are interchangeable, so a column is a multiset of profiles and the master has a
row for each profile. With distinct jobs these are the jobs.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dlsched.problems.interleaving.groups import (
    GAMMA_ERROR,
    Flags,
    Indices,
    Vector,
    efficiencies,
    profile_array,
    profile_groups,
    smallest_size,
    trivial_bound,
)
from dlsched.problems.interleaving.pricing import REDUCED_ERROR, price_class, tables
from dlsched.problems.interleaving.schema import Instance
from dlsched.run import Run

_STEP = 20_000_000
"""Between two looks at the clock, about so many pairs of jobs are extended."""


@dataclass(frozen=True)
class Part:
    """The profiles of one class, by descending sum of their stages.

    ``rows`` are their rows in the master; ``turned`` is k x profiles x k, see `pricing`.
    """

    gpus: int
    weight: int
    rows: Indices
    many: Indices
    sums: Vector
    turned: Vector
    fewest: int
    most: int

    @property
    def stages(self) -> Vector:
        """Profiles x resources."""
        first: Vector = self.turned[0]
        return first


@dataclass(frozen=True)
class Groups:
    """Columns: rows of each (groups x largest, -1 where smaller), worth, and class."""

    members: Indices
    worth: Vector
    part: Indices

    def __len__(self) -> int:
        """Number of groups."""
        return len(self.worth)

    def __getitem__(self, at: Indices | Flags | slice) -> Groups:
        """Return some of the groups."""
        return Groups(self.members[at], self.worth[at], self.part[at])

    @classmethod
    def join(cls, parts: Sequence[Groups]) -> Groups:
        """Return the groups of several; of one met twice, in two arrangements, the better."""
        both = cls.concatenate(parts)
        by_worth = np.argsort(-both.worth, kind="stable")
        rows = np.sort(both.members, axis=1)[by_worth]
        _, first = np.unique(rows, axis=0, return_index=True)
        return both[np.sort(by_worth[first])]

    @classmethod
    def concatenate(cls, parts: Sequence[Groups]) -> Groups:
        """Return the groups of several, one after the other."""
        return cls(
            np.concatenate([g.members for g in parts]),
            np.concatenate([g.worth for g in parts]),
            np.concatenate([g.part for g in parts]),
        )


@dataclass(frozen=True)
class Prices:
    """What a job of each profile costs, and a GPU of the budget; any numbers give a bound."""

    rows: Vector
    gpu: float

    def limited(self) -> Prices:
        """Return the prices cut off at 2**100 and -2**100, whose sums are far from overflowing.

        Beyond that no double resolves an efficiency, and the bound is no better for it.
        """
        most = 2.0**100
        return Prices(np.clip(self.rows, -most, most), min(self.gpu, most))

    def of(self, members: Indices) -> Vector:
        """Return what the jobs of each group cost."""
        padded = np.append(self.rows, 0.0)
        cost: Vector = padded[members].sum(axis=1)
        return cost

    def towards(self, other: Prices, share: float) -> Prices:
        """Return the prices this far on the way to others."""
        rows = self.rows + share * (other.rows - self.rows)
        return Prices(rows, self.gpu + share * (other.gpu - self.gpu))


@dataclass(frozen=True)
class Answer:
    """Groups above the threshold, and for each class a value that no group's exceeds."""

    groups: Groups
    highest: Vector
    complete: bool


class Pool:
    """The instance as parts, and the exact search for groups by price."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.largest, self.smallest = instance.group_limit, smallest_size(instance)
        self.budget = instance.gpu_budget
        self.profiles = list(instance.profiles)
        self.stages = profile_array(instance)
        self.most_at_all = trivial_bound(instance)
        self.many = np.array([len(jobs) for jobs in instance.profiles.values()], dtype=np.int64)
        self.parts = list(self._parts())
        self.part_of = np.empty(len(self.profiles), dtype=np.int64)
        for g, part in enumerate(self.parts):
            self.part_of[part.rows] = g

    def _parts(self) -> Iterator[Part]:
        k = len(self.instance.resources)
        for gpus, jobs in self.instance.classes.items():
            rows = [i for i, p in enumerate(self.profiles) if p.gpus == gpus]
            rows.sort(key=lambda i: -sum(self.profiles[i].stages))
            stages = self.stages[rows]
            fewest = -(-len(jobs) // self.largest)
            yield Part(
                gpus=gpus,
                weight=self.instance.weight(gpus),
                rows=np.array(rows, dtype=np.int64),
                many=self.many[rows],
                sums=stages.sum(axis=1),
                turned=np.stack([np.roll(stages, -o, axis=1) for o in range(k)]),
                fewest=fewest,
                most=fewest if self.smallest == self.largest else len(jobs),
            )

    def gpus(self, groups: Groups) -> Indices:
        """Return the GPUs of each group."""
        each = np.array([part.gpus for part in self.parts], dtype=np.int64)
        taken: Indices = each[groups.part]
        return taken

    def groups(self, rows: Sequence[Sequence[int]]) -> Groups:
        """Return groups given by their profiles' rows."""
        members = np.full((len(rows), self.largest), -1, dtype=np.int64)
        for i, row in enumerate(rows):
            members[i, : len(row)] = row
        part = self.part_of[members[:, 0]]
        return Groups(members, self.worth(members, part), part)

    def worth(self, members: Indices, part: Indices) -> Vector:
        """Return what each group adds to the objective."""
        sizes = (members >= 0).sum(axis=1)
        worth = np.zeros(len(members))
        for size in np.unique(sizes).tolist():
            at = sizes == size
            worth[at] = efficiencies(self.stages, members[at][:, :size])
        weights = np.array([p.weight for p in self.parts], dtype=float)
        weighed: Vector = worth * weights[part]
        return weighed

    def singles(self) -> Groups:
        """Return every group of one profile's jobs: with them, any number of jobs can be grouped.

        Uniform groups cannot be so small; then the return is empty.
        """
        rows = [[p] for p in range(len(self.profiles))] if self.smallest == 1 else []
        return self.groups(rows)

    def price(
        self,
        prices: Prices,
        threshold: float,
        quota: int,
        capacity: int,
        run: Run,
        which: Sequence[int] = (),
        listing: bool = False,
    ) -> Answer | None:
        """Return the groups whose worth exceeds the prices of jobs and GPUs by a threshold.

        Parameters
        ----------
        threshold
            Reduced values at or below it are of no interest.
        quota
            Most groups to return with the same largest profile.
        capacity
            Most groups of a class; if there are more, the answer is not complete.
        run
            Asked now and then whether to stop; then there is no answer.
        which
            Classes to search; all by default.
        listing
            Whether only a complete list is of use: else the search goes on, for `highest`.
        """
        found: list[Groups] = [self.groups([])]
        highest = np.full(len(self.parts), threshold)
        complete = True
        for g in which or range(len(self.parts)):
            if not len(self.parts[g].rows):
                continue
            priced = self._price_part(g, prices, threshold, quota, capacity, run, listing)
            if priced is None:
                return None
            groups, highest[g], all_stored = priced
            found.append(groups)
            complete = complete and all_stored
        return Answer(Groups.join(found), highest, complete)

    def _price_part(
        self,
        g: int,
        prices: Prices,
        threshold: float,
        quota: int,
        capacity: int,
        run: Run,
        listing: bool,
    ) -> tuple[Groups, float, bool] | None:
        part = self.parts[g]
        own = np.ascontiguousarray(prices.rows[part.rows])
        k, n = part.turned.shape[:2]
        weight, fixed = float(part.weight), prices.gpu * part.gpus
        known = tables(part.sums, own, weight, k, self.largest)
        members = np.empty((capacity, self.largest), dtype=np.int64)
        values = np.empty(capacity)
        stored, complete, highest = 0, True, threshold
        step = max(1, _STEP // (n * n))
        for first in range(0, n, step):
            if run.stop_reason():
                return None
            count, best = price_class(
                first,
                min(first + step, n),
                *known,
                part.turned,
                part.sums,
                own,
                part.many,
                weight,
                fixed,
                self.smallest,
                self.largest,
                threshold,
                quota,
                listing,
                members[stored:],
                values[stored:],
            )
            complete = complete and count <= capacity - stored
            stored = min(capacity, stored + count)
            highest = max(highest, best)
            if listing and not complete:
                break
        members, values = members[:stored], values[:stored]
        rows = np.where(members >= 0, part.rows[members], -1)
        worth = values + prices.of(rows) + fixed
        return Groups(rows, worth, np.full(stored, g, dtype=np.int64)), highest, complete

    def restricted(self, many: Indices, budget: int | None) -> Pool:
        """Return the pool of so many jobs of each profile, within a budget of their own."""
        sub = copy.copy(self)
        sub.__class__ = Pool  # looking through all groups would take longer than searching
        sub.many, sub.budget = many, budget
        sub.parts = []
        for part in self.parts:
            kept = np.flatnonzero(many[part.rows])
            sub.parts.append(
                replace(
                    part,
                    rows=part.rows[kept],
                    many=many[part.rows[kept]],
                    sums=part.sums[kept],
                    turned=np.ascontiguousarray(part.turned[:, kept]),
                )
            )
        return sub

    def centred(self, prices: Prices, highest: Vector) -> Prices:
        """Return prices of the same bound at which no group's reduced value is above 0."""
        rows = prices.rows.copy()
        for part, value in zip(self.parts, highest.tolist(), strict=True):
            if self.smallest == self.largest:
                rows[part.rows] += value / self.largest
            elif value > 0:
                rows[part.rows] += value
        return Prices(rows, prices.gpu)

    def bound(self, prices: Prices, highest: Vector) -> Fraction:
        """Return a value that no grouping exceeds (Lagrangian duality), rounding included.

        Every job is in one group, so a grouping is worth what its jobs and GPUs cost plus the sum
        of its groups' reduced values, none of which exceeds its class's `highest`. The number of
        groups of a class is known (uniform) or within limits. The sum is exact; `highest` is
        raised by what it may be off by. Poor prices prove less than `groups.trivial_bound` does.
        """
        gpu = Fraction(prices.gpu)
        total = Fraction(0) if self.budget is None else gpu * self.budget
        for price, many in zip(prices.rows.tolist(), self.many.tolist(), strict=True):
            total += Fraction(price) * many
        for part, value in zip(self.parts, highest.tolist(), strict=True):
            scale = part.weight * (1 + 2 * GAMMA_ERROR) + float(
                np.abs(prices.rows[part.rows]).max() + prices.gpu * part.gpus
            )
            most = Fraction(value) + Fraction(REDUCED_ERROR * scale)
            total += most * (part.most if most > 0 else part.fewest)
        return min(total, self.most_at_all)


class Enumerated(Pool):
    """The same search by looking through all groups, where these are few."""

    def __init__(self, instance: Instance) -> None:
        super().__init__(instance)
        parts = []
        classes = {part.gpus: g for g, part in enumerate(self.parts)}
        for columns in profile_groups(instance):
            members = np.full((len(columns.gamma), self.largest), -1, dtype=np.int64)
            members[:, : columns.members.shape[1]] = columns.members
            part = np.full(len(members), classes[columns.gpus], dtype=np.int64)
            parts.append(Groups(members, columns.gamma * instance.weight(columns.gpus), part))
        self.all = Groups(
            np.concatenate([g.members for g in parts]),
            np.concatenate([g.worth for g in parts]),
            np.concatenate([g.part for g in parts]),
        )

    def price(
        self,
        prices: Prices,
        threshold: float,
        quota: int,
        capacity: int,
        run: Run,
        which: Sequence[int] = (),
        listing: bool = False,
    ) -> Answer | None:
        """Return the same as `Pool.price`, but the best `capacity` groups, whatever the quota."""
        value = self.all.worth - prices.of(self.all.members) - prices.gpu * self.gpus(self.all)
        if which:
            value[~np.isin(self.all.part, which)] = -np.inf
        highest = np.full(len(self.parts), threshold)
        np.maximum.at(highest, self.all.part, value)
        at = np.flatnonzero(value > threshold)
        complete = len(at) <= capacity
        if not complete:
            at = at[np.argpartition(-value[at], capacity)[:capacity]]
        return Answer(self.all[at], highest, complete)
