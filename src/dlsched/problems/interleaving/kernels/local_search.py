"""The local searches of `swap` and `regroup`: two groups of one class at a time are changed.

`swap` lets two jobs change places, or one move; `regroup` divides the jobs of both groups anew.
The two are one file of more than 300 lines, as both call, as C, what computes an efficiency.
"""

import cython
import numpy as np

Real = cython.typedef(cython.double)
Int = cython.typedef(cython.longlong)
Index = cython.typedef(cython.Py_ssize_t)

_INF = cython.declare(cython.double, float("inf"))
_LEAST_GAIN = cython.declare(cython.double, 1e-12)
_PENALTY = cython.declare(cython.double, 100.0)
"""What two jobs of a group cost that must not share; an efficiency is at most 1."""
_EFFORT = cython.declare(cython.longlong, 1 << 18)
"""Most divisions times arrangements of a group for which every division of two groups is tried."""


@cython.final
@cython.cclass
class Jobs:
    """The jobs of an instance, and the arrangements of groups of them."""

    stages: cython.const[cython.double][:, ::1]  # jobs x resources, not all 0 for any job
    alone: cython.const[cython.double][::1]  # the sum of each job
    apart: cython.const[cython.uchar][:, ::1]  # jobs x jobs: must not share; without rows any may
    arrangements: cython.longlong[::1]  # by size of a group, how many there are
    offsets: cython.longlong[:, :, ::1]  # by size, in each of these the offset of each job

    def __init__(self, stages, arrangements, offsets, apart=None):
        """Take the stages, the offsets by size, and pairs that must not share, if any."""
        pairs = np.zeros((0, 0), bool) if apart is None else np.ascontiguousarray(apart)
        self.alone = np.ascontiguousarray(np.add.accumulate(stages, axis=1)[:, -1])
        self.stages, self.apart = stages, pairs.view(np.uint8)
        self.arrangements, self.offsets = arrangements, offsets


@cython.final
@cython.cclass
class ClassGroups:
    """The groups of a class, and the two of them that are looked at."""

    # As in `exchange_pass`.
    jobs: Jobs
    members: cython.longlong[:, ::1]
    sizes: cython.longlong[::1]
    uniform: cython.bint
    changed: cython.longlong[::1]
    number: Int
    worth: cython.double[::1]  # by group its efficiency; 0 of an empty one
    joined: cython.longlong[::1]  # the jobs of the two groups, if they are divided anew
    trial: cython.longlong[:, ::1]  # 2 x largest: the two groups as they may become,
    trial_sizes: cython.longlong[::1]  # their sizes,
    bounds: cython.double[::1]  # and bounds on their efficiencies

    def __init__(self, jobs, members, sizes, uniform, changed, number):
        largest = members.shape[1]
        self.jobs, self.members, self.sizes, self.uniform = jobs, members, sizes, uniform
        self.changed, self.number, self.worth = changed, number, np.zeros(len(members))
        self.joined = np.empty(2 * largest, np.int64)
        self.trial = np.empty((2, largest), np.int64)
        self.trial_sizes, self.bounds = np.empty(2, np.int64), np.empty(2)


def exchange_pass(jobs: Jobs, members, sizes, uniform, changed, number) -> cython.bint:
    """Try every two groups for the swap or the move that helps most.

    Two groups that have not changed since they were last tried are left out.

    Parameters
    ----------
    jobs
        A `Jobs`.
    members, sizes
        Groups x largest: the positions of their jobs, filled up with -1, and how many each has.
        Changed in place.
    uniform
        Whether sizes stay as they are; else a job of a group of two or more may also move to a
        group that is not full.
    changed, number
        When each group last changed, as `look` counts, changed in place; and this pass, from 1. A
        group that counts as new changed at the end of a pass 0, any other one before it.

    Returns
    -------
    bool
        Whether one helped.
    """
    groups = ClassGroups(jobs, members, sizes, uniform, changed, number)
    improved: cython.bint = False
    with cython.nogil:
        weigh(groups)
        for g in range(groups.worth.shape[0]):
            for h in range(g + 1, groups.worth.shape[0]):
                if not due(groups, g, h):
                    continue
                i, j = best_exchange(groups, g, h)
                if i >= 0:
                    improved = True
                    groups.changed[g] = look(groups, groups.number, g, h)
                    groups.changed[h] = groups.changed[g]
                    exchanged(groups, g, h, i, j)
                    put(groups, 0, g)
                    put(groups, 1, h)
    return improved


