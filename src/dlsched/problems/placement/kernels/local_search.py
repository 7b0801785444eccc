"""Changes of a placement: what follows from them, and the searches that make them.

A change is a list of tables with their new homes. It reaches the jobs that read these tables, and
of the GPUs only the regions and types of the jobs that run elsewhere afterwards. `_undo` restores
what the last change overwrote: costs from copies, whole numbers (bytes and hours) by subtraction,
which is exact.

The infeasibility is one number: bytes above capacity, CPU hours above quota, and GPU hours that are
missing at home, each as a share of the total; 0 means feasible. The move quota is not part of it.

This is one file, as the searches call as C what a change does: where jobs run, the parts of the
cost, changes, and hill climbing and annealing.
"""

import cython
import numpy as np
from cython.cimports.libc.math import exp, fabs

_COST = cython.declare(cython.int, 0)
_INFEASIBILITY = cython.declare(cython.int, 1)
_MOVED = cython.declare(cython.int, 2)
_AT_HOME = cython.declare(cython.int, 3)
_STORAGE_EXCESS = cython.declare(cython.int, 4)
_CPU_EXCESS = cython.declare(cython.int, 5)
_SUMS = cython.declare(cython.int, 6)
"""Positions in ``sums`` of a `State`, and their number."""
_TABLES = cython.declare(cython.int, 0)
_READERS = cython.declare(cython.int, 1)
"""Positions in ``counts``."""
_ROUNDING = cython.declare(cython.double, 1e-14)
"""A change of the cost below this share of the terms that it is the sum of is rounding."""
DRAWS = 7
"""Random numbers of one trial of annealing."""
_TABLE = cython.declare(cython.double, 0.35)
_JOB = cython.declare(cython.double, 0.6)
_SWAP = cython.declare(cython.double, 0.7)
_CLUSTER = cython.declare(cython.double, 0.85)
"""Below which number a trial is a table's move, a job's, a swap, or a cluster's move; above the
last, a swap of clusters."""
_GUIDED = cython.declare(cython.double, 0.75)
"""Chance that a move goes where some of the readers' tables are."""
_MODULUS = cython.declare(cython.longlong, 2**31 - 1)
_FACTOR = cython.declare(cython.longlong, 16807)
"""Of Lehmer's generator, for numbers that a trial needs beyond its draws."""
RELATIVE = 1e-12
_RELATIVE = cython.declare(cython.double, RELATIVE)
"""A relative decrease of the cost below this is rounding: the sums are updated move by move."""


