"""The demands of jobs that may share their GPUs by interleaving their stages: their charges.

Charges are valid if in every group that there can be they add up to at most the time of the
group's iteration. Then the GPU time of all groups is at least the sum over jobs of GPUs x charge x
iterations, whatever the groups are. With weights for the kinds of jobs, the best charges are the
dual of covering the weights by groups in the least time: a linear program with a row per group.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import chain, combinations, combinations_with_replacement, pairwise
from typing import Any, NamedTuple

import numpy as np

from dlsched.errors import OptionError
from dlsched.simulation.bounds.demands import (
    Demands,
    Floats,
    Mode,
    Resource,
    demands,
    gpus_over_time,
    weighted_sum,
)
from dlsched.simulation.engine.speeds import least_iteration_time
from dlsched.simulation.workload.cluster import Cluster
from dlsched.simulation.workload.workload import Workload

MOST_GROUPS = 5_000
"""Groups above which there is no linear program."""
GRID = 2**30
"""Charges are rounded down to multiples of the largest time over this."""


Groups = Mapping[tuple[int, ...], Fraction]
"""All groups that there can be, by the kinds of their members, ascending: the least time of an
iteration. Every kind alone is a group."""


def least(objective: Floats, rows: Any, limits: Floats, **equations: Any) -> Floats | None:
    """Return the solution of a linear program that HiGHS minimises; None without an answer."""
    from scipy.optimize import linprog

    solve: Any = linprog  # its stubs have no sparse matrices
    found: Floats | None = solve(objective, A_ub=rows, b_ub=limits, method="highs", **equations).x
    return found


def best_charges(groups: Groups, weights: Sequence[float]) -> tuple[Fraction, ...]:
    """Return valid charges with a large sum of weight x charge.

    The solver's charges are rounded, and then shrunk until every group's sum is exactly at most its
    time; so they are valid whatever the solver says. Weights are of each kind, 0 or more.
    """
    from scipy.sparse import csr_matrix

    members = list(chain.from_iterable(groups))
    ends = np.cumsum([0, *map(len, groups)])
    rows = csr_matrix((np.ones(len(members)), members, ends), (len(groups), len(weights)))
    rows.sum_duplicates()
    objective = -np.array(weights) / (max(weights) or 1.0) - 1e-9
    solved = least(objective, rows, np.array(list(map(float, groups.values()))))
    values = [0.0] * len(weights) if solved is None else solved.tolist()
    unit = Fraction(max(groups.values())) / GRID
    charges = [max(0, math.floor(Fraction(x) / unit)) * unit for x in values]
    return valid(groups, charges)


def valid(groups: Groups, charges: Sequence[Fraction]) -> tuple[Fraction, ...]:
    """Return charges shrunk by one factor until they are valid."""
    factor = Fraction(1)
    for group, time in groups.items():
        total = sum((charges[kind] for kind in group), Fraction(0))
        if total * factor > time:
            factor = time / total
    # One division fewer digits: the factor is rounded down to a multiple of 1 / GRID.
    factor = Fraction(math.floor(factor * GRID), GRID)
    return tuple(charge * factor for charge in charges)


def mixtures(resources: int, steps: int = 8) -> Iterator[tuple[Fraction, ...]]:
    """Yield weights of resources that are multiples of 1 / `steps` and of sum 1."""
    places = steps + resources - 1
    for bars in combinations(range(places), resources - 1):
        edges = (-1, *bars, places)
        yield tuple(Fraction(end - start - 1, steps) for start, end in pairwise(edges))


Facet = tuple[Fraction, ...]
"""Of each kind of jobs, its charge over the time of its iteration alone."""


class Family(NamedTuple):
    """Kinds of jobs that can be in a group with each other; no others can.

    Attributes
    ----------
    kinds
        Their positions in `Sharing.alone`.
    groups
        All their groups; members are positions in `kinds`. None if there are too many.
    """

    kinds: tuple[int, ...]
    groups: Groups | None


class GpuRange(NamedTuple):
    """The fewest and most GPUs of a kind of jobs, and the most jobs in its groups."""

    min_gpus: int
    max_gpus: int
    jobs: int


class Sharing(NamedTuple):
    """Jobs that may share GPUs, and the groups that they can form.

    Attributes
    ----------
    gpus
        The cluster's GPUs.
    release, work
        Of each job, submission and work in microseconds.
    length, area
        Of each job, time at least and GPU time alone, per microsecond of work.
    kind
        Of each job, its kind.
    alone, stages
        Of each kind, the time of an iteration alone, and parts of it by resource: an iteration of a
        group takes at least the sum of its members' parts of any one resource.
    families
        Families of kinds.
    """

    gpus: Resource
    release: tuple[int, ...]
    work: tuple[int, ...]
    length: tuple[Fraction, ...]
    area: tuple[Fraction, ...]
    kind: tuple[int, ...]
    alone: tuple[Fraction, ...]
    stages: tuple[tuple[Fraction, ...], ...]
    families: tuple[Family, ...]

    @property
    def resources(self) -> int:
        """Number of resources by which stages are told apart."""
        return len(self.stages[0])

    def loads(self) -> list[float]:
        """Return the GPU time alone of each kind."""
        total = [0.0] * len(self.alone)
        for k, work, area in zip(self.kind, self.work, self.area, strict=True):
            total[k] += float(work * area)
        return total

    def demands(self, facets: Sequence[Facet]) -> Demands:
        """Return the demands of the jobs, with the GPUs as a resource for each facet."""

        @cache
        def mode(kind: int, length: Fraction, area: Fraction) -> Mode:
            return Mode(length, tuple(area * facet[kind] for facet in facets))

        modes = map(mode, self.kind, self.length, self.area)
        rows = [(r, w, (m,)) for r, w, m in zip(self.release, self.work, modes, strict=True)]
        return Demands.of([self.gpus] * len(facets), rows)


def stage_facet(sharing: Sharing, weights: Sequence[Fraction]) -> Facet:
    """Return charges that are weighted sums of the stages; the weights are 0 or more, of sum 1."""
    charges = [
        min(alone, weighted_sum(weights, times))
        for times, alone in zip(sharing.stages, sharing.alone, strict=True)
    ]
    return _over_alone(sharing, charges)


def group_facet(sharing: Sharing, loads: Sequence[float]) -> Facet | None:
    """Return the charges with the largest sum of load x charge; None if groups are too many.

    A kind's load is its GPU time alone, or anything that it is to count for, 0 or more.
    """
    charges = list(sharing.alone)
    for kinds, known in sharing.families:
        if known is None:
            return None
        if len(known) == 1:
            continue
        weights = [loads[k] / float(sharing.alone[k]) for k in kinds]
        for k, charge in zip(kinds, best_charges(known, weights), strict=True):
            charges[k] = charge
    return _over_alone(sharing, charges)


def _over_alone(sharing: Sharing, charges: Sequence[Fraction]) -> Facet:
    """Return charges over the times alone; 1 for a kind that takes no time."""
    pairs = zip(charges, sharing.alone, strict=True)
    return tuple(charge / alone if alone else Fraction(1) for charge, alone in pairs)


def stage_sharing(workload: Workload, cluster: Cluster) -> Sharing:
    """Return the jobs of a workload, which may share GPUs by the paper's text (Muri, eq. 3).

    Jobs can be in a group if they can have equally many GPUs and have stages of the same
    resources; at most as many as there are resources.

    Raises
    ------
    OptionError
        If no job has stages.
    """
    most = max(len(job.stages) for job in workload.jobs)
    if not most:
        raise OptionError("the jobs have no stages; sharing is undefined")
    d = demands(workload, cluster)
    gpus = [min(sum(mode.uses[: d.classes]) for mode in kind.modes) for kind in d.kinds]
    kinds_of_jobs = [(job.min_gpus, job.max_gpus, job.stages) for job in workload.jobs]
    number = {kind: k for k, kind in enumerate(dict.fromkeys(kinds_of_jobs))}
    stages_of_kind = [stages for *_, stages in number]
    stages = [(*map(Fraction, s), *[Fraction(0)] * (most - len(s))) for s in stages_of_kind]
    # Without stages a job is alone.
    ranges = [GpuRange(low, high, len(s) if any(s) else 1) for low, high, s in number]

    def time(group: tuple[int, ...]) -> Fraction:
        if len(group) == 1:
            return sum(stages[group[0]], Fraction(0))
        return least_iteration_time(tuple(sorted(stages_of_kind[k] for k in group)))

    return Sharing(
        gpus=Resource("GPUs", gpus_over_time(cluster, range(len(cluster.servers)))),
        release=d.release,
        work=d.work,
        length=tuple(d.kinds[k].length for k in d.kind),
        area=tuple(Fraction(gpus[k]) for k in d.kind),
        kind=tuple(number[kind] for kind in kinds_of_jobs),
        alone=tuple(sum(times, Fraction(0)) for times in stages),
        stages=tuple(stages),
        families=families(ranges, time),
    )


def families(
    ranges: Sequence[GpuRange], time: Callable[[tuple[int, ...]], Fraction]
) -> tuple[Family, ...]:
    """Return families of kinds.

    Parameters
    ----------
    ranges
        Of each kind. Kinds are in a family if as many jobs can be in their groups, and their ranges
        overlap, or are joined by others that do.
    time
        From the kinds of a group's members to the least time of its iteration.
    """
    members_of_family: list[list[int]] = []
    size = 0
    most = 0
    for k in sorted(range(len(ranges)), key=lambda k: (ranges[k].jobs, ranges[k].min_gpus)):
        kind = ranges[k]
        if kind.jobs > 1 and kind.jobs == size and kind.min_gpus <= most:
            members_of_family[-1].append(k)
            most = max(most, kind.max_gpus)
        else:
            members_of_family.append([k])
            size = kind.jobs
            most = kind.max_gpus
    return tuple(
        Family(tuple(members), _groups(members, ranges[members[0]].jobs, time))
        for members in members_of_family
    )


def _groups(
    kinds: Sequence[int], most: int, time: Callable[[tuple[int, ...]], Fraction]
) -> Groups | None:
    """Return all groups of one to `most` jobs of some kinds; None if they are too many."""
    sizes = range(1, most + 1)
    # Several may be of a kind.
    if sum(math.comb(len(kinds) + size - 1, size) for size in sizes) > MOST_GROUPS:
        return None
    positions = range(len(kinds))
    groups = chain.from_iterable(combinations_with_replacement(positions, n) for n in sizes)
    return {group: time(tuple(kinds[i] for i in group)) for group in groups}
