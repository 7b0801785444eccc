"""The searches for groups whose worth exceeds the prices of their jobs: one job after the other,
and pairs that complete a group. One file of more than 300 lines, as both call the same C functions.

Profiles of one class are sorted by the sum of their stages, largest first. With w the class's
weight, k resources and T the iteration time so far, adding a job d to a group S gives a reduced
value of at most

    w sum(S) / (k T) - price(S) + (w / k min(1, sum(d) / T) - price(d)),

because the time only grows, and is at least sum(d) in the end. The largest second term over all d
from some position on is read from a table by position and T (the suffix-max table); T is rounded
down to a time of the table, which only raises the term. Everything is in 64-bit floats, with the
error `groups.REDUCED_ERROR`.

`price_class` is a depth-first search, which adds profiles in their order, each at a free offset.

`price_pairs` is for many jobs. Groups of three or four begin with all but the last two of them. For
each offset that is left, the profiles are listed which at that offset may be one of the last two
jobs; then pairs of two lists are looked at. With T(S + c) the iteration time with a job c at its
offset, a group of S with c and d has a reduced value of at most

    w (sum(S) + sum(c) + sum(d)) / (k max(T(S + c), T(S + d))) - price(S) - price(c) - price(d),

which takes two look-ups where the time itself takes k steps. A profile is listed if such a value
is above the threshold with the best partner by the suffix-max table at T(S + c). Times are summed
in one order everywhere, so that rounding keeps T(S + c) <= T(S + c + d).
"""

import cython
import numpy as np

Real = cython.typedef(cython.double)
Int = cython.typedef(cython.longlong)
Index = cython.typedef(cython.Py_ssize_t)

_INF = cython.declare(cython.double, float("inf"))
STEPS_PER_DOUBLING = 64
_STEPS = cython.declare(cython.Py_ssize_t, STEPS_PER_DOUBLING)
_SMALL_QUOTA = cython.declare(cython.longlong, 64)
_SAFETY = cython.declare(cython.double, 1e-12)
"""Added to every bound before it prunes, relative to the class's weight plus its largest price; far
more than its rounding."""


@cython.final
@cython.cclass
class Class:
    """The profiles of a class and what they add at most: `programs.columns` has the meanings."""

    suffix: cython.const[cython.double][:, ::1]
    order: cython.const[cython.longlong][:, ::1]
    adds: cython.const[cython.double][:, ::1]
    low: Real
    rotated: cython.const[cython.double][:, :, ::1]
    sums: cython.const[cython.double][::1]
    prices: cython.const[cython.double][::1]
    multiplicity: cython.const[cython.longlong][::1]
    weight: Real
    fixed: Real
    smallest: Index
    largest: Index
    apart: cython.const[cython.uchar][:, ::1]
    k: Index  # resources
    n: Index  # profiles
    uniform: cython.bint  # whether all groups are of one size
    limited: cython.bint  # whether some jobs must not share
    # The weight plus the largest price and the price of a group: what a value's rounding and the
    # safety of a bound are relative to.
    scale: Real

    def __init__(self, tables, profiles):
        self.suffix, self.order, self.adds, self.low = tables
        self.rotated, self.sums, self.prices, self.multiplicity = profiles[:4]
        self.weight, self.fixed, self.smallest, self.largest, apart = profiles[4:]
        self.apart = apart.view(np.uint8)
        self.k, self.n = profiles.rotated.shape[:2]
        self.uniform, self.limited = self.smallest == self.largest, len(apart) > 0
        self.scale = self.weight + np.abs(profiles.prices).max(initial=0.0) + abs(self.fixed)


