"""Columns of the master: its rows, classes of profiles, groups of them, and what these cost.

Jobs of one profile are interchangeable, so a column is a multiset of profiles and the master has a
row for each profile. With distinct jobs these are the jobs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dlsched.problems.interleaving.definition.schema import Instance, Profile
from dlsched.problems.interleaving.structures.groups import Flags, Indices, Vector
from dlsched.problems.interleaving.structures.tables import Profiles


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


def apart_among(apart: Flags, kept: Indices) -> Flags:
    """Return which of some rows must not share; none are known if there are no rows at all."""
    return np.ascontiguousarray(apart[np.ix_(kept, kept)]) if len(apart) else apart


@dataclass(frozen=True)
class ProfileClass:
    """The profiles of one number of GPUs, by descending sum of their stages.

    ``rows`` are their rows in the master, ``profiles`` what pricing has of them, at prices of 0.
    The number of groups is from ``fewest`` to ``most``.
    """

    gpus: int
    rows: Indices
    fewest: int
    most: int
    profiles: Profiles

    def subset(self, multiplicity: Indices) -> ProfileClass:
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

    members: Indices
    worth: Vector
    class_of: Indices

    def __len__(self) -> int:
        """Number of groups."""
        return len(self.worth)

    def __getitem__(self, chosen: Indices | Flags) -> Groups:
        """Return some of the groups."""
        return Groups(self.members[chosen], self.worth[chosen], self.class_of[chosen])

    def identities(self) -> list[bytes]:
        """Return what identifies each group, whatever the order of its members."""
        return [row.tobytes() for row in np.sort(self.members, axis=1)]

    def without(self, known: set[bytes]) -> Groups:
        """Return the groups whose identities are not known."""
        return self[np.array([key not in known for key in self.identities()], dtype=bool)]

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

    rows: Vector
    gpu: float

    def of(self, members: Indices) -> Vector:
        """Return the price of each group's jobs."""
        with_none = np.append(self.rows, 0.0)
        cost: Vector = with_none[members].sum(axis=1)
        return cost


class Priced(NamedTuple):
    """Groups above the threshold, and for each class an upper bound on reduced values.

    ``complete``: these are all groups above the threshold, except for the quota.
    """

    groups: Groups
    highest: Vector
    complete: bool
