"""Groups that grow from the first jobs of a queue, with a large weighted sum of speeds (ours).

Jobs get GPUs in order: one takes a place in an open group of as many GPUs, each open for `fill`
jobs, or opens a group if the GPUs suffice, whose seed it is. GPUs that are left go to groups of the
first jobs that fit. Then any job may be in any group of as many GPUs, and all seeds are in one. In
a group that takes time T a job whose stages sum to s runs at s / T of its speed alone; with a
weight w for each job the groups are to be worth

    sum over groups S of (sum over jobs j in S of w_j s_j) / T_S.

A local search: a waiting job joins a group, or takes the place of a job that is no seed; a job
moves to another group, or leaves if it is no seed; two jobs change places. Each step makes the
groups worth more. Jobs of a profile (equal GPUs and stages) are tried in the order of the queue,
and only as long as one finds a place.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dlsched.problems.interleaving.heuristics.exchange_search import Jobs, gamma
from dlsched.problems.interleaving.heuristics.muri import jobs_of_stages
from dlsched.problems.interleaving.structures.groups import Indices, Vector, unpadded
from dlsched.solvers.compilation import entry, loop
from dlsched.solvers.preparation import prepare

_LEAST_GAIN = 1e-9
"""Smaller gains, relative to what the groups are worth that change, may be rounding."""
_PASSES = 50
"""Passes over all jobs, at most **(D)**."""


class Queue(NamedTuple):
    """Jobs in a queue.

    Attributes
    ----------
    stages
        Jobs x resources, not all 0 for any job; a group has at most as many jobs as there are
        resources.
    gpus, profile
        Of each job; jobs of a profile have equal GPUs and stages. Whole numbers from 0.
    weights
        Of each job, above 0; among jobs of a profile they do not rise along the order.
    order
        The jobs in the order of the queue.
    """

    stages: Vector
    gpus: Indices
    profile: Indices
    weights: Vector
    order: Indices


def seeded_groups(queue: Queue, budget: int, fill: int) -> list[tuple[int, ...]]:
    """Return groups of positions of jobs, on at most as many GPUs as the budget says.

    Parameters
    ----------
    fill
        Jobs for which a group counts when groups are opened, from 1. With as many as a group can
        have, groups are opened as by Muri's Algorithm 1.
    """
    prepare(__name__)
    stages, gpus, profile, weights, order = queue
    groups = np.full((len(order), stages.shape[1]), -1, np.int64)
    sizes = np.zeros(len(order), np.int64)
    jobs = jobs_of_stages(np.ascontiguousarray(stages, float), stages.shape[1])
    count = grow(jobs, order, gpus, profile, weights, budget, fill, groups, sizes)
    return unpadded(groups[:count])


@loop
def worth(jobs: Any, weights: Any, group: Any, size: int) -> float:
    """Return the weighted sum of the speeds of a group's jobs."""
    k = jobs.stages.shape[1]
    filled = 0.0
    weighted = 0.0
    for i in range(size):
        alone = 0.0
        for r in range(k):
            alone += jobs.stages[group[i], r]
        filled += alone
        weighted += weights[group[i]] * alone
    return float(weighted * k * gamma(jobs, group, size) / filled)


@loop
def replaced(groups: Any, sizes: Any, g: int, place: int, job: int, changed: Any) -> int:
    """Fill in a group with a job at a place, its first empty one perhaps; return its size.

    A job below 0 leaves the place empty: the others move up.
    """
    size = 0
    for s in range(max(sizes[g], place + 1)):
        if s != place:
            changed[size] = groups[g, s]
        elif job >= 0:
            changed[size] = job
        else:
            continue
        size += 1
    return size


@loop
def best_place(jobs: Any, known: Any, state: Any, job: int, own: int, least: float) -> Any:
    """Return the group and the place where a job brings most; -1 if nowhere more than `least`.

    Parameters
    ----------
    known
        The jobs' GPUs, profiles and weights, and whether they are seeds.
    state
        Groups, sizes, their number, what each is worth, and whether each job waits.
    own
        The group that the job is in, which then only joins another one; -1 for a waiting job, which
        may also take the place of one that is no seed.
    """
    gpus, _, weights, seed = known
    groups, sizes, count, value, _ = state
    changed = np.empty(groups.shape[1] + 1, np.int64)
    most = least
    group = -1
    at = -1
    for g in range(count):
        if g == own or gpus[groups[g, 0]] != gpus[job]:
            continue
        for place in range(sizes[g] if own >= 0 else 0, min(sizes[g] + 1, groups.shape[1])):
            if place < sizes[g] and seed[groups[g, place]]:
                continue
            size = replaced(groups, sizes, g, place, job, changed)
            gain = worth(jobs, weights, changed, size) - value[g]
            if gain > most + _LEAST_GAIN * value[g]:
                most = gain
                group = g
                at = place
    return group, at


@loop
def put(jobs: Any, known: Any, state: Any, job: int, g: int, place: int) -> None:
    """Put a job at a place of a group; one that is there waits. No job, -1, leaves it empty."""
    groups, sizes, _, value, waits = state
    changed = np.empty(groups.shape[1] + 1, np.int64)
    if place < sizes[g]:
        waits[groups[g, place]] = True
    if job >= 0:
        waits[job] = False
    before = sizes[g]
    sizes[g] = replaced(groups, sizes, g, place, job, changed)
    for s in range(max(before, sizes[g])):
        groups[g, s] = changed[s] if s < sizes[g] else -1
    value[g] = worth(jobs, known[2], groups[g], sizes[g])