@cython.final
@cython.cclass
class Data:
    """The arrays and numbers of `structures.arrays.Data`, which has their meaning.

    What it has by region and type is flat here, by cell: a region's types are together. So is what
    it has by type and priority.

    Attributes
    ----------
    tables, jobs, regions, kinds, priorities, apps
        How many there are.
    today
        The homes of today.
    by_size
        Tables, largest first.
    """

    tables: cython.longlong
    jobs: cython.longlong
    regions: cython.longlong
    kinds: cython.longlong
    priorities: cython.longlong
    apps: cython.longlong
    size: cython.const[cython.double][::1]
    today: cython.const[cython.longlong][::1]
    by_size: cython.const[cython.longlong][::1]
    capacity: cython.const[cython.double][::1]
    capacity_share: cython.const[cython.double][::1]
    bytes_total: cython.double
    bytes_read: cython.double
    quota: cython.double
    job_start: cython.const[cython.longlong][::1]
    job_tables: cython.const[cython.longlong][::1]
    table_start: cython.const[cython.longlong][::1]
    table_jobs: cython.const[cython.longlong][::1]
    ml: cython.const[cython.uchar][::1]
    job_bytes: cython.const[cython.double][::1]
    hours_start: cython.const[cython.longlong][::1]
    hours_kind: cython.const[cython.longlong][::1]
    hours: cython.const[cython.double][::1]
    urgent: cython.const[cython.double][::1]
    priority: cython.const[cython.longlong][::1]
    load_unit: cython.const[cython.double][::1]
    supply_load: cython.const[cython.double][::1]
    supply_share: cython.const[cython.double][::1]
    wanted: cython.const[cython.double][::1]
    priority_weight: cython.const[cython.double][::1]
    app: cython.const[cython.longlong][::1]
    cpu_hours: cython.const[cython.double][::1]
    cpu_total: cython.double
    cpu_quota: cython.const[cython.double][::1]
    threshold: cython.double
    slope: cython.double
    traffic_weight: cython.double
    gpu_weight: cython.double
    storage_weight: cython.double

    def __init__(self, data) -> None:
        self.tables, self.jobs = len(data.size), len(data.ml)
        self.regions, self.apps = data.cpu_quota.shape
        self.kinds, self.priorities = data.wanted.shape
        self.size, self.today = data.size, data.home
        self.by_size = np.argsort(-data.size, kind="stable")
        self.capacity, self.capacity_share = data.capacity, data.capacity_share
        self.bytes_total, self.bytes_read = data.bytes_total, data.bytes_read
        self.quota, self.storage_weight = data.quota, data.storage_weight
        self.job_start, self.job_tables = data.job_start, data.job_tables
        self.table_start, self.table_jobs = data.table_start, data.table_jobs
        self.ml, self.job_bytes = data.ml.view(np.uint8), data.job_bytes
        self.hours_start, self.hours_kind = data.hours_start, data.hours_kind
        self.hours, self.urgent, self.priority = data.hours, data.urgent, data.priority
        self.load_unit, self.wanted = data.load_unit.ravel(), data.wanted.ravel()
        self.supply_load, self.supply_share = data.supply_load.ravel(), data.supply_share.ravel()
        self.priority_weight = data.priority_weight
        self.app, self.cpu_hours = data.app, data.cpu_hours
        self.cpu_total, self.cpu_quota = data.cpu_total, data.cpu_quota.ravel()
        self.threshold, self.slope = data.threshold, data.slope
        self.traffic_weight, self.gpu_weight = data.traffic_weight, data.gpu_weight


