"""A group's offsets (Muri, eq. 3); many groups at once, in floating point: times, efficiencies.

Every stage is the double nearest to the instance's decimal, and gamma is computed from at most
k * k of them by additions, maxima and one division; see `GAMMA_ERROR`.
"""

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, combinations_with_replacement, permutations

import numpy as np

from dlsched.problems.interleaving.definition.check import Stages, iteration_time
from dlsched.problems.interleaving.definition.schema import Group, Instance, Solution
from dlsched.schema import Number
from dlsched.solvers.arrays import Floats, Ints

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
LEAST_GAIN = 1e-12
"""Smaller gains of efficiency may be rounding."""
_AT_ONCE = 1 << 16
"""Groups, or busiest slots over arrangements, computed at once: more would leave the caches."""
_TINY = Fraction(1, 10**290)
_FACTOR = 2**900
"""What times are multiplied by if one is below `_TINY`: those from 5e-324 to 1e15, an instance's
range, are then 2**-175 to 2**950."""


def arrangements(k: int, size: int) -> Iterator[tuple[int, ...]]:
    """Yield the offsets that a group of this size can have, up to a cyclic shift.

    Shifting all offsets alike does not change the time, so the first job stays at 0.
    """
    for rest in permutations(range(1, k), size - 1):
        yield (0, *rest)


def best_offsets(stages: Sequence[Stages]) -> tuple[int, ...]:
    """Return the offsets of least iteration time; with ties the lexicographically least."""
    k = len(stages[0])
    return min(arrangements(k, len(stages)), key=lambda offsets: iteration_time(stages, offsets))


@cache
def offsets_table(k: int, size: int) -> Ints:
    """Return the arrangements of a group as rows, in the order of `arrangements`."""
    return np.array(list(arrangements(k, size)), dtype=np.int64)


def offsets_by_size(k: int, largest: int) -> tuple[Ints, Ints]:
    """Return by size of a group how many arrangements it has, and the offsets, filled up with 0."""
    tables = [offsets_table(k, size) for size in range(1, largest + 1)]
    counts = np.array([0, *map(len, tables)])
    offsets = np.zeros((largest + 1, int(counts.max()), largest), dtype=np.int64)
    for size, table in enumerate(tables, 1):
        offsets[size, : len(table), :size] = table
    return counts, offsets


def stage_array(instance: Instance) -> Floats:
    """Return the stages of the jobs, jobs x resources; times below 1e-290 change the unit."""
    return _in_doubles(instance, [job.stages for job in instance.jobs])


def profile_array(instance: Instance) -> Floats:
    """Return the stages of the profiles, in the same way."""
    return _in_doubles(instance, [profile.stages for profile in instance.profiles])


def _in_doubles(instance: Instance, stages: Sequence[Sequence[Number]]) -> Floats:
    """Return stages in a unit in which no double is subnormal: these have few digits, down to one.

    Efficiencies do not depend on the unit.
    """
    least = min((time for row in stages for time in row if time), default=1)
    factor = 1 if least > _TINY else _FACTOR
    times = [float(time * factor) for row in stages for time in row]
    return np.array(times).reshape(-1, len(instance.resources))


def least_times(stages: Floats, members: Ints) -> Floats:
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
    rotated = np.stack([np.roll(stages, -offset, axis=1) for offset in range(k)])
    times = np.full(count, np.inf)
    table = offsets_table(k, size)
    step = max(1, _AT_ONCE // max(1, count * k))
    for first in range(0, len(table), step):
        offsets = table[first : first + step, :, None]
        busiest = np.broadcast_to(stages[members[:, 0]], (len(offsets), count, k))
        for column, offset in zip(members.T[1:], offsets.swapaxes(0, 1)[1:], strict=True):
            busiest = np.maximum(busiest, rotated[offset, column])
        np.minimum(times, busiest.sum(axis=2).min(axis=0), out=times)
    return times


def efficiencies(stages: Floats, members: Ints) -> Floats:
    """Return the largest gamma of each group, within `GAMMA_ERROR`."""
    if len(members) > _AT_ONCE:
        chunks = [members[i : i + _AT_ONCE] for i in range(0, len(members), _AT_ONCE)]
        return np.concatenate([efficiencies(stages, chunk) for chunk in chunks])
    filled = stages[members].sum(axis=(1, 2))
    gammas: Floats = filled / (stages.shape[1] * least_times(stages, members))
    return gammas


def padded(groups: Sequence[Sequence[int]], width: int) -> Ints:
    """Return groups as the rows of an array, filled up with -1."""
    rows = np.full((len(groups), width), -1, dtype=np.int64)
    for row, group in zip(rows, groups, strict=True):
        row[: len(group)] = group
    return rows


def unpadded(rows: Ints) -> list[tuple[int, ...]]:
    """Return the groups of an array of rows that are filled up with -1."""
    return [tuple(j for j in row if j >= 0) for row in rows.tolist()]


def padded_efficiencies(stages: Floats, rows: Ints) -> Floats:
    """Return the efficiencies of groups of several sizes, filled up with -1; 0 of empty ones."""
    sizes = (rows >= 0).sum(axis=1)
    gammas = np.zeros(len(rows))
    for size in np.unique(sizes[sizes > 0]).tolist():
        of_size = sizes == size
        gammas[of_size] = efficiencies(stages, rows[of_size, :size])
    return gammas


def pair_efficiencies(stages: Floats) -> Floats:
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
    gammas: Floats = (filled[:, None] + filled[None, :]) / (k * times)
    np.fill_diagonal(gammas, 0.0)
    return gammas


def trivial_bound(instance: Instance) -> Fraction:
    """Return an upper bound on every grouping: size / k in place of each group's gamma.

    A group's iteration takes at least the mean of its jobs' stage sums, so its efficiency is at
    most size / k, and the groups of a class of n jobs add up to at most n / k.
    """
    k = len(instance.resources)
    most = 0
    for gpus, jobs in instance.classes.items():
        most += instance.weight(gpus) * len(jobs)
    return Fraction(most, k)


def job_groups(instance: Instance) -> Iterator[tuple[int, Ints]]:
    """Yield every allowed group of jobs, by class and size: its GPUs, and groups x size."""
    for gpus, jobs in instance.classes.items():
        for size in instance.group_sizes:
            yield gpus, _rows(combinations(jobs, size), size)


def profile_groups(instance: Instance) -> Iterator[Ints]:
    """Yield every multiset of profiles that the jobs can fill, by class and size.

    Members are positions in `Instance.profiles`.
    """
    jobs = np.array([len(jobs) for jobs in instance.profiles.values()])
    for gpus in instance.classes:
        profiles = [p for p, profile in enumerate(instance.profiles) if profile.gpus == gpus]
        for size in instance.group_sizes:
            members = _rows(combinations_with_replacement(profiles, size), size)
            copies = (members[:, :, None] == members[:, None, :]).sum(axis=2)
            yield members[(copies <= jobs[members]).all(axis=1)]


def _rows(groups: Iterable[tuple[int, ...]], size: int) -> Ints:
    return np.array(list(groups), dtype=np.int64).reshape(-1, size)


def groups_of(instance: Instance, solution: Solution) -> list[tuple[int, ...]]:
    """Return the groups of a solution, by the positions of their jobs."""
    index = instance.job_index
    return [tuple(index[job] for job in group.jobs) for group in solution.groups]


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
