"""The demands of jobs that may share their GPUs by interleaving their stages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import NamedTuple

from dlsched.errors import OptionError
from dlsched.simulation.bounds.charges import (
    MOST_GROUPS,
    Groups,
    best_charges,
    count_groups,
    groups,
)
from dlsched.simulation.bounds.demands import Demands, Mode, Resource
from dlsched.simulation.bounds.modes import demands, gpu_classes
from dlsched.simulation.engine.speeds import Stages, least_iteration_time
from dlsched.simulation.workload.cluster import Cluster
from dlsched.simulation.workload.workload import Workload

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
        known: dict[tuple[int, Fraction, Fraction], tuple[Mode, ...]] = {}
        rows = []
        for r, work, like in zip(
            self.release, self.work, zip(self.kind, self.length, self.area, strict=True),
            strict=True,
        ):  # fmt: skip
            k, length, area = like
            if like not in known:
                known[like] = (Mode(length, tuple(area * facet[k] for facet in facets)),)
            rows.append((r, work, known[like]))
        return Demands.of([self.gpus] * len(facets), rows)


def stage_facet(sharing: Sharing, weights: Sequence[Fraction]) -> Facet:
    """Return charges that are weighted sums of the stages; the weights are 0 or more, of sum 1."""
    return tuple(
        min(Fraction(1), sum((w * s for w, s in zip(weights, times, strict=True)), Fraction(0)) / t)
        if t
        else Fraction(1)
        for times, t in zip(sharing.stages, sharing.alone, strict=True)
    )


def group_facet(sharing: Sharing, loads: Sequence[float]) -> Facet | None:
    """Return the charges with the largest sum of load x charge; None if groups are too many.

    Parameters
    ----------
    loads
        Of each kind, GPU time alone, or anything that it is to count for, 0 or more.
    """
    found = list[Fraction](sharing.alone)
    for kinds, known in sharing.families:
        if known is None:
            return None
        if len(known.times) == 1:
            continue
        weights = [loads[k] / float(sharing.alone[k]) for k in kinds]
        for k, charge in zip(kinds, best_charges(known, weights), strict=True):
            found[k] = charge
    return tuple(
        charge / alone if alone else Fraction(1)
        for charge, alone in zip(found, sharing.alone, strict=True)
    )


def stage_sharing(workload: Workload, cluster: Cluster, *, layers: bool = False) -> Sharing:
    """Return the jobs of a workload, which may share GPUs by the paper's text (Muri, eq. 3).

    Jobs can be in a group if they can have equally many GPUs and have stages of the same
    resources; at most as many as there are resources.

    Parameters
    ----------
    layers
        Whether there may be layers too. Two jobs in layers can be faster than any group lets them
        be, so that groups then bound nothing: they are not listed, and charges are stages.

    Raises
    ------
    OptionError
        If no job has stages.
    """
    most = max(len(job.stages) for job in workload.jobs)
    if not most:
        raise OptionError("the jobs have no stages; sharing is undefined")
    d = demands(workload, cluster)
    classes = gpu_classes(cluster)
    gpus = [min(sum(mode.uses[: len(classes)]) for mode in kind.modes) for kind in d.kinds]
    number: dict[tuple[int, int, Stages], int] = {}
    kind = []
    for job in workload.jobs:
        like = (job.min_gpus, job.max_gpus, tuple(job.stages))
        kind.append(number.setdefault(like, len(number)))
    stages = [
        (*map(Fraction, times), *[Fraction(0)] * (most - len(times))) for _, _, times in number
    ]
    # Jobs share with those that have stages of as many resources; without any, they are alone.
    sizes = [(low, high, len(times) if any(times) else 1) for low, high, times in number]
    return Sharing(
        Resource("GPUs", _together(list(classes.values()))),
        d.release,
        d.work,
        tuple(d.kinds[k].length for k in d.kind),
        tuple(Fraction(gpus[k]) for k in d.kind),
        tuple(kind),
        tuple(sum(times, Fraction(0)) for times in stages),
        tuple(stages),
        (Family(tuple(range(len(number))), None),)
        if layers
        else families(sizes, partial(_time, list(number))),
    )


def families(
    ranges: Sequence[tuple[int, int, int]], time: Callable[[tuple[int, ...]], Fraction]
) -> tuple[Family, ...]:
    """Return families of kinds.

    Parameters
    ----------
    ranges
        Of each kind, the fewest and most GPUs, and the most jobs in its groups. Kinds are in a
        family if these are equal and their ranges overlap, or are joined by others that do.
    time
        From the kinds of a group's members to the least time of its iteration.
    """
    parts: list[tuple[int, int, list[int]]] = []
    for k in sorted(range(len(ranges)), key=lambda k: (ranges[k][2], ranges[k][0])):
        low, high, size = ranges[k]
        if size > 1 and parts and parts[-1][1] == size and low <= parts[-1][0]:
            parts[-1] = (max(high, parts[-1][0]), size, [*parts[-1][2], k])
        else:
            parts.append((high, size, [k]))
    return tuple(Family(tuple(members), _groups(members, size, time)) for _, size, members in parts)


def _groups(
    members: Sequence[int], size: int, time: Callable[[tuple[int, ...]], Fraction]
) -> Groups | None:
    if count_groups(len(members), size) > MOST_GROUPS:
        return None
    return groups(len(members), size, lambda group: time(tuple(members[i] for i in group)))


def _time(kinds: Sequence[tuple[int, int, Stages]], group: tuple[int, ...]) -> Fraction:
    """Return the least time of an iteration of a group, over the orders of its jobs."""
    if len(group) == 1:
        return sum(map(Fraction, kinds[group[0]][2]), Fraction(0))
    return least_iteration_time(tuple(sorted(kinds[k][2] for k in group)))


def _together(
    many: Sequence[Sequence[tuple[int, Fraction]]],
) -> tuple[tuple[int, Fraction], ...]:
    """Return the sum of amounts over time."""
    return tuple(
        (time, sum(([n for since, n in steps if since <= time][-1] for steps in many), Fraction(0)))
        for time in sorted({time for steps in many for time, _ in steps})
    )