@cython.final
@cython.cclass
class State:
    """A placement and its sums, as `structures.state.State` describes them; and the last change.

    Attributes
    ----------
    log_table, log_home
        The tables of the last change and their homes, new ones before it and old ones after it.
    log_job, log_region, log_near
        The readers for which it makes a difference, with their old regions and bytes.
    changed, log_part, log_gpu
        Whether it reaches a region, with the region's old parts of the cost.
    log_sums
        The old sums.
    counts
        How many tables and readers are listed.
    listed, seen, marked, votes
        Work space, 0 between changes: by table, job, cell and region.
    """

    home: cython.longlong[::1]
    best: cython.longlong[::1]
    job_region: cython.longlong[::1]
    near: cython.double[::1]
    demand: cython.double[::1]
    part: cython.double[::1]
    gpu: cython.double[::1]
    stored: cython.double[::1]
    cpu: cython.double[::1]
    sums: cython.double[::1]
    log_table: cython.longlong[::1]
    log_home: cython.longlong[::1]
    log_job: cython.longlong[::1]
    log_region: cython.longlong[::1]
    log_near: cython.double[::1]
    log_part: cython.double[::1]
    log_gpu: cython.double[::1]
    log_sums: cython.double[::1]
    counts: cython.longlong[::1]
    listed: cython.longlong[::1]
    seen: cython.longlong[::1]
    changed: cython.longlong[::1]
    marked: cython.longlong[::1]
    votes: cython.longlong[::1]

    def __init__(self, home, best, job_region, near, demand, part, gpu, stored, cpu, sums) -> None:
        self.home, self.best, self.job_region, self.near = home, best, job_region, near
        self.demand, self.part, self.gpu = demand.ravel(), part, gpu
        self.stored, self.cpu, self.sums = stored, cpu, sums
        whole = np.int64
        self.log_table, self.log_home, self.listed = np.zeros((3, len(home)), dtype=whole)
        self.log_job, self.log_region, self.seen = np.zeros((3, len(near)), dtype=whole)
        self.changed, self.votes = np.zeros((2, len(gpu)), dtype=whole)
        self.marked, self.counts = np.zeros(len(part), dtype=whole), np.zeros(2, dtype=whole)
        self.log_near, self.log_part = np.zeros(len(near)), np.zeros(len(part))
        self.log_gpu, self.log_sums = np.zeros(len(gpu)), np.zeros(len(sums))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _region_of(data: Data, state: State, j: cython.longlong) -> cython.longlong:
    """Return the region where a job runs with the tables at their homes; -1 for none."""
    first, last = data.job_start[j], data.job_start[j + 1]
    best = state.home[data.job_tables[first]]
    together: cython.bint = True
    for i in range(first, last):
        if state.home[data.job_tables[i]] != best:
            together = False
            break
    if together:
        return best
    if data.ml[j]:
        return -1
    for i in range(first, last):
        state.votes[state.home[data.job_tables[i]]] += 1
    for i in range(first, last):
        r = state.home[data.job_tables[i]]
        more = state.votes[r] - state.votes[best]
        if more > 0 or (more == 0 and r < best):
            best = r
    for i in range(first, last):
        state.votes[state.home[data.job_tables[i]]] = 0
    return best


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _bytes_near(data: Data, state: State, j: cython.longlong, r: cython.longlong) -> cython.double:
    """Return the bytes that a job reads in its region if that is `r`."""
    total = 0.0
    if r >= 0:
        for i in range(data.job_start[j], data.job_start[j + 1]):
            if state.home[data.job_tables[i]] == r:
                total += data.size[data.job_tables[i]]
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_hours(
    data: Data, state: State, j: cython.longlong, r: cython.longlong, sign: cython.double
) -> cython.void:
    """Add a job's hours to a region (`sign` 1), or subtract them (-1), and to the sums."""
    if r < 0:
        return
    at_home = 0.0
    for i in range(data.hours_start[j], data.hours_start[j + 1]):
        cell = r * data.kinds + data.hours_kind[i]
        state.demand[cell * data.priorities + data.priority[j]] += sign * data.hours[i]
        state.marked[cell] = 1
        if data.supply_share[cell] > 0:
            at_home += sign * data.urgent[i]
    state.sums[_AT_HOME] += at_home
    if data.app[j] >= 0:
        limited = r * data.apps + data.app[j]
        before = max(0.0, state.cpu[limited] - data.cpu_quota[limited])
        state.cpu[limited] += sign * data.cpu_hours[j]
        after = max(0.0, state.cpu[limited] - data.cpu_quota[limited])
        state.sums[_CPU_EXCESS] += after - before


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _cell_cost(data: Data, state: State, cell: cython.longlong) -> cython.double:
    """Return a region's and a GPU type's part of (2)."""
    load = 0.0
    squares = 0.0
    kind = cell % data.kinds
    for p in range(data.priorities):
        kind_and_priority = kind * data.priorities + p
        wanted = data.wanted[kind_and_priority]
        if wanted > 0:
            hours = state.demand[cell * data.priorities + p]
            load += hours * data.load_unit[kind_and_priority]
            difference = hours / wanted - data.supply_share[cell]
            squares += data.priority_weight[p] * difference * difference
    over = load - data.supply_load[cell]
    if over > 0.0 and data.slope != 0.0:
        return squares / (1.0 + exp(-data.slope * over))
    return 0.5 * squares


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sum_cells(data: Data, state: State, r: cython.longlong) -> cython.double:
    """Compute the marked parts of a region again, unmark them, and return the weighted sum."""
    total = 0.0
    for cell in range(r * data.kinds, (r + 1) * data.kinds):
        if state.marked[cell]:
            state.marked[cell] = 0
            state.part[cell] = _cell_cost(data, state, cell)
        total += state.part[cell]
    state.gpu[r] = data.gpu_weight * total
    return state.gpu[r]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _storage_cost(data: Data, r: cython.longlong, stored: cython.double) -> cython.double:
    """Return a region's part of (3), weighted, if it stores a number of bytes."""
    if data.storage_weight == 0.0:
        return 0.0
    difference = stored / data.bytes_total - data.capacity_share[r]
    return data.storage_weight * difference * difference


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _infeasibility(data: Data, state: State) -> cython.double:
    """Return the sum of what violates (4), (5) and (6), each as a share of its total."""
    total = 0.0
    if data.threshold > 0:
        total = max(0.0, data.threshold - state.sums[_AT_HOME]) / data.threshold
    total += state.sums[_STORAGE_EXCESS] / max(1.0, data.bytes_total)
    total += state.sums[_CPU_EXCESS] / max(1.0, data.cpu_total)
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _moved_change(
    data: Data, t: cython.longlong, out: cython.longlong, into: cython.longlong
) -> cython.double:
    """Return by how much the bytes moved grow if a table goes from `out` to `into`."""
    today = data.today[t]
    if today < 0 or out == into or today not in (out, into):
        return 0.0
    return data.size[t] if out == today else -data.size[t]


