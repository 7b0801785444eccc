"""Groups that grow from the first jobs of a queue: the loops of `policies.seeded_groups`."""

import cython
import numpy as np

from dlsched.problems.interleaving.structures.groups import offsets_by_size

_INF = cython.declare(cython.double, float("inf"))
_LEAST_GAIN = cython.declare(cython.double, 1e-9)
"""Smaller gains, relative to what the groups are worth that change, may be rounding."""
_PASSES = cython.declare(cython.int, 50)
"""Passes over all jobs, at most **(D)**."""


@cython.final
@cython.cclass
class Queue:
    """The jobs in a queue, and the arrangements of groups of them.

    Attributes
    ----------
    stages, gpus, profile, weights, order
        As in `grow`.
    alone
        By job: the sum of its stages.
    arrangements, offsets
        By size of a group: how many arrangements there are, and in each the offset of each job.
    """

    stages: cython.const[cython.double][:, ::1]
    gpus: cython.const[cython.longlong][::1]
    profile: cython.const[cython.longlong][::1]
    weights: cython.const[cython.double][::1]
    order: cython.const[cython.longlong][::1]
    alone: cython.double[::1]
    arrangements: cython.longlong[::1]
    offsets: cython.longlong[:, :, ::1]

    def __init__(self, stages, gpus, profile, weights, order):
        k = stages.shape[1]
        self.stages, self.gpus, self.profile = np.ascontiguousarray(stages, float), gpus, profile
        self.weights, self.order, self.alone = weights, order, stages.sum(axis=1)
        self.arrangements, self.offsets = offsets_by_size(k, k)


@cython.final
@cython.cclass
class Groups:
    """The groups, and which jobs wait.

    Attributes
    ----------
    members, sizes
        Groups x resources: their jobs, filled up with -1, and how many each has. The last row,
        which is `trial`, is for a group that is tried.
    count
        Number of groups.
    weighted, time
        By group: the sum of its jobs' stages times their weights, and its iteration time.
    seed, waits
        By job: whether it opened a group, and whether it is in none.
    in_vain
        By profile: whether a job of it has just found no place.
    """

    members: cython.longlong[:, ::1]
    sizes: cython.longlong[::1]
    trial: cython.Py_ssize_t
    count: cython.Py_ssize_t
    weighted: cython.double[::1]
    time: cython.double[::1]
    seed: cython.uchar[::1]
    waits: cython.uchar[::1]
    in_vain: cython.uchar[::1]

    def __init__(self, jobs, k, profiles):
        self.members, self.sizes = np.full((jobs + 1, k), -1), np.zeros(jobs + 1, np.int64)
        self.trial, self.count = jobs, 0
        self.weighted, self.time = np.zeros((2, jobs + 1))
        self.seed, self.waits = np.zeros(jobs, np.uint8), np.ones(jobs, np.uint8)
        self.in_vain = np.zeros(profiles, np.uint8)