@cython.final
@cython.cclass
class Partial:
    """The group on the way; and, by their number, what the first of its jobs are together."""

    chosen: cython.longlong[::1]  # its profiles, filled up with -1,
    offset: cython.longlong[::1]  # and their offsets
    used: cython.uchar[::1]  # by offset, whether it is taken
    depth: Index  # how many jobs there are
    busiest: cython.double[:, ::1]  # the longest stage of each step
    times: cython.double[::1]  # the iteration time
    total: cython.double[::1]  # the sum of the stages
    cost: cython.double[::1]  # what the jobs cost
    worth: cython.double[::1]  # the reduced value
    rest: cython.double[::1]  # the most that a further job adds

    def __init__(self, largest, k):
        self.chosen, self.offset = np.full(largest, -1), np.zeros(largest, np.int64)
        self.used, self.depth = np.zeros(k, np.uint8), 0
        self.busiest = np.zeros((largest + 1, k))
        self.times, self.total, self.cost, self.worth, self.rest = np.zeros((5, largest + 1))


@cython.final
@cython.cclass
class Found:
    """The groups found by `price_class`, whose parameters have some of the meanings."""

    members: cython.longlong[:, ::1]
    values: cython.double[::1]
    quota: Int  # as in `programs.columns.Query`
    listing: cython.bint  # likewise
    stored: Int  # groups with other first profiles,
    kept: Int  # and with the first profile of now
    threshold: Real  # reduced values above which a group is stored: for any first profile,
    limit: Real  # and for that of now
    safety: Real  # what is added to the bounds before they prune
    best: Real  # the largest reduced value

    def __init__(self, query, members, values, safety):
        self.threshold, self.quota, _, self.listing = query
        self.members, self.values, self.safety, self.best = members, values, safety, -np.inf
        self.stored, self.kept, self.limit = 0, 0, self.threshold


@cython.final
@cython.cclass
class Pairs:
    """The groups found by `price_pairs`, and what may complete the group on the way."""

    moved: cython.const[cython.double][:, :, ::1]
    threshold: Real
    floor: Real  # the threshold less the safety of a bound
    found: Int
    members: cython.longlong[:, ::1]
    values: cython.double[::1]
    share: cython.double[::1]
    times: cython.double[::1]  # by profile, the iteration time with it at one offset
    # By offset, the profiles that are listed.
    count: cython.longlong[::1]  # how many,
    place: cython.longlong[:, ::1]  # their positions,
    time: cython.double[:, ::1]  # iteration times,
    filled: cython.double[:, ::1]  # stages times the class's weight,
    price: cython.double[:, ::1]  # and prices

    def __init__(self, moved, threshold, floor, found, members, values, share):
        k, _, n = moved.shape
        self.moved, self.threshold, self.floor, self.found = moved, threshold, floor, found
        self.members, self.values, self.share = members, values, share
        self.times = np.zeros(n)
        self.count, self.place = np.zeros(k, np.int64), np.zeros((k, n), np.int64)
        self.time, self.filled, self.price = np.zeros((3, k, n))


def price_class(
    begin: Index, end: Index, tables, profiles, query, members, values
) -> tuple[Int, Real]:
    """Search one class for groups whose reduced value is above a threshold.

    Parameters
    ----------
    begin, end
        The positions of the groups' first profiles: from `begin` to before `end`.
    tables, profiles, query
        A `GrowthTables`, `Profiles` and `Query` of `programs.columns`.
    members, values
        Arrays for the result: rows of positions, -1 where a group is smaller, and reduced values.

    Returns
    -------
    tuple
        Number of groups found (those beyond the capacity are counted, not stored), and the largest
        reduced value; one at or below the threshold may be missing.
    """
    part = Class(tables, profiles)
    group = Partial(part.largest, part.k)
    found = Found(query, members, values, _SAFETY * part.scale)
    with cython.nogil:
        for first in range(begin, end):
            found.limit = found.threshold
            found.kept = 0
            search_from(part, group, found, first)
            found.stored += found.kept
            if found.listing and found.stored > found.values.shape[0]:
                break
    return found.stored, found.best