@cython.ccall
@cython.nogil
@cython.exceptval(check=False)
def recompute(data: Data, state: State) -> cython.void:
    """Compute regions of jobs, demand and sums from the homes."""
    state.demand[:] = 0.0
    state.stored[:] = 0.0
    state.cpu[:] = 0.0
    state.sums[:] = 0.0
    for t in range(data.tables):
        state.stored[state.home[t]] += data.size[t]
        state.sums[_MOVED] += _moved_change(data, t, data.today[t], state.home[t])
    crossing = 0.0
    for j in range(data.jobs):
        r = _region_of(data, state, j)
        state.job_region[j] = r
        _add_hours(data, state, j, r, 1.0)
        state.near[j] = _bytes_near(data, state, j, r)
        crossing += data.job_bytes[j] - state.near[j]
    cost = 0.0
    if data.bytes_read > 0:
        cost = data.traffic_weight * (crossing / data.bytes_read)
    for r in range(data.regions):
        for cell in range(r * data.kinds, (r + 1) * data.kinds):
            state.marked[cell] = 1
        stored = state.stored[r]
        cost += _sum_cells(data, state, r) + _storage_cost(data, r, stored)
        state.sums[_STORAGE_EXCESS] += max(0.0, stored - data.capacity[r])
    state.sums[_COST] = cost
    state.sums[_INFEASIBILITY] = _infeasibility(data, state)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _run_in(data: Data, state: State, j: cython.longlong, now: cython.longlong) -> cython.void:
    """Move a job's hours to another region, -1 for none, and mark both as changed."""
    was = state.job_region[j]
    if was >= 0:
        state.changed[was] = 1
    if now >= 0:
        state.changed[now] = 1
    state.job_region[j] = now
    _add_hours(data, state, j, was, -1.0)
    _add_hours(data, state, j, now, 1.0)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _move_readers(data: Data, state: State) -> cython.double:
    """Run the readers of the listed tables where these are now, and mark what that changes.

    Returns
    -------
    float
        Bytes that this adds to those read from other regions.
    """
    crossing = 0.0
    listed: cython.longlong = 0
    tables = state.counts[_TABLES]
    for m in range(tables):
        t = state.log_table[m]
        for i in range(data.table_start[t], data.table_start[t + 1]):
            j = data.table_jobs[i]
            if tables > 1:
                if state.seen[j]:
                    continue
                state.seen[j] = 1
            was = state.job_region[j]
            now = _region_of(data, state, j)
            if was == -1 and now == -1:
                continue
            before = state.near[j]
            near = _bytes_near(data, state, j, now)
            if was == now and before == near:
                continue
            state.log_job[listed] = j
            state.log_region[listed] = was
            state.log_near[listed] = before
            listed += 1
            state.near[j] = near
            crossing += before - near
            if was != now:
                _run_in(data, state, j, now)
    state.counts[_READERS] = listed
    if tables > 1:
        for m in range(tables):
            t = state.log_table[m]
            for i in range(data.table_start[t], data.table_start[t + 1]):
                state.seen[data.table_jobs[i]] = 0
    return crossing


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _change(data: Data, state: State, tables: cython.longlong) -> cython.double:
    """Move the first of the tables in ``log_table``, each listed once, to their ``log_home``.

    Returns
    -------
    float
        What is added to the cost; `_undo` takes the change back.
    """
    for i in range(_SUMS):
        state.log_sums[i] = state.sums[i]
    for r in range(data.regions):
        state.changed[r] = 0
    state.counts[_TABLES] = tables
    cost, terms, storage, storage_terms = 0.0, 0.0, 0.0, 0.0
    for m in range(tables):
        t = state.log_table[m]
        into = state.log_home[m]
        out = state.home[t]
        state.sums[_MOVED] += _moved_change(data, t, out, into)
        for arrives in range(2):
            r = into if arrives else out
            added = data.size[t] if arrives else -data.size[t]
            stored = state.stored[r]
            before = _storage_cost(data, r, stored)
            after = _storage_cost(data, r, stored + added)
            storage += after - before
            storage_terms += after + before
            over = max(0.0, stored + added - data.capacity[r])
            state.sums[_STORAGE_EXCESS] += over - max(0.0, stored - data.capacity[r])
            state.stored[r] = stored + added
        state.home[t] = into
        state.log_home[m] = out
    crossing = _move_readers(data, state)
    for r in range(data.regions):
        if state.changed[r]:
            state.log_gpu[r] = state.gpu[r]
            for cell in range(r * data.kinds, (r + 1) * data.kinds):
                state.log_part[cell] = state.part[cell]
            cost -= state.gpu[r]
            terms += state.gpu[r]
    for r in range(data.regions):
        if state.changed[r]:
            part = _sum_cells(data, state, r)
            cost += part
            terms += part
    if crossing != 0.0:
        part = data.traffic_weight * (crossing / data.bytes_read)
        cost += part
        terms += fabs(part)
    cost += storage
    if fabs(cost) <= _ROUNDING * (terms + storage_terms):
        cost = 0.0
    state.sums[_COST] += cost
    state.sums[_INFEASIBILITY] = _infeasibility(data, state)
    return cost


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _undo(data: Data, state: State) -> cython.void:
    """Take the last change back."""
    for m in range(state.counts[_TABLES]):
        t = state.log_table[m]
        out = state.log_home[m]
        state.stored[state.home[t]] -= data.size[t]
        state.stored[out] += data.size[t]
        state.home[t] = out
    for i in range(state.counts[_READERS]):
        j = state.log_job[i]
        was, now = state.log_region[i], state.job_region[j]
        state.near[j] = state.log_near[i]
        if was != now:
            _run_in(data, state, j, was)
    for r in range(data.regions):
        if state.changed[r]:
            state.gpu[r] = state.log_gpu[r]
            for cell in range(r * data.kinds, (r + 1) * data.kinds):
                state.part[cell] = state.log_part[cell]
                state.marked[cell] = 0
    for i in range(_SUMS):
        state.sums[i] = state.log_sums[i]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _move_table(
    data: Data, state: State, t: cython.longlong, into: cython.longlong, keep: cython.bint
) -> tuple[cython.double, cython.double]:
    """Return what moving a table adds to the cost and to the infeasibility; move it if `keep`."""
    if state.home[t] == into:
        return 0.0, 0.0
    state.log_table[0], state.log_home[0] = t, into
    cost = _change(data, state, 1)
    worse = state.sums[_INFEASIBILITY] - state.log_sums[_INFEASIBILITY]
    if not keep:
        _undo(data, state)
    return cost, worse