def grow(stages, gpus, profile, weights, order, budget: cython.longlong, fill: cython.longlong):
    """Return groups of the first jobs and others, with a large weighted sum of speeds.

    Parameters
    ----------
    stages
        Jobs x resources, not all 0 for any job.
    gpus, profile, weights
        By job; `profile` is a whole number from 0.
    order
        The positions of the jobs in the order of the queue.
    budget
        GPUs of the groups that are opened.
    fill
        Jobs for which a group counts when groups are opened, from 1.

    Returns
    -------
    ndarray
        Groups x resources: the positions of their jobs, filled up with -1.
    """
    queue = Queue(stages, gpus, profile, weights, order)
    groups = Groups(len(order), stages.shape[1], profile.max(initial=0) + 1)
    spare: cython.longlong[::1] = np.zeros(gpus.max(initial=0) + 1, np.int64)
    with cython.nogil:
        open_groups(queue, groups, budget, fill, spare)
        for _ in range(_PASSES):
            joined: cython.bint = let_in(queue, groups)
            moved: cython.bint = let_move(queue, groups)
            exchanged: cython.bint = exchange(queue, groups)
            if not (joined or moved or exchanged) and not swap(queue, groups):
                break
    return np.asarray(groups.members)[: groups.count]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def open_groups(
    queue: Queue,
    groups: Groups,
    budget: cython.longlong,
    fill: cython.longlong,
    spare: cython.longlong[::1],
) -> cython.void:
    """Open a group for each job that finds no place in one; with what is left for any that fits.

    ``spare`` counts, by GPUs, the places in groups of jobs before.
    """
    for spread in range(2):
        for i in range(queue.order.shape[0]):
            job = queue.order[i]
            gpus = queue.gpus[job]
            if groups.seed[job]:
                continue
            if spread == 0 and spare[gpus] > 0:
                spare[gpus] -= 1
            elif gpus <= budget:
                groups.members[groups.count, 0] = job
                groups.sizes[groups.count] = 1
                weigh(queue, groups, groups.count)
                groups.seed[job], groups.waits[job] = True, False
                budget -= gpus
                spare[gpus] = fill - 1
                groups.count += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def weigh(queue: Queue, groups: Groups, g: cython.Py_ssize_t) -> cython.double:
    """Compute the weighted stages and the iteration time of a group; return what it is worth.

    That is the weighted sum of the speeds of its jobs.
    """
    k, size = queue.stages.shape[1], groups.sizes[g]
    weighted: cython.double = 0.0
    for i in range(size):
        job = groups.members[g, i]
        weighted += queue.weights[job] * queue.alone[job]
    least: cython.double = _INF
    for a in range(queue.arrangements[size]):
        time = 0.0
        for r in range(k):
            longest: cython.double = 0.0
            for i in range(size):
                resource: cython.Py_ssize_t = queue.offsets[size, a, i] + r
                if resource >= k:
                    resource -= k
                longest = max(longest, queue.stages[groups.members[g, i], resource])
            time += longest
            if time >= least:
                break
        least = min(least, time)
    groups.weighted[g], groups.time[g] = weighted, least
    return worth(groups, g)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def worth(groups: Groups, g: cython.Py_ssize_t) -> cython.double:
    """Return what a group was worth when it was last computed."""
    return groups.weighted[g] / groups.time[g]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def with_job(
    queue: Queue, groups: Groups, g: cython.Py_ssize_t, place: cython.longlong, job: cython.longlong
) -> cython.double:
    """Try a group with a job at a place, its first empty one perhaps; return what it is worth.

    A job below 0 leaves the place empty: the others move up.
    """
    size = 0
    for s in range(max(groups.sizes[g], place + 1)):
        if s != place or job >= 0:
            groups.members[groups.trial, size] = job if s == place else groups.members[g, s]
            size += 1
    groups.sizes[groups.trial] = size
    return weigh(queue, groups, groups.trial)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def best_place(
    queue: Queue,
    groups: Groups,
    job: cython.longlong,
    own: cython.Py_ssize_t,
    least: cython.double,
) -> tuple[cython.Py_ssize_t, cython.longlong]:
    """Return the group and the place where a job brings most; -1 if nowhere more than `least`.

    A job of the group `own` only joins another one; a waiting job, with -1, may also take the place
    of one that is no seed.
    """
    k = groups.members.shape[1]
    most = least
    group: cython.Py_ssize_t = -1
    at: cython.longlong = -1
    for g in range(groups.count):
        if g == own or queue.gpus[groups.members[g, 0]] != queue.gpus[job]:
            continue
        size = groups.sizes[g]
        place: cython.longlong
        for place in range(size if own >= 0 else 0, min(size + 1, k)):
            if place < size and groups.seed[groups.members[g, place]]:
                continue
            gain = with_job(queue, groups, g, place, job) - worth(groups, g)
            if gain > most + _LEAST_GAIN * worth(groups, g):
                most, group, at = gain, g, place
    return group, at


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put(
    queue: Queue, groups: Groups, g: cython.Py_ssize_t, place: cython.longlong, job: cython.longlong
) -> cython.void:
    """Put a job at a place of a group; one that is there waits. No job, -1, leaves it empty."""
    if place < groups.sizes[g]:
        groups.waits[groups.members[g, place]] = True
    if job >= 0:
        groups.waits[job] = False
    with_job(queue, groups, g, place, job)
    groups.sizes[g] = groups.sizes[groups.trial]
    for s in range(groups.members.shape[1]):
        inside: cython.bint = s < groups.sizes[g]
        groups.members[g, s] = groups.members[groups.trial, s] if inside else -1
    groups.weighted[g], groups.time[g] = groups.weighted[groups.trial], groups.time[groups.trial]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def let_in(queue: Queue, groups: Groups) -> cython.bint:
    """Let waiting jobs join or take places, in order; return whether one did."""
    groups.in_vain[:] = 0
    improved: cython.bint = False
    for i in range(queue.order.shape[0]):
        job = queue.order[i]
        if groups.waits[job] and not groups.in_vain[queue.profile[job]]:
            g, place = best_place(queue, groups, job, -1, 0.0)
            if g < 0:
                groups.in_vain[queue.profile[job]] = True
            else:
                put(queue, groups, g, place, job)
                improved = True
    return improved


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def let_move(queue: Queue, groups: Groups) -> cython.bint:
    """Let each job that is no seed move to another group or leave; return whether one did."""
    improved: cython.bint = False
    for g in range(groups.count):
        place: cython.longlong = 0
        while place < groups.sizes[g] > 1:
            job: cython.longlong = groups.members[g, place]
            seed: cython.bint = groups.seed[job]
            lost = worth(groups, g) - with_job(queue, groups, g, place, -1)
            other, at = best_place(queue, groups, job, g, lost if seed or lost > 0.0 else 0.0)
            if other < 0 and (seed or lost > -_LEAST_GAIN * worth(groups, g)):
                place += 1
                continue
            put(queue, groups, g, place, -1)
            if other >= 0:
                put(queue, groups, other, at, job)
            improved = True
    return improved


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def exchange(queue: Queue, groups: Groups) -> cython.bint:
    """Let jobs of a profile change places, the heavier to the faster; return whether two did."""
    members = groups.members
    improved: cython.bint = False
    for g in range(groups.count):
        for h in range(groups.count):
            if groups.time[h] >= groups.time[g] * (1.0 - _LEAST_GAIN):
                continue
            for i in range(groups.sizes[g]):
                for j in range(groups.sizes[h]):
                    a: cython.longlong = members[g, i]
                    b: cython.longlong = members[h, j]
                    if queue.profile[a] == queue.profile[b] and queue.weights[a] > queue.weights[b]:
                        members[g, i], members[h, j] = b, a
                        improved = True
    for g in range(groups.count):
        weigh(queue, groups, g)
    return improved


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def swap(queue: Queue, groups: Groups) -> cython.bint:
    """Let two jobs of two groups change places; return whether two did."""
    members = groups.members
    improved: cython.bint = False
    for g in range(groups.count):
        for h in range(g + 1, groups.count):
            if queue.gpus[members[g, 0]] != queue.gpus[members[h, 0]]:
                continue
            for i in range(groups.sizes[g]):
                for j in range(groups.sizes[h]):
                    a: cython.longlong = members[g, i]
                    b: cython.longlong = members[h, j]
                    if queue.profile[a] == queue.profile[b]:
                        continue
                    before = worth(groups, g) + worth(groups, h)
                    members[g, i], members[h, j] = b, a
                    after = weigh(queue, groups, g) + weigh(queue, groups, h)
                    if after > before * (1.0 + _LEAST_GAIN):
                        improved = True
                    else:
                        members[g, i], members[h, j] = a, b
                        weigh(queue, groups, g)
                        weigh(queue, groups, h)
    return improved
