"""Many groups at once, in floating point: least iteration times, efficiencies, enumeration.

Every stage is the double nearest to the instance's decimal, and gamma is computed from at most
k * k of them by additions, maxima and one division; see `GAMMA_ERROR`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations, combinations_with_replacement
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.interleaving.definition.schema import Group, Instance, Solution
from dlsched.problems.interleaving.structures.offsets import arrangements, best_offsets
from dlsched.schema import Number

Vector: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]

GAMMA_ERROR = 2.0**-44
"""Largest error of an efficiency computed here.

With u = 2**-53: a stage is off by u relatively; a sum of up to k * k = 64 non-negative numbers adds
at most 63 u, the least time (a sum of k maxima) at most 8 u, product and quotient 3 u. Together
that is below 80 u < 2**-46 relatively, and gamma is at most 1.
"""
REDUCED_ERROR = 2.0**-40
"""Largest error of a reduced value, relative to the class's weight plus its largest price.

To the error of the efficiency, up to 8 prices and a GPU price are subtracted, each with a rounding
error of 2**-52 of a partial sum that is at most 9 times the largest of them.
"""
_CHUNK = 1 << 18
_TINY, _UNIT = Fraction(1, 10**290), 2**900
"""In units of 2**-900, times from 5e-324 to 1e15, an instance's range, are 2**-175 to 2**950."""


@cache
def offsets_table(k: int, size: int) -> Indices:
    """Return the arrangements of a group as rows, in the order of `offsets.arrangements`."""
    return np.array(list(arrangements(k, size)), dtype=np.int64)


def stage_array(instance: Instance) -> Vector:
    """Return the stages as an array, jobs x resources; times below 1e-290 change the unit."""
    return _in_doubles([job.stages for job in instance.jobs], len(instance.resources))


def profile_array(instance: Instance) -> Vector:
    """Return the stages of the profiles, in the same way."""
    return _in_doubles([p.stages for p in instance.profiles], len(instance.resources))


def _in_doubles(stages: Sequence[Sequence[Number]], k: int) -> Vector:
    """Return the stages as doubles, in a unit in which none of them is subnormal.

    Efficiencies do not depend on the unit. Subnormal doubles have few digits, down to one.
    """
    low = min((s for row in stages for s in row if s), default=Fraction(1))
    unit = 1 if low > _TINY else _UNIT
    rows = [[float(s * unit) for s in row] for row in stages]
    return np.array(rows, dtype=float).reshape(len(rows), k)


def least_times(stages: Vector, members: Indices) -> Vector:
    """Return the least iteration time over all arrangements of each group.

    Parameters
    ----------
    stages
        Jobs (or profiles) x resources.
    members
        Groups x size: positions in `stages`.
    """
    count, size = members.shape
    k = stages.shape[1]
    times = np.full(count, np.inf)
    for offsets in offsets_table(k, size):
        busiest = stages[members[:, 0]]
        for column, offset in zip(members.T[1:], offsets[1:].tolist(), strict=True):
            busiest = np.maximum(busiest, np.roll(stages, -offset, axis=1)[column])
        np.minimum(times, busiest.sum(axis=1), out=times)
    return times


def efficiencies(stages: Vector, members: Indices) -> Vector:
    """Return the largest gamma of each group, within `GAMMA_ERROR`."""
    filled = stages[members].sum(axis=(1, 2))
    result: Vector = filled / (stages.shape[1] * least_times(stages, members))
    return result


def pair_efficiencies(stages: Vector) -> Vector:
    """Return gamma of every pair, n x n and symmetric; the diagonal is 0.

    A shift by d of one job is a shift by k - d of the other, so half of the shifts suffice.
    """
    n, k = stages.shape
    times = np.full((n, n), np.inf)
    for d in range(1, k // 2 + 1):
        rotated = np.roll(stages, -d, axis=1)
        slot = np.zeros((n, n))
        for r in range(k):
            slot += np.maximum(stages[:, r, None], rotated[None, :, r])
        np.minimum(times, slot, out=times)
        np.minimum(times, slot.T, out=times)
    filled = stages.sum(axis=1)
    gammas: Vector = (filled[:, None] + filled[None, :]) / (k * times)
    np.fill_diagonal(gammas, 0.0)
    return gammas


@dataclass(frozen=True)
class Columns:
    """Groups of one class and size: members (groups x size) and their efficiencies."""

    gpus: int
    members: Indices
    gamma: Vector


def trivial_bound(instance: Instance) -> Fraction:
    """Return an upper bound on every grouping: size / k in place of each group's gamma.

    A group's iteration takes at least the mean of its jobs' stage sums, so its efficiency is at
    most size / k, and the groups of a class of n jobs add up to at most n / k.
    """
    k = len(instance.resources)
    jobs = sum(instance.weight(gpus) * len(jobs) for gpus, jobs in instance.classes.items())
    return Fraction(jobs, k)


def job_groups(instance: Instance) -> Iterator[Columns]:
    """Yield every allowed group of jobs, by class and size."""
    stages = stage_array(instance)
    for gpus, jobs in instance.classes.items():
        for size in range(instance.smallest_group, instance.group_limit + 1):
            members = np.array(list(combinations(jobs, size)), dtype=np.int64).reshape(-1, size)
            if len(members):
                yield Columns(gpus, members, _chunked(stages, members))


def profile_groups(instance: Instance) -> Iterator[Columns]:
    """Yield every multiset of profiles that the jobs can fill, by class and size.

    Members are positions in `Instance.profiles`.
    """
    profiles = list(instance.profiles)
    many = np.array([len(jobs) for jobs in instance.profiles.values()])
    stages = profile_array(instance)
    for gpus in instance.classes:
        of_class = [i for i, profile in enumerate(profiles) if profile.gpus == gpus]
        for size in range(instance.smallest_group, instance.group_limit + 1):
            rows = list(combinations_with_replacement(of_class, size))
            members = np.array(rows, dtype=np.int64).reshape(-1, size)
            if many[of_class].min() < size:
                uses = (members[:, :, None] == members[:, None, :]).sum(axis=2)
                members = members[np.all(uses <= many[members], axis=1)]
            if len(members):
                yield Columns(gpus, members, _chunked(stages, members))


def _chunked(stages: Vector, members: Indices) -> Vector:
    parts = [efficiencies(stages, members[i : i + _CHUNK]) for i in range(0, len(members), _CHUNK)]
    return np.concatenate(parts)


def solution_of(instance: Instance, groups: Iterable[Sequence[int]]) -> Solution:
    """Return the solution with these groups of job positions, each at its best offsets."""
    known: dict[tuple[object, ...], tuple[int, ...]] = {}
    arranged = []
    for members in groups:
        jobs = [instance.jobs[j] for j in members]
        key = tuple(job.stages for job in jobs)
        if key not in known:
            known[key] = best_offsets(key)
        arranged.append(Group(jobs=tuple(job.id for job in jobs), offsets=known[key]))
    return Solution(groups=tuple(arranged))
