"""Columns of the master: rows, classes of profiles, groups, prices, and what pricing is given.

Jobs of one profile are interchangeable, so a column is a multiset of profiles and the master has a
row for each profile. With distinct jobs these are the jobs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dlsched.problems.interleaving.definition.schema import Instance, Profile
from dlsched.problems.interleaving.kernels.pricing import STEPS_PER_DOUBLING
from dlsched.solvers.arrays import Flags, Floats, Ints

TIME_STEPS = 20 * STEPS_PER_DOUBLING
"""Iteration times in the tables; longer times are rounded down to the last."""


class GrowthTables(NamedTuple):
    """The most that jobs add to a group's reduced value, by iteration time.

    ``suffix[p, t]`` is the most that a profile from position p on adds at the t-th time;
    ``order[t]`` has the positions by what they add, largest first, ``adds[t]`` how much; `low` is
    the first time.
    """

    suffix: Floats
    order: Ints
    adds: Floats
    low: float


class Profiles(NamedTuple):
    """The profiles of one class, by descending sum of their stages.

    ``rotated[o, p, j]`` is the stage of profile p in step j if it starts at offset o. A group is
    worth weight * gamma - fixed less its jobs' prices. Jobs of profiles p and q must not share if
    ``apart[p, q]``; without rows any may.
    """

    rotated: Floats
    sums: Floats
    prices: Floats
    multiplicity: Ints
    weight: float
    fixed: float
    smallest: int
    largest: int
    apart: Flags


class Query(NamedTuple):
    """Which groups to return.

    Attributes
    ----------
    threshold
        Groups with a reduced value at or below it are not returned.
    quota
        Most groups to return with the same first profile, the best of them.
    capacity
        Most groups of a class; if there are more, the result is not complete.
    listing
        Whether only a complete list is of use: the search ends when the capacity is exceeded, and
        the largest reduced value is then unknown.
    """

    threshold: float
    quota: int
    capacity: int
    listing: bool = False


def growth_tables(profiles: Profiles) -> GrowthTables:
    """Return what jobs add at most, for the iteration times from the least to the largest."""
    sums = profiles.sums
    n = len(profiles.sums)
    k = len(profiles.rotated)
    low = float(sums[-1]) * (1 - 1e-12)
    step = np.arange(TIME_STEPS)
    # Even steps within a doubling, as in a float's bits: a logarithm would take most of the search.
    steps = 1 + (step % STEPS_PER_DOUBLING) / STEPS_PER_DOUBLING
    times = low * 2.0 ** (step // STEPS_PER_DOUBLING) * steps
    times = times[: np.searchsorted(times, profiles.largest * sums[0], side="right")]
    # Dividing the larger by the smaller could overflow where times lie far apart.
    rows = times[:, None]
    share = np.minimum(sums, rows) / rows * (1 + 1e-12)
    add = profiles.weight / k * share - profiles.prices
    suffix = np.full((n + 1, len(times)), -np.inf)
    from_last = np.maximum.accumulate(add[:, ::-1], axis=1)
    suffix[:n] = from_last[:, ::-1].T
    order = np.argsort(-add, axis=1, kind="stable")
    return GrowthTables(suffix, order, np.take_along_axis(add, order, axis=1), low)


class Row(NamedTuple):
    """A row of the master: a profile, its position in the instance's, and jobs of it.

    The jobs are interchangeable: the same jobs must not share with them.
    """

    profile: Profile
    number: int
    jobs: tuple[int, ...]


def rows_of(instance: Instance, apart: Flags | None) -> list[Row]:
    """Return the rows of the master; with pairs that must not share profiles are divided.

    Jobs are interchangeable if all others must not share with the same of them: with each other
    they then either all must not share, or all may.
    """
    rows = []
    for number, (profile, jobs) in enumerate(instance.profiles.items()):
        parts = [jobs] if apart is None else _interchangeable(apart, jobs)
        rows += [Row(profile, number, part) for part in parts]
    return rows


def _interchangeable(apart: Flags, jobs: Sequence[int]) -> Iterator[tuple[int, ...]]:
    alike: dict[bytes, list[int]] = {}
    for j in jobs:
        alike.setdefault(apart[j].tobytes(), []).append(j)
    alone = [members[0] for members in alike.values() if len(members) == 1]
    yield from (tuple(members) for members in alike.values() if len(members) > 1)
    alike = {}
    for j in alone:  # those that must not share with each other have equal rows but for themselves
        row = apart[j].copy()
        row[j] = True
        alike.setdefault(row.tobytes(), []).append(j)
    yield from map(tuple, alike.values())


def apart_among(apart: Flags, kept: Ints) -> Flags:
    """Return which of some rows must not share; none are known if there are no rows at all."""
    return np.ascontiguousarray(apart[np.ix_(kept, kept)]) if len(apart) else apart


@dataclass(frozen=True)
class ProfileClass:
    """The profiles of one number of GPUs, by descending sum of their stages.

    ``rows`` are their rows in the master, ``profiles`` what pricing has of them, at prices of 0.
    The number of groups is from ``fewest`` to ``most``.
    """

    gpus: int
    rows: Ints
    fewest: int
    most: int
    profiles: Profiles

    def subset(self, multiplicity: Ints) -> ProfileClass:
        """Return the profiles that have jobs, with other numbers of jobs; by row."""
        kept = np.flatnonzero(multiplicity[self.rows])
        rows = self.rows[kept]
        profiles = self.profiles._replace(
            rotated=np.ascontiguousarray(self.profiles.rotated[:, kept]),
            sums=self.profiles.sums[kept],
            multiplicity=multiplicity[rows],
            apart=apart_among(self.profiles.apart, kept),
        )
        return replace(self, rows=rows, profiles=profiles)

    def at(self, prices: Prices) -> Profiles:
        """Return the profiles with their prices, for the compiled search."""
        rows = np.ascontiguousarray(prices.rows[self.rows])
        return self.profiles._replace(prices=rows, fixed=float(prices.gpu * self.gpus))


@dataclass(frozen=True)
class Groups:
    """Groups of jobs, one per column of the master program.

    Attributes
    ----------
    members
        Groups x largest: the rows of their jobs' profiles, filled up with -1.
    worth
        What each adds to the objective.
    class_of
        Positions of their classes in `GroupPool.classes`.
    """

    members: Ints
    worth: Floats
    class_of: Ints

    def __len__(self) -> int:
        """Number of groups."""
        return len(self.worth)

    def __getitem__(self, chosen: Ints | Flags) -> Groups:
        """Return some of the groups."""
        return Groups(self.members[chosen], self.worth[chosen], self.class_of[chosen])

    def identities(self) -> list[bytes]:
        """Return what identifies each group, whatever the order of its members."""
        return [row.tobytes() for row in np.sort(self.members, axis=1)]

    def without(self, known: set[bytes]) -> Groups:
        """Return the groups whose identities are not known."""
        return self[np.array([key not in known for key in self.identities()], dtype=bool)]

    def often_in(self, chosen: Groups) -> Floats:
        """Return how often each of these groups is among others, which are all of these."""
        place = {key: i for i, key in enumerate(self.identities())}
        places = [place[key] for key in chosen.identities()]
        return np.bincount(places, minlength=len(self)).astype(float)

    @classmethod
    def join(cls, parts: Iterable[Groups]) -> Groups:
        """Return the distinct groups of several; of two arrangements of one group the better."""
        both = cls.concatenate(parts)
        by_worth = np.argsort(-both.worth, kind="stable")
        rows = np.sort(both.members, axis=1)[by_worth]
        _, first = np.unique(rows, axis=0, return_index=True)
        return both[np.sort(by_worth[first])]

    @classmethod
    def concatenate(cls, parts: Iterable[Groups]) -> Groups:
        """Return the groups of several, one after the other."""
        groups = list(parts)
        return cls(
            members=np.concatenate([part.members for part in groups]),
            worth=np.concatenate([part.worth for part in groups]),
            class_of=np.concatenate([part.class_of for part in groups]),
        )


@dataclass(frozen=True)
class Prices:
    """The price of a job of each profile, and of a GPU of the budget; any numbers give a bound."""

    rows: Floats
    gpu: float

    def of(self, members: Ints) -> Floats:
        """Return the price of each group's jobs."""
        with_none = np.append(self.rows, 0.0)
        cost: Floats = with_none[members].sum(axis=1)
        return cost


class Priced(NamedTuple):
    """Groups above the threshold, and for each class an upper bound on reduced values.

    ``complete``: these are all groups above the threshold, except for the quota.
    """

    groups: Groups
    highest: Floats
    complete: bool