def divide_pairs(jobs: Jobs, members, sizes, uniform, changed, number, price: Real) -> cython.bint:
    """Divide the jobs of every two groups anew, once.

    With many jobs on many resources only divisions are tried that differ by an exchange of two
    jobs, by one job or two that move, or by merging.

    Parameters
    ----------
    jobs, members, sizes, uniform, changed, number
        As in `exchange_pass`; but a group may be empty.
    price
        What a group with jobs costs; below 0 if none may become empty or get its first job.

    Returns
    -------
    bool
        Whether a division helped; if not, none does.
    """
    groups = ClassGroups(jobs, members, sizes, uniform, changed, number)
    count = groups.worth.shape[0]
    improved: cython.bint = False
    with cython.nogil:
        weigh(groups)
        for g in range(count):
            emptied: cython.bint = False
            for h in range(g + 1, count):
                if groups.sizes[g] == 0:
                    break
                if groups.sizes[h] == 0 and (price < 0.0 or emptied):
                    continue
                emptied = emptied or groups.sizes[h] == 0
                if not due(groups, g, h):
                    continue
                mask = best_division(groups, g, h, price)
                if mask < 0:
                    continue
                improved = True
                # Further empty groups are not tried with the new group in this pass.
                last = count - 1 if emptied else h
                groups.changed[g] = look(groups, groups.number, g, last)
                groups.changed[h] = look(groups, groups.number, g, h)
                divide(groups, groups.sizes[g] + groups.sizes[h], mask)
                put(groups, 0, g)
                put(groups, 1, h)
    return improved


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def gamma(jobs: Jobs, rows: cython.longlong[:, ::1], row: Index, size: Int) -> Real:
    """Return a group's efficiency at its best offsets, less a penalty if jobs must not share."""
    k = jobs.stages.shape[1]
    filled: Real = 0.0
    for i in range(size):
        for j in range(k):
            filled += jobs.stages[rows[row, i], j]
    least: Real = _INF
    for a in range(jobs.arrangements[size]):
        least = min(least, time_of(jobs, rows, row, size, a, least))
    cost = 0.0
    if jobs.apart.shape[0] > 0:
        for i in range(size):
            for j in range(i):
                if jobs.apart[rows[row, i], rows[row, j]]:
                    cost += _PENALTY
    return filled / (k * least) - cost


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def time_of(
    jobs: Jobs, rows: cython.longlong[:, ::1], row: Index, size: Int, a: Index, most: Real
) -> Real:
    """Return a group's iteration time in one arrangement; the sum so far where it reaches most."""
    k = jobs.stages.shape[1]
    time: Real = 0.0
    for j in range(k):
        longest: Real = 0.0
        for i in range(size):
            resource: Index = jobs.offsets[size, a, i] + j
            if resource >= k:
                resource -= k
            longest = max(longest, jobs.stages[rows[row, i], resource])
        time += longest
        if time >= most:
            break
    return time


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def weigh(groups: ClassGroups) -> cython.void:
    """Compute what every group is worth."""
    for g in range(groups.worth.shape[0]):
        if groups.sizes[g] > 0:
            groups.worth[g] = gamma(groups.jobs, groups.members, g, groups.sizes[g])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def look(groups: ClassGroups, number: Int, g: Index, h: Index) -> Int:
    """Return when a pass looks at two groups, the first before the second: pairs in their order."""
    count = groups.worth.shape[0]
    return (number * count + g) * count + h


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def due(groups: ClassGroups, g: Index, h: Index) -> cython.bint:
    """Return whether one of two groups changed since they were looked at in the pass before."""
    last = look(groups, groups.number - 1, g, h)
    return groups.changed[g] >= last or groups.changed[h] >= last


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put(groups: ClassGroups, part: Index, g: Index) -> cython.void:
    """Let a group be what it is in the trial."""
    size = groups.trial_sizes[part]
    groups.sizes[g] = size
    for i in range(groups.members.shape[1]):
        groups.members[g, i] = groups.trial[part, i] if i < size else -1
    groups.worth[g] = gamma(groups.jobs, groups.members, g, size) if size > 0 else 0.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def exchanged(groups: ClassGroups, g: Index, h: Index, i: Int, j: Int) -> Real:
    """Return the efficiency of two groups after an exchange, which is left in the trial.

    The i-th job of one and the j-th of the other change places. A place after a group's last job is
    empty: the other group's job moves there.
    """
    a, b = groups.sizes[g], groups.sizes[h]
    trial = groups.trial
    for s in range(trial.shape[1]):
        trial[0, s] = groups.members[g, s]
        trial[1, s] = groups.members[h, s]
    if i < a and j < b:
        trial[0, i], trial[1, j] = trial[1, j], trial[0, i]
    elif i < a:
        trial[1, b] = trial[0, i]
        trial[0, i] = trial[0, a - 1]
        a, b = a - 1, b + 1
    else:
        trial[0, a] = trial[1, j]
        trial[1, j] = trial[1, b - 1]
        a, b = a + 1, b - 1
    groups.trial_sizes[0], groups.trial_sizes[1] = a, b
    return gamma(groups.jobs, trial, 0, a) + gamma(groups.jobs, trial, 1, b)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def possible(groups: ClassGroups, g: Index, h: Index, i: Int, j: Int) -> cython.bint:
    """Return whether one of the places is empty and the other group's job may move there."""
    there: cython.bint = j == groups.sizes[h]
    back: cython.bint = i == groups.sizes[g]
    if there == back:
        return False
    giver, taker = (g, h) if there else (h, g)
    return groups.sizes[giver] >= 2 and groups.sizes[taker] < groups.members.shape[1]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def best_exchange(groups: ClassGroups, g: Index, h: Index) -> tuple[Int, Int]:
    """Return the places of the swap or move of two groups that helps most; -1, -1 if none does.

    Swaps first; moves, one of the places empty, where no swap helps.
    """
    before = groups.worth[g] + groups.worth[h]
    best = _LEAST_GAIN
    bi: Int = -1
    bj: Int = -1
    for moving in range(2):
        if moving == 1 and (groups.uniform or bi >= 0):
            break
        for i in range(groups.sizes[g] + moving):
            for j in range(groups.sizes[h] + moving):
                if moving == 1 and not possible(groups, g, h, i, j):
                    continue
                gain = exchanged(groups, g, h, i, j) - before
                if gain > best:
                    best, bi, bj = gain, i, j
    return bi, bj


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def ones(mask: Int) -> Int:
    """Return how many bits of a mask are set."""
    count: Int = 0
    while mask > 0:
        count += mask & 1
        mask >>= 1
    return count


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def near(mask: Int, first: Int, total: Int) -> cython.bint:
    """Return whether a division merges two groups, or one or two jobs move or change places.

    Before it the first jobs, as many as `first`, are in one part and the others in the other.
    """
    moved = ones(mask ^ ((1 << first) - 1))
    return min(moved, total - moved) <= 2 or ones(mask) == total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def allowed(groups: ClassGroups, mask: Int, first: Int, total: Int, price: Real) -> cython.bint:
    """Return whether the parts have sizes that groups may have."""
    small = ones(mask)
    small = min(small, total - small)
    if total - small > groups.members.shape[1] or (small == 0 and price < 0.0):
        return False
    return not groups.uniform or small == min(first, total - first)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def divide(groups: ClassGroups, total: Int, mask: Int) -> cython.void:
    """Divide the joined jobs into two parts by the bits of a mask, and bound the efficiencies.

    An iteration takes at least as long as the stages of each job, and those on each resource.
    """
    k = groups.jobs.stages.shape[1]
    for part in range(2):
        size = 0
        filled: Real = 0.0
        longest: Real = 0.0
        for i in range(total):
            if (mask >> i) & 1 != part:
                j = groups.joined[i]
                groups.trial[part, size] = j
                size += 1
                filled += groups.jobs.alone[j]
                longest = max(longest, groups.jobs.alone[j])
        for r in range(k):
            load: Real = 0.0
            for i in range(size):
                load += groups.jobs.stages[groups.trial[part, i], r]
            longest = max(longest, load)
        groups.trial_sizes[part] = size
        groups.bounds[part] = filled / (k * longest) if size > 0 else 0.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def best_division(groups: ClassGroups, g: Index, h: Index, price: Real) -> Int:
    """Return the mask of the best division of two groups' jobs, which are joined; -1 if none helps.

    The bits that are set are those of the first part, which has the first job.
    """
    first, total = groups.sizes[g], groups.sizes[g] + groups.sizes[h]
    for i in range(first):
        groups.joined[i] = groups.members[g, i]
    for i in range(first, total):
        groups.joined[i] = groups.members[h, i - first]
    most = min(total, groups.members.shape[1])
    far: cython.bint = (1 << (total - 1)) * groups.jobs.arrangements[most] > _EFFORT
    best = groups.worth[g] + groups.worth[h] + _LEAST_GAIN
    if total > first and price >= 0.0:
        best -= price
    kept: Int = -1
    mask: Int
    for mask in range(1, 1 << total, 2):
        if not allowed(groups, mask, first, total, price):
            continue
        if far and not near(mask, first, total):
            continue
        divide(groups, total, mask)
        second = groups.trial_sizes[1]
        cost = price if second > 0 and price >= 0.0 else 0.0
        if groups.bounds[0] + groups.bounds[1] - cost <= best:
            continue
        value = gamma(groups.jobs, groups.trial, 0, groups.trial_sizes[0]) - cost
        if value + groups.bounds[1] <= best:
            continue
        if second > 0:
            value += gamma(groups.jobs, groups.trial, 1, second)
        if value > best:
            best, kept = value, mask
    return kept