def move_each(
    data: Data,
    state: State,
    tables: cython.longlong[::1],
    into: cython.longlong[::1],
    keep: cython.bint,
    cost: cython.double[::1],
    worse: cython.double[::1],
):
    """Find what moving each table adds to the cost and to the infeasibility; move it if `keep`.

    Parameters
    ----------
    tables, into
        Tables, and a region for each.
    cost, worse
        Output.
    """
    with cython.nogil:
        for i in range(tables.shape[0]):
            cost[i], worse[i] = _move_table(data, state, tables[i], into[i], keep)


def climb(
    data: Data,
    state: State,
    queue: cython.longlong[::1],
    region: cython.longlong[::1],
    worse: cython.double[::1],
    cost: cython.double[::1],
    apply: cython.bint,
):
    """Find the best region of each table in turn, and move it there if `apply`.

    The best region is the present one if no other that the quota allows is an improvement: less
    infeasible, or equally so and cheaper.

    Parameters
    ----------
    queue
        Tables.
    region, worse, cost
        Output: each table's best region, and what moving there adds to the infeasibility and to
        the cost.
    """
    with cython.nogil:
        for i in range(queue.shape[0]):
            t = queue[i]
            home = state.home[t]
            region[i] = home
            worse[i] = 0.0
            cost[i] = 0.0
            for r in range(data.regions):
                more = _moved_change(data, t, home, r)
                within: cython.bint = state.sums[_MOVED] + more <= data.quota
                if r != home and (more <= 0 or within):
                    added, broken = _move_table(data, state, t, r, False)
                    if broken < worse[i] or (broken == worse[i] and added < cost[i]):
                        region[i] = r
                        worse[i] = broken
                        cost[i] = added
            if apply:
                _move_table(data, state, t, region[i], True)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _drawn_home(
    data: Data, state: State, j: cython.longlong, draw: cython.double
) -> cython.longlong:
    """Return the home of the table of a job that a number from 0 to below 1 selects."""
    first = data.job_start[j]
    i = first + cython.cast(cython.longlong, draw * (data.job_start[j + 1] - first))
    return state.home[data.job_tables[i]]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _list_cluster(
    data: Data,
    state: State,
    t: cython.longlong,
    into: cython.longlong,
    draw: cython.double[::1],
    count: cython.longlong,
) -> cython.longlong:
    """List a table and some of the smaller ones beside it that its readers read; count them.

    Each of these follows with a chance that is the same for all; smaller ones of equal size do too.
    """
    home = state.home[t]
    number = 1 + cython.cast(cython.longlong, draw[4] * (_MODULUS - 2))
    state.log_table[count], state.log_home[count] = t, into
    state.listed[t] = 1
    count += 1
    for i in range(data.table_start[t], data.table_start[t + 1]):
        j = data.table_jobs[i]
        for m in range(data.job_start[j], data.job_start[j + 1]):
            u = data.job_tables[m]
            if state.home[u] == home and not state.listed[u] and data.size[u] <= data.size[t]:
                number = number * _FACTOR % _MODULUS
                if number < draw[5] * _MODULUS:
                    state.log_table[count], state.log_home[count] = u, into
                    state.listed[u] = 1
                    count += 1
    return count


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _draw_clusters(data: Data, state: State, draw: cython.double[::1]) -> cython.longlong:
    """List a cluster that moves, or two that swap, and return the number of tables.

    A cluster is a table, mostly a large one, with tables that are read together with it.
    """
    t = data.by_size[cython.cast(cython.longlong, draw[1] * draw[1] * draw[1] * data.tables)]
    u = data.by_size[cython.cast(cython.longlong, draw[2] * draw[2] * draw[2] * data.tables)]
    out = state.home[t]
    into = cython.cast(cython.longlong, draw[2] * data.regions)
    swap: cython.bint = draw[0] >= _CLUSTER
    if swap:
        into = state.home[u]
    if into == out:
        return 0
    moves = _list_cluster(data, state, t, into, draw, 0)
    if swap:
        moves = _list_cluster(data, state, u, out, draw, moves)
    for m in range(moves):
        state.listed[state.log_table[m]] = 0
    return moves


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _draw_change(data: Data, state: State, draw: cython.double[::1]) -> cython.longlong:
    """List a random change, and return its number of tables."""
    if draw[0] >= _SWAP:
        return _draw_clusters(data, state, draw)
    if draw[0] >= _JOB:
        return _draw_swap(data, state, draw)
    if draw[0] >= _TABLE:
        return _draw_job(data, state, draw) if data.jobs > 0 else 0
    t = cython.cast(cython.longlong, draw[1] * data.tables)
    into = cython.cast(cython.longlong, draw[2] * data.regions)
    first = data.table_start[t]
    readers = data.table_start[t + 1] - first
    if readers > 0 and draw[3] < _GUIDED:
        j = data.table_jobs[first + cython.cast(cython.longlong, draw[4] * readers)]
        into = _drawn_home(data, state, j, draw[5])
    state.log_table[0], state.log_home[0] = t, into
    return 1 if into != state.home[t] else 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _draw_job(data: Data, state: State, draw: cython.double[::1]) -> cython.longlong:
    """List the tables of a job that are not in a region, and return their number."""
    j = cython.cast(cython.longlong, draw[1] * data.jobs)
    into = cython.cast(cython.longlong, draw[2] * data.regions)
    if draw[3] < _GUIDED:
        into = _drawn_home(data, state, j, draw[4])
    moves: cython.longlong = 0
    for i in range(data.job_start[j], data.job_start[j + 1]):
        if state.home[data.job_tables[i]] != into:
            state.log_table[moves], state.log_home[moves] = data.job_tables[i], into
            moves += 1
    return moves


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _draw_swap(data: Data, state: State, draw: cython.double[::1]) -> cython.longlong:
    """List two tables that swap their homes; return 0 if they have the same one."""
    t = cython.cast(cython.longlong, draw[1] * data.tables)
    u = cython.cast(cython.longlong, draw[2] * data.tables)
    if state.home[t] == state.home[u]:
        return 0
    state.log_table[0], state.log_home[0] = t, state.home[u]
    state.log_table[1], state.log_home[1] = u, state.home[t]
    return 2


