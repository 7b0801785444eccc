"""The pool of column generation: the exact search for groups by price, and a safe bound."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np

from dlsched.problems.interleaving.definition.schema import Instance
from dlsched.problems.interleaving.kernels.pricing import price_class
from dlsched.problems.interleaving.programs.columns import (
    Groups,
    Priced,
    Prices,
    ProfileClass,
    Profiles,
    Query,
    apart_among,
    growth_tables,
    rows_of,
)
from dlsched.problems.interleaving.programs.tunables import TUNABLES
from dlsched.problems.interleaving.structures.groups import (
    GAMMA_ERROR,
    REDUCED_ERROR,
    padded,
    padded_efficiencies,
    profile_array,
    profile_groups,
    trivial_bound,
)
from dlsched.run import Run
from dlsched.solvers.arrays import Flags, Floats, Ints


class GroupPool:
    """The instance's classes of profiles, and the exact search for groups by price.

    Parameters
    ----------
    listed
        Whether all groups are listed, where these are few; they are then looked up, not searched.
    apart
        Jobs x jobs: whether two must not share. Jobs of a profile for which this differs have rows
        of their own. A group with such a pair is never priced, and costs `penalty` where it is
        given, so that a search can begin from groups that are not allowed; a grouping of allowed
        groups is worth more than 0, any other one less.
    """

    def __init__(
        self, instance: Instance, listed: bool = False, apart: Flags | None = None
    ) -> None:
        self.instance = instance
        self.largest = instance.group_limit
        self.smallest = instance.smallest_group
        self.budget = instance.gpu_budget
        rows = rows_of(instance, apart)
        self.profiles = [row.profile for row in rows]
        self.stages = profile_array(instance)[[row.number for row in rows]]
        self.full_efficiency = trivial_bound(instance)
        self.penalty = TUNABLES.penalty * float(1 + self.full_efficiency)
        jobs = [row.jobs for row in rows]
        self.jobs_of_row = jobs
        self.apart = np.zeros((0, 0), dtype=np.bool_)
        if apart is not None:
            first = [members[0] for members in jobs]
            self.apart = apart[np.ix_(first, first)]
            for row, members in enumerate(jobs):
                self.apart[row, row] = len(members) > 1 and apart[members[0], members[1]]
        self.multiplicity = np.array(list(map(len, jobs)), dtype=np.int64)
        self.row_of = {j: row for row, members in enumerate(jobs) for j in members}
        self.classes = list(self._classes())
        self.class_gpus = np.array([part.gpus for part in self.classes], dtype=np.int64)
        self.class_weights = np.array([part.profiles.weight for part in self.classes])
        self.class_of = np.empty(len(self.profiles), dtype=np.int64)
        for c, part in enumerate(self.classes):
            self.class_of[part.rows] = c
        self.listed = self.enumeration() if listed else None

    def _classes(self) -> Iterator[ProfileClass]:
        k = len(self.instance.resources)
        for gpus, jobs in self.instance.classes.items():
            same = [i for i, p in enumerate(self.profiles) if p.gpus == gpus]
            same.sort(key=lambda i: -sum(self.profiles[i].stages))
            rows = np.array(same, dtype=np.int64)
            stages = self.stages[rows]
            fewest = -(-len(jobs) // self.largest)
            most = fewest if self.smallest == self.largest else len(jobs)
            profiles = Profiles(
                rotated=np.stack([np.roll(stages, -o, axis=1) for o in range(k)]),
                sums=stages.sum(axis=1),
                prices=np.zeros(len(rows)),
                multiplicity=self.multiplicity[rows],
                weight=float(self.instance.weight(gpus)),
                fixed=0.0,
                smallest=self.smallest,
                largest=self.largest,
                apart=apart_among(self.apart, rows),
            )
            yield ProfileClass(gpus, rows, fewest, most, profiles)

    def enumeration(self) -> Groups:
        """Return all groups."""
        parts = [self.groups([])]
        for members in profile_groups(self.instance):
            missing = ((0, 0), (0, self.largest - members.shape[1]))
            parts.append(self.groups_of_rows(np.pad(members, missing, constant_values=-1)))
        return Groups.concatenate(parts)

    def gpus(self, groups: Groups) -> Ints:
        """Return the GPUs of each group."""
        return np.take(self.class_gpus, groups.class_of)

    def reduced(self, prices: Prices, groups: Groups) -> Floats:
        """Return what each group is worth beyond the prices of its jobs and GPUs."""
        return groups.worth - prices.of(groups.members) - prices.gpu * self.gpus(groups)

    def groups(self, groups: Sequence[Sequence[int]]) -> Groups:
        """Return groups given by their profiles' rows."""
        return self.groups_of_rows(padded(groups, self.largest))

    def groups_of_rows(self, members: Ints) -> Groups:
        """Return groups given as an array of rows, groups x largest, with -1 after the last."""
        classes = self.class_of[members[:, 0]]
        worth = padded_efficiencies(self.stages, members) * self.class_weights[classes]
        if len(self.apart):
            worth -= self.penalty * self.pairs_apart(members)
        return Groups(members, worth, classes)

    def pairs_apart(self, members: Ints) -> Ints:
        """Return how many pairs of each group must not share; groups as in `groups_of_rows`."""
        count = np.zeros(len(members), dtype=np.int64)
        for i, j in combinations(range(members.shape[1]), 2):
            both = (members[:, i] >= 0) & (members[:, j] >= 0)
            count += both & self.apart[members[:, i], members[:, j]]
        return count

    def groups_of_jobs(self, groups: Iterable[Iterable[int]]) -> Groups:
        """Return groups given by their jobs' positions in the instance."""
        return self.groups([[self.row_of[j] for j in group] for group in groups])

    def singles(self) -> Groups:
        """Return every group of one job; none if groups are uniform and larger.

        With them as columns the master is feasible for any number of jobs.
        """
        rows = np.flatnonzero(self.multiplicity).tolist() if self.smallest == 1 else []
        return self.groups([[row] for row in rows])

    def price(
        self, prices: Prices, query: Query, run: Run, which: Sequence[int] = ()
    ) -> Priced | None:
        """Return the groups whose worth exceeds the prices of jobs and GPUs by a threshold.

        Of listed groups these are the best `capacity`, whatever the quota.

        Parameters
        ----------
        run
            Its limits are checked now and then; if one strikes, the return is ``None``.
        which
            Classes to search; all by default.
        """
        if self.listed is not None:
            return self._look_up(self.listed, prices, query, which)
        groups = [self.groups([])]
        highest = np.full(len(self.classes), query.threshold)
        complete = True
        for c in which or range(len(self.classes)):
            if len(self.classes[c].rows):
                priced = self._price_class(c, prices, query, run)
                if priced is None:
                    return None
                groups.append(priced.groups)
                highest[c] = priced.highest
                complete = complete and priced.complete
        return Priced(Groups.join(groups), highest, complete)

    def _look_up(
        self, groups: Groups, prices: Prices, query: Query, which: Sequence[int]
    ) -> Priced:
        value = self.reduced(prices, groups)
        if which:
            value[~np.isin(groups.class_of, which)] = -np.inf
        highest = np.full(len(self.classes), query.threshold)
        np.maximum.at(highest, groups.class_of, value)
        above = np.flatnonzero(value > query.threshold)
        complete = len(above) <= query.capacity
        if not complete:
            above = above[np.argpartition(-value[above], query.capacity)[: query.capacity]]
        return Priced(groups[above], highest, complete)

    def _price_class(self, c: int, prices: Prices, query: Query, run: Run) -> Priced | None:
        part = self.classes[c]
        profiles = part.at(prices)
        tables = growth_tables(profiles)
        n = len(part.rows)
        members = np.empty((query.capacity, self.largest), dtype=np.int64)
        values = np.empty(query.capacity)
        stored = 0
        complete = True
        highest = query.threshold
        step = max(1, TUNABLES.pairs_at_once // (n * n))
        for first in range(0, n, step):
            if run.stop_reason():
                return None
            last = min(first + step, n)
            count, best = price_class(
                first, last, tables, profiles, query, members[stored:], values[stored:]
            )
            complete = complete and count <= query.capacity - stored
            stored = min(query.capacity, stored + count)
            highest = max(highest, best)
            if query.listing and not complete:
                break
        members = members[:stored]
        rows = np.where(members >= 0, part.rows[members], -1)
        worth = values[:stored] + prices.of(rows) + profiles.fixed
        classes = np.full(stored, c, dtype=np.int64)
        return Priced(Groups(rows, worth, classes), np.array(highest), complete)

    def restricted(self, multiplicity: Ints, budget: int | None) -> GroupPool:
        """Return the pool of other numbers of jobs of each profile, and another budget.

        It searches: to list all groups would take longer.
        """
        sub = copy.copy(self)
        sub.listed = None
        sub.multiplicity = multiplicity
        sub.budget = budget
        sub.classes = [part.subset(multiplicity) for part in self.classes]
        return sub

    def without_excess(self, prices: Prices, highest: Floats) -> Prices:
        """Return prices of the same bound at which no group's reduced value is above 0."""
        rows = prices.rows.copy()
        for part, value in zip(self.classes, highest.tolist(), strict=True):
            if self.smallest == self.largest:
                rows[part.rows] += value / self.largest
            elif value > 0:
                rows[part.rows] += value
        return Prices(rows, prices.gpu)

    def rounding(self, part: ProfileClass, prices: Prices) -> float:
        """Return the largest rounding error of a reduced value of a class."""
        of_job = np.abs(prices.rows[part.rows]).max(initial=0.0)
        largest = float(of_job + prices.gpu * part.gpus)
        return REDUCED_ERROR * (part.profiles.weight * (1 + 2 * GAMMA_ERROR) + largest)

    def bound(self, prices: Prices, highest: Floats) -> Fraction:
        """Return an upper bound on every grouping (Lagrangian duality), rounding included.

        Every job is in one group, so a grouping is worth the prices of its jobs and GPUs plus the
        sum of its groups' reduced values, none of which exceeds its class's `highest`. The number
        of groups of a class is known (uniform) or within limits. The sum is exact; `highest` is
        raised by its largest rounding error. The result is at most `groups.trivial_bound`.
        """
        return min(self.lagrangian(prices, highest), self.full_efficiency)

    def lagrangian(self, prices: Prices, highest: Floats) -> Fraction:
        """Return the bound of `bound`, however large.

        Only of this one it is true that a grouping with a group whose reduced value is less than
        its class's `highest` by some amount is below the bound by as much.
        """
        total = Fraction(prices.gpu) * (self.budget or 0)
        for price, jobs in zip(prices.rows.tolist(), self.multiplicity.tolist(), strict=True):
            total += Fraction(price) * jobs
        for part, value in zip(self.classes, highest.tolist(), strict=True):
            most = Fraction(value) + Fraction(self.rounding(part, prices))
            total += most * (part.most if most > 0 else part.fewest)
        return total