def price_pairs(
    begin: Index,
    end: Index,
    tables,
    profiles,
    moved,
    threshold: Real,
    found: Int,
    members,
    values,
    share,
) -> Int:
    """Search one class, of groups of at most three or four jobs, for groups above a threshold.

    Parameters
    ----------
    begin, end, tables, profiles
        As in `price_class`.
    moved
        ``moved[o, j, p]`` is the stage of profile p in step j if it starts at offset o.
    found
        Groups found so far.
    members, values
        Arrays for the groups, as in `price_class`, and for their reduced values. One group may be
        there in several arrangements.
    share
        By profile: the largest share of a job in the reduced value of a group above the threshold
        with it, which is updated.

    Returns
    -------
    int
        Number of groups found; those beyond the capacity are counted, the best of them stored.
    """
    part = Class(tables, profiles)
    group = Partial(part.largest, part.k)
    floor = threshold - _SAFETY * (part.scale + abs(threshold))
    pairs = Pairs(moved, threshold, floor, found, members, values, share)
    with cython.nogil:
        for first in range(begin, end):
            begin_with(part, group, first)
            if part.smallest <= 1 and group.worth[1] > threshold:
                record(group, pairs, 1, group.worth[1])
            if part.largest == 3:
                complete(part, group, pairs, first)
                continue
            for second in range(first, part.n):
                group.depth = 1
                if copies_of(group, second) < part.multiplicity[second]:
                    complete_with(part, group, pairs, second)
    return pairs.found


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def step_of(part: Class, time: Real) -> Index:
    """Return the column of the suffix-max table at or below an iteration time.

    Steps per doubling are even, as in a float's bits: a logarithm would take most of the search.
    """
    last = part.suffix.shape[1] - 1
    step: Index = 0
    share = time / part.low
    while share >= 2.0 and step < last:
        share *= 0.5
        step += _STEPS
    if step < last:
        step += cython.cast(cython.Py_ssize_t, (share - 1.0) * _STEPS)
    return min(step, last)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def copies_of(group: Partial, p: Index) -> Int:
    """Return the number of jobs of a profile in the group."""
    copies: Int = 0
    for i in range(group.depth):
        if group.chosen[i] == p:
            copies += 1
    return copies


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def apart_from(part: Class, group: Partial, p: Index) -> cython.bint:
    """Return whether a profile must not share with one that is in the group."""
    if part.limited:
        for i in range(group.depth):
            if part.apart[group.chosen[i], p]:
                return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def begin_with(part: Class, group: Partial, first: Index) -> cython.void:
    """Let the group be one job. It stays at offset 0: a cyclic shift changes nothing."""
    for i in range(part.largest):
        group.chosen[i] = -1
    for j in range(part.k):
        group.used[j] = False
        group.busiest[0, j] = 0.0
    group.depth, group.total[0], group.cost[0] = 0, 0.0, part.fixed
    grow(part, group, first, 0)
    group.chosen[0], group.used[0], group.depth = first, True, 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def growth_bound(part: Class, more: Real, value: Real, depth: Index) -> Real:
    """Return a bound on a group's value with more jobs than `depth`; with all, if uniform."""
    left = part.largest - depth
    if part.uniform:
        return value + left * more
    return value + more + (left - 1) * max(0.0, more)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def search_from(part: Class, group: Partial, found: Found, first: Index) -> cython.void:
    """Search the groups with one first profile; the end is early if a list is not complete."""
    begin_with(part, group, first)
    grown: cython.bint = True
    while True:
        if found.listing and found.stored + found.kept > found.values.shape[0]:
            return
        if not (grown and look_at(part, group, found)):
            # Remove the last job and try its next position.
            group.depth -= 1
            if group.depth == 0:
                return
            group.used[group.offset[group.depth]] = False
        grown = add_next(part, group, found)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def look_at(part: Class, group: Partial, found: Found) -> cython.bint:
    """Store the group if it is good enough; return whether jobs are to be added one by one."""
    depth = group.depth
    value = group.worth[depth]
    if depth >= part.smallest:
        offer(group, found, value)
    if depth == part.largest:
        return False
    if growth_bound(part, group.rest[depth], value, depth) <= found.limit - found.safety:
        return False
    if depth == part.largest - 1:
        add_last(part, group, found)
        return False
    group.chosen[depth], group.offset[depth] = group.chosen[depth - 1], 0
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_last(part: Class, group: Partial, found: Found) -> cython.void:
    """Add each profile as the last job, which needs no bookkeeping; most of the time goes here."""
    depth, k = group.depth, part.k
    start, value = group.chosen[depth - 1], group.worth[depth]
    t = step_of(part, group.times[depth])
    for r in range(part.n):
        if value + part.adds[t, r] <= found.limit - found.safety:
            break
        p: Index = part.order[t, r]
        if p < start:
            continue
        if p == start and copies_of(group, p) >= part.multiplicity[p]:
            continue
        if apart_from(part, group, p):
            continue
        shortest: Real = _INF
        for o in range(1, k):
            if not group.used[o]:
                longer: Real = 0.0
                for j in range(k):
                    longer += max(group.busiest[depth, j], part.rotated[o, p, j])
                shortest = min(shortest, longer)
        full = part.weight * (group.total[depth] + part.sums[p]) / (k * shortest)
        full -= group.cost[depth] + part.prices[p]
        group.chosen[depth] = p
        offer(group, found, full)
        group.chosen[depth] = -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_next(part: Class, group: Partial, found: Found) -> cython.bint:
    """Add the next profile, at an offset, whose value or growth bound is large enough, if any."""
    depth = group.depth
    p: Index = group.chosen[depth]
    o: Index = group.offset[depth] + 1
    while p < part.n:
        same: cython.bint = p == group.chosen[depth - 1]
        if worth_adding(part, group, found, p, same):
            while o < part.k:
                free: cython.bint = not group.used[o] and not (same and o < group.offset[depth - 1])
                if free and fits(part, group, found, p, o):
                    group.chosen[depth], group.offset[depth], group.used[o] = p, o, True
                    group.depth += 1
                    return True
                o += 1
        p += 1
        o = 1
    group.chosen[depth] = -1
    group.offset[depth] = 0
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def worth_adding(
    part: Class, group: Partial, found: Found, p: Index, same: cython.bint
) -> cython.bint:
    """Return whether a job of a profile may be added, by what it and further ones add at most."""
    depth = group.depth
    copies = copies_of(group, p) if same else 0
    if copies >= part.multiplicity[p]:
        return False
    # At the time so far.
    share = part.sums[p] / max(part.sums[p], group.times[depth])
    value = group.worth[depth] + (part.weight / part.k * min(1.0, share) - part.prices[p])
    limit = found.limit - found.safety
    if value <= limit and growth_bound(part, group.rest[depth], value, depth + 1) <= limit:
        return False
    return not apart_from(part, group, p)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def fits(part: Class, group: Partial, found: Found, p: Index, o: Index) -> cython.bint:
    """Return whether the group with a profile at an offset, or with more jobs, may be enough."""
    grow(part, group, p, o)
    size = group.depth + 1
    value = group.worth[size]
    if size >= part.smallest and value > found.best:
        found.best = value
    limit = found.limit - found.safety
    return value > limit or growth_bound(part, group.rest[size], value, size) > limit


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def grow(part: Class, group: Partial, p: Index, o: Index) -> cython.void:
    """Compute what the group is with one more job, at an offset; its depth stays."""
    depth, size = group.depth, group.depth + 1
    time: Real = 0.0
    for j in range(part.k):
        slot: Real = max(group.busiest[depth, j], part.rotated[o, p, j])
        group.busiest[size, j] = slot
        time += slot
    group.times[size] = time
    group.total[size] = group.total[depth] + part.sums[p]
    group.cost[size] = group.cost[depth] + part.prices[p]
    group.worth[size] = part.weight * group.total[size] / (part.k * time) - group.cost[size]
    group.rest[size] = part.suffix[p, step_of(part, time)]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def offer(group: Partial, found: Found, value: Real) -> cython.void:
    """Take note of a group's value; store it, if that is above the limit, and raise the limit."""
    found.best = max(found.best, value)
    if value > found.limit:
        store(group, found, value)
        capacity = found.values.shape[0]
        if found.kept == found.quota and found.stored + found.kept <= capacity:
            found.limit = max(found.limit, found.values[least(found)])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def store(group: Partial, found: Found, value: Real) -> cython.void:
    """Store a group among the best of its first profile.

    Several arrangements of one group may be met; with a small quota only the best of them stays.
    Groups beyond the capacity are counted, not stored.
    """
    if found.stored + found.kept >= found.values.shape[0]:
        found.kept = min(found.kept + 1, found.quota)
        return
    if found.quota <= _SMALL_QUOTA:
        for i in range(found.stored, found.stored + found.kept):
            same: cython.bint = True
            for j in range(group.chosen.shape[0]):
                same = same and found.members[i, j] == group.chosen[j]
            if same:
                found.values[i] = max(found.values[i], value)
                return
    place = found.stored + found.kept
    if found.kept < found.quota:
        found.kept += 1
    else:
        place = least(found)
    found.values[place] = value
    for j in range(group.chosen.shape[0]):
        found.members[place, j] = group.chosen[j]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def least(found: Found) -> Int:
    """Return the position of the least value of the first profile of now."""
    place = found.stored
    for i in range(found.stored + 1, found.stored + found.kept):
        if found.values[i] < found.values[place]:
            place = i
    return place


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def record(group: Partial, pairs: Pairs, size: Index, value: Real) -> cython.void:
    """Record the group of the first jobs; beyond the capacity it replaces one of less value."""
    for i in range(size):
        p = group.chosen[i]
        pairs.share[p] = max(pairs.share[p], value / size)
    capacity = pairs.values.shape[0]
    place = pairs.found % capacity
    if pairs.found < capacity or value > pairs.values[place]:
        pairs.values[place] = value
        for i in range(group.chosen.shape[0]):
            pairs.members[place, i] = group.chosen[i] if i < size else -1
    pairs.found += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def complete_with(part: Class, group: Partial, pairs: Pairs, second: Index) -> cython.void:
    """Record the groups above the threshold that begin with the first job and another one."""
    if apart_from(part, group, second):
        return
    for shift in range(1, part.k):
        group.depth = 1
        grow(part, group, second, shift)
        for j in range(part.k):
            group.used[j] = j in (0, shift)
        group.chosen[1], group.depth = second, 2
        if part.smallest <= 2 and group.worth[2] > pairs.threshold:
            record(group, pairs, 2, group.worth[2])
        complete(part, group, pairs, second)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def more_than(part: Class, add: Real, missing: Int) -> Real:
    """Return the most that up to `missing` jobs add; with all of them, if uniform."""
    return missing * (add if part.uniform else max(0.0, add))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def complete(part: Class, group: Partial, pairs: Pairs, last: Index) -> cython.void:
    """Record the groups above the threshold with up to two more jobs, from the last profile on."""
    best = group.rest[group.depth]
    if group.worth[group.depth] + more_than(part, best, 2) <= pairs.floor:
        return
    for o in range(1, part.k):
        pairs.count[o] = 0
        if not group.used[o]:
            list_at(part, group, pairs, o, last, more_than(part, best, 1))
    for o in range(1, part.k):
        for q in range(o + 1, part.k):
            join(part, group, pairs, o, q)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def times_with(part: Class, group: Partial, pairs: Pairs, o: Index, begin: Index) -> cython.void:
    """Compute the iteration time with each profile from a position on, at one offset."""
    p: Index
    for p in range(begin, part.n):
        pairs.times[p] = 0.0
    for j in range(part.k):
        most: Real = group.busiest[group.depth, j]
        for p in range(begin, part.n):
            stage: Real = pairs.moved[o, j, p]
            pairs.times[p] += stage if stage > most else most


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def list_at(
    part: Class, group: Partial, pairs: Pairs, o: Index, begin: Index, best: Real
) -> cython.void:
    """List the profiles at an offset that may be one of the last two jobs; record their groups.

    `best` is the most that the other one adds.
    """
    depth, k, m = group.depth, part.k, 0
    total, cost = group.total[depth], group.cost[depth]
    times_with(part, group, pairs, o, begin)
    for p in range(begin, part.n):
        time = pairs.times[p]
        worth = part.weight * (total + part.sums[p])
        if worth <= k * time * (cost + part.prices[p] - best + pairs.floor):
            continue
        if copies_of(group, p) >= part.multiplicity[p] or apart_from(part, group, p):
            continue
        value = worth / (k * time) - cost - part.prices[p]
        if part.smallest <= depth + 1 and value > pairs.threshold:
            group.chosen[depth] = p
            record(group, pairs, depth + 1, value)
        add: Real = part.suffix[begin, step_of(part, time)]
        if value + more_than(part, add, 1) > pairs.floor:
            pairs.place[o, m] = p
            pairs.time[o, m] = time
            pairs.filled[o, m] = part.weight * part.sums[p]
            pairs.price[o, m] = part.prices[p]
            m += 1
    pairs.count[o] = m


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def join(part: Class, group: Partial, pairs: Pairs, o: Index, q: Index) -> cython.void:
    """Record the groups above the threshold that a pair of two lists completes."""
    depth = group.depth
    for i in range(pairs.count[o]):
        p: Index = pairs.place[o, i]
        time: Real = pairs.time[o, i]
        worth: Real = part.weight * group.total[depth] + pairs.filled[o, i]
        charge: Real = group.cost[depth] + pairs.price[o, i] + pairs.floor
        at: Int
        m: Int
        # Sixteen pairs are looked at together first: the processor computes several at once.
        for at in range(0, pairs.count[q], 16):
            until = min(at + 16, pairs.count[q])
            if promising(part, pairs, q, at, until, time, worth, charge) > 0:
                for m in range(at, until):
                    if promising(part, pairs, q, m, m + 1, time, worth, charge) > 0:
                        close(part, group, pairs, o, p, q, pairs.place[q, m])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def promising(
    part: Class,
    pairs: Pairs,
    q: Index,
    begin: Int,
    end: Int,
    other: Real,
    worth: Real,
    charge: Real,
) -> Int:
    """Return how many pairs of one profile with some of a list may be above the threshold."""
    count: Int = 0
    for m in range(begin, end):
        time: Real = pairs.time[q, m]
        time = time if time > other else other
        most = part.k * time * (charge + pairs.price[q, m])
        count += 1 if worth + pairs.filled[q, m] > most else 0
    return count


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def close(
    part: Class, group: Partial, pairs: Pairs, o: Index, p: Index, q: Index, d: Index
) -> cython.void:
    """Record the group with profiles p and d at offsets o and q, if it is above the threshold."""
    depth = group.depth
    group.chosen[depth] = p
    if copies_of(group, d) + (1 if p == d else 0) >= part.multiplicity[d]:
        return
    if part.limited and part.apart[p, d]:
        return
    time: Real = 0.0
    for j in range(part.k):
        slot: Real = max(group.busiest[depth, j], pairs.moved[o, j, p])
        time += max(slot, pairs.moved[q, j, d])
    total = group.total[depth] + part.sums[p] + part.sums[d]
    cost = group.cost[depth] + part.prices[p] + part.prices[d]
    value = part.weight * total / (part.k * time) - cost
    if value > pairs.threshold:
        group.chosen[depth + 1] = d
        record(group, pairs, part.largest, value)