@loop
def let_in(jobs: Any, known: Any, state: Any, order: Any) -> bool:
    """Let waiting jobs join or take places, in order; return whether one did."""
    profile = known[1]
    in_vain = np.zeros(profile.max() + 1, np.bool_)
    improved = False
    for job in order:
        if not state[4][job] or in_vain[profile[job]]:
            continue
        g, place = best_place(jobs, known, state, job, -1, 0.0)
        if g < 0:
            in_vain[profile[job]] = True
        else:
            put(jobs, known, state, job, g, place)
            improved = True
    return improved


@loop
def let_move(jobs: Any, known: Any, state: Any) -> bool:
    """Let each job that is no seed move to another group or leave; return whether one did."""
    groups, sizes, count, value, _ = state
    weights, seed = known[2], known[3]
    changed = np.empty(groups.shape[1] + 1, np.int64)
    improved = False
    for g in range(count):
        place = 0
        while place < sizes[g]:
            job = groups[g, place]
            if sizes[g] == 1:
                place += 1
                continue
            size = replaced(groups, sizes, g, place, -1, changed)
            lost = value[g] - worth(jobs, weights, changed, size)
            other, at = best_place(
                jobs, known, state, job, g, lost if seed[job] else max(lost, 0.0)
            )
            if other < 0 and (seed[job] or lost > -_LEAST_GAIN * value[g]):
                place += 1
                continue
            put(jobs, known, state, -1, g, place)
            if other >= 0:
                put(jobs, known, state, job, other, at)
            improved = True
    return improved


@loop
def exchange(jobs: Any, known: Any, state: Any) -> bool:
    """Let jobs of a profile change places, the heavier to the faster; return whether two did."""
    groups, sizes, count, value, _ = state
    _, profile, weights, _ = known
    unit = np.ones(len(weights))
    total = np.empty(count)  # time alone of all jobs; over it the worth of equal weights is speed
    speed = np.empty(count)
    for g in range(count):
        total[g] = 0.0
        for s in range(sizes[g]):
            for r in range(jobs.stages.shape[1]):
                total[g] += jobs.stages[groups[g, s], r]
        speed[g] = worth(jobs, unit, groups[g], sizes[g]) / total[g]
    improved = False
    for g in range(count):
        for h in range(count):
            if speed[g] >= speed[h] * (1.0 - _LEAST_GAIN):
                continue
            for i in range(sizes[g]):
                for j in range(sizes[h]):
                    a = groups[g, i]
                    b = groups[h, j]
                    if profile[a] == profile[b] and weights[a] > weights[b]:
                        groups[g, i] = b
                        groups[h, j] = a
                        improved = True
    for g in range(count):
        value[g] = worth(jobs, weights, groups[g], sizes[g])
    return improved


@loop
def swap(jobs: Any, known: Any, state: Any) -> bool:
    """Let two jobs of two groups change places; return whether two did."""
    gpus, profile, weights, _ = known
    groups, sizes, count, value, _ = state
    improved = False
    for g in range(count):
        for h in range(g + 1, count):
            if gpus[groups[g, 0]] != gpus[groups[h, 0]]:
                continue
            for i in range(sizes[g]):
                for j in range(sizes[h]):
                    a = groups[g, i]
                    b = groups[h, j]
                    if profile[a] == profile[b]:
                        continue
                    groups[g, i] = b
                    groups[h, j] = a
                    first = worth(jobs, weights, groups[g], sizes[g])
                    second = worth(jobs, weights, groups[h], sizes[h])
                    total = value[g] + value[h]
                    if first + second > total * (1.0 + _LEAST_GAIN):
                        value[g] = first
                        value[h] = second
                        improved = True
                    else:
                        groups[g, i] = a
                        groups[h, j] = b
    return improved


@entry(
    "int64(Jobs, int64[::1], int64[::1], int64[::1], float64[::1], int64, int64, int64[:,::1],"
    " int64[::1])",
    records=(Jobs,),
)
def grow(
    jobs: Any,
    order: Any,
    gpus: Any,
    profile: Any,
    weights: Any,
    budget: int,
    fill: int,
    groups: Any,
    sizes: Any,
) -> int:
    """Fill in the groups, and their sizes; return how many there are."""
    count = 0
    seed = np.zeros(len(order), np.bool_)
    value = np.zeros(len(order))
    spare = np.zeros(gpus.max() + 1, np.int64)  # by GPUs, places in groups of jobs before
    for spread in range(2):
        for job in order:
            if seed[job]:
                continue
            if spread == 0 and spare[gpus[job]] > 0:
                spare[gpus[job]] -= 1
            elif gpus[job] <= budget:
                groups[count, 0] = job
                sizes[count] = 1
                value[count] = worth(jobs, weights, groups[count], 1)
                seed[job] = True
                budget -= gpus[job]
                spare[gpus[job]] = fill - 1
                count += 1
    known = (gpus, profile, weights, seed)
    state = (groups, sizes, count, value, ~seed)
    for _ in range(_PASSES):
        joined = let_in(jobs, known, state, order)
        moved = let_move(jobs, known, state)
        exchanged = exchange(jobs, known, state)
        if not (exchanged or joined or moved) and not swap(jobs, known, state):
            break
    return count