def anneal(
    data: Data,
    state: State,
    temperatures: cython.const[cython.double][::1],
    penalties: cython.const[cython.double][::1],
    draws: cython.double[:, ::1],
):
    """Anneal a state in place, one trial per temperature; return the best's cost, infeasibility.

    A trial moves a table to a region, mostly one where a job that reads it has another table; all
    tables of a job to one region; a cluster; or swaps two tables or clusters. It is undone unless
    it is accepted: by Metropolis' rule on the cost plus a penalty on the infeasibility, among
    placements within the quota. The best homes found, those at entry included, are left in the
    state's ``best``: the least infeasible ones, and of these the cheapest.

    Parameters
    ----------
    temperatures
        By trial: the rise of the cost that is accepted with probability 1/e.
    penalties
        By trial: cost of an infeasibility of 1.
    draws
        For each trial `DRAWS` numbers from 0 to below 1.
    """
    with cython.nogil:
        recompute(data, state)
        best = state.sums[_COST]
        least = state.sums[_INFEASIBILITY]
        state.best[:] = state.home
        for m in range(temperatures.shape[0]):
            moves = _draw_change(data, state, draws[m])
            if moves == 0:
                continue
            rise = _change(data, state, moves)
            cost = state.sums[_COST]
            worse = state.sums[_INFEASIBILITY]
            rise += penalties[m] * (worse - state.log_sums[_INFEASIBILITY])
            within: cython.bint = state.sums[_MOVED] <= max(state.log_sums[_MOVED], data.quota)
            if not within or (rise > 0.0 and draws[m, 6] >= exp(-rise / temperatures[m])):
                _undo(data, state)
            elif worse < least or (worse == least and cost < best * (1 - _RELATIVE)):
                best = cost
                least = worse
                state.best[:] = state.home
    return best, least
