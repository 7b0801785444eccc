"""The grouping that covers all jobs with the largest weighted sum of their speeds.

In a group that takes time T a job whose stages sum to s runs at s / T of its speed alone. With a
weight w for each job the program is

    maximise   sum over groups S of x_S * sum over jobs j in S of w_j s_j / T_S
    subject to every job is in one group; the groups' GPUs are within the budget.

Jobs of a profile (equal GPUs and stages) differ in their weights only, so that it is enough to know
how many groups of each multiset of profiles there are, y, and which time each job gets:

    maximise   sum over jobs j, times t of (w_j s_j / t) z_jt
    subject to sum over t of z_jt = 1                                               for each job j
               sum over jobs j of p of z_jt = sum over multisets m of time t of c_pm y_m
                                                              for each profile p and time t
               sum over m of g_m y_m <= M,  z >= 0,  y >= 0 whole

with c_pm jobs of p in m. Both are worth the same: of a grouping, z and y can be read; and for whole
y what is left are transportation problems, one for each profile, which have whole optima, and these
say which job gets which place. So z need not be declared whole.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dlsched.errors import OptionError
from dlsched.problems.interleaving.definition.check import efficiency
from dlsched.problems.interleaving.definition.schema import Instance
from dlsched.problems.interleaving.structures.group_counts import MOST_MULTISETS, count_multisets
from dlsched.problems.interleaving.structures.groups import (
    Indices,
    Vector,
    least_times,
    profile_array,
    profile_groups,
)
from dlsched.problems.interleaving.structures.offsets import best_offsets
from dlsched.run import Run
from dlsched.solvers import highs
from dlsched.solvers.standard_form import INF, StandardForm

if TYPE_CHECKING:
    from scipy import sparse

DIGITS = 12
"""Times that agree in as many digits are one."""
_GAP = 1e-6
"""Relative distance to the bound at which a grouping counts as the best."""


class Grouping(NamedTuple):
    """Groups of positions of jobs, what they are worth, and a bound on all groupings (claimed)."""

    groups: list[tuple[int, ...]]
    worth: float
    bound: float


class _Places(NamedTuple):
    """The multisets of profiles, and the places for jobs: pairs of a profile and a time.

    Attributes
    ----------
    members
        Profiles of each multiset.
    gpus, time
        Of each multiset.
    number
        Of each place.
    of
        Places x multisets: how many of a place a multiset has.
    """

    members: list[tuple[int, ...]]
    gpus: Indices
    time: Vector
    number: dict[tuple[int, float], int]
    of: sparse.csr_array


def best_grouping(
    instance: Instance,
    weights: Sequence[float],
    *,
    gap: float = _GAP,
    time_limit: float | None = None,
) -> Grouping | None:
    """Return the grouping with the largest weighted sum of speeds.

    Parameters
    ----------
    weights
        By position of the job, above 0.
    gap
        Relative distance to the bound at which it ends.
    time_limit
        Seconds.

    Returns
    -------
    Grouping or None
        None if none was found within the limit.

    Raises
    ------
    OptionError
        If there are more than a million multisets of profiles.
    """
    if not instance.jobs:
        return Grouping([], 0.0, 0.0)
    if count_multisets(instance) > MOST_MULTISETS:
        raise OptionError(f"{instance.name} has more than {MOST_MULTISETS} multisets of profiles")
    places = _places(instance)
    form = _program(instance, places, np.asarray(weights, float))
    outcome = highs.solve(form, 0, Run(time_limit=time_limit, gap=gap), quiet=True)
    if outcome.values is None:
        return None
    counts = np.rint(outcome.values[: len(places.members)]).astype(int)
    groups = _assign(instance, places, counts, weights)
    bound = math.inf if outcome.bound is None else outcome.bound
    return Grouping(groups, weighted_speeds(instance, groups, weights), bound)


def weighted_speeds(
    instance: Instance, groups: Sequence[Sequence[int]], weights: Sequence[float]
) -> float:
    """Return the sum over jobs of weight times speed in the group, relative to that alone."""
    k = len(instance.resources)
    total = 0.0
    for group in groups:
        stages = [instance.jobs[j].stages for j in group]
        sums = [Fraction(sum(times)) for times in stages]
        # By the definition of the efficiency, T = sum(sums) / (k * gamma).
        per_time = k * efficiency(stages, best_offsets(stages)) / sum(sums)
        total += sum(weights[j] * float(s * per_time) for j, s in zip(group, sums, strict=True))
    return total


def _places(instance: Instance) -> _Places:
    """Return the multisets and the places that they have."""
    from scipy import sparse

    stages = profile_array(instance)
    columns = list(profile_groups(instance))
    members = [tuple(row) for part in columns for row in part.members.tolist()]
    gpus = np.concatenate([np.full(len(part.members), part.gpus) for part in columns])
    exact = np.concatenate([least_times(stages, part.members) for part in columns])
    time = np.array([_rounded(value) for value in exact.tolist()])
    index: dict[tuple[int, float], int] = {}
    entries = [
        (index.setdefault((p, t), len(index)), m)
        for m, (group, t) in enumerate(zip(members, time.tolist(), strict=True))
        for p in group
    ]
    place, multiset = np.array(entries).T
    of = sparse.csr_array(
        (np.ones(len(entries)), (place, multiset)), shape=(len(index), len(members))
    )
    return _Places(members, gpus, time, index, of)


def _rounded(time: float) -> float:
    """Return a time to `DIGITS` digits."""
    return round(time, DIGITS - 1 - math.floor(math.log10(time)))


def _program(instance: Instance, places: _Places, weights: Vector) -> StandardForm:
    """Return the program of y and z."""
    from scipy import sparse

    sums = profile_array(instance).sum(axis=1)
    profile_of = np.empty(len(instance.jobs), np.int64)
    for p, jobs in enumerate(instance.profiles.values()):
        profile_of[list(jobs)] = p
    by_profile: dict[int, list[tuple[int, float]]] = {}
    for (p, t), row in places.number.items():
        by_profile.setdefault(p, []).append((row, t))
    job, place, worth = [], [], []
    for j, p in enumerate(profile_of.tolist()):
        for row, t in by_profile[p]:
            job.append(j)
            place.append(row)
            worth.append(weights[j] * sums[p] / t)
    many, ones = len(places.members), np.ones(len(job))
    column = np.arange(len(job))
    gives = sparse.csr_array((ones, (job, column)), shape=(len(instance.jobs), len(job)))
    takes = sparse.csr_array((ones, (place, column)), shape=(len(places.number), len(job)))
    blocks: list[list[Any]] = [[None, gives], [-places.of, takes]]
    sides = np.r_[np.ones(len(instance.jobs)), np.zeros(len(places.number))]
    lower, upper = sides, sides
    if instance.gpu_budget is not None:
        blocks.append([sparse.csr_array(places.gpus[None, :].astype(float)), None])
        lower, upper = np.r_[sides, -INF], np.r_[sides, float(instance.gpu_budget)]
    form = StandardForm.of(
        sparse.csc_array(sparse.block_array(blocks, format="csc")),
        lower,
        upper,
        np.r_[np.full(many, INF), ones],
        np.r_[np.zeros(many), worth],
        sense="max",
    )
    return replace(form, integer=np.arange(many + len(job)) < many)


def _assign(
    instance: Instance, places: _Places, counts: Indices, weights: Sequence[float]
) -> list[tuple[int, ...]]:
    """Return groups of jobs: of a profile the largest weights get the fastest places."""
    queues = [iter(sorted(jobs, key=lambda j: -weights[j])) for jobs in instance.profiles.values()]
    order = np.argsort(places.time, kind="stable").tolist()
    chosen = [places.members[m] for m in order for _ in range(counts[m])]
    return [tuple(next(queues[p]) for p in group) for group in chosen]
