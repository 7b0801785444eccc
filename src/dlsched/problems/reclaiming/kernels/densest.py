"""Which jobs to preempt so that enough servers are idle: the loops of `densest`.

A server is idle if all its jobs are preempted; jobs of weight 0 are so from the start. The scores
say what follows if a server's jobs are preempted. One file, as the search calls them as C.
"""

import cython
import numpy as np

_INF = cython.declare(cython.double, float("inf"))
_LESS = cython.declare(cython.double, 1 - 1e-9)
"""Factor of a cost that is less than another one by more than rounding."""
_EXCHANGES = cython.declare(cython.int, 5)
"""How often servers beyond the demand are emptied and given back: none, 1, 2, 4 and 8."""


@cython.final
@cython.cclass
class Layout:
    """The arrays of `structures.job_arrays.Layout`, which has their meaning."""

    weight: cython.const[cython.double][::1]
    hosts_at: cython.const[cython.longlong][::1]
    hosts: cython.const[cython.longlong][::1]
    jobs_at: cython.const[cython.longlong][::1]
    jobs: cython.const[cython.longlong][::1]
    held_at: cython.const[cython.longlong][::1]
    held: cython.const[cython.longlong][::1]
    gpus: cython.const[cython.longlong][::1]

    def __init__(self, arrays):
        self.weight, self.hosts_at, self.hosts, self.jobs_at = arrays[:4]
        self.jobs, self.held_at, self.held, self.gpus = arrays[4:]


@cython.final
@cython.cclass
class Scores:
    """What would follow if all jobs of a server were preempted, by server; and work space.

    Attributes
    ----------
    rate
        Weight divided by relief; infinite for a server that is idle already.
    relief
        How much nearer to idle all servers come, in servers; see `measure`.
    idle
        Servers that become idle.
    damage, gathered
        GPUs that its running jobs hold on servers that keep jobs, or -1 if that is not known, and
        on servers that become idle.
    running, load
        Number and weight of its jobs that run.
    shared, common, near
        Work space: by server, the number and weight of the jobs that it shares with one server;
        and which servers share any. The first two are 0 between calls.
    ran, loaded
        Work space of `update`: `running` and `load` before a change.
    changed, fresh
        Work space of `update`: servers with other jobs than before, and whether a server is one.
    stopped
        Work space of `_preempt`: the jobs, as they were preempted.
    lost, met
        Work space of `_resume`: by job, its idle servers if it is preempted; and those that it
        shares with the job that is measured, 0 between calls.
    """

    rate: cython.double[::1]
    relief: cython.double[::1]
    idle: cython.longlong[::1]
    damage: cython.longlong[::1]
    gathered: cython.longlong[::1]
    running: cython.longlong[::1]
    load: cython.double[::1]
    shared: cython.longlong[::1]
    common: cython.double[::1]
    near: cython.longlong[::1]
    ran: cython.longlong[::1]
    loaded: cython.double[::1]
    changed: cython.longlong[::1]
    fresh: cython.longlong[::1]
    stopped: cython.longlong[::1]
    lost: cython.longlong[::1]
    met: cython.longlong[::1]

    def __init__(self, n: cython.Py_ssize_t, jobs: cython.Py_ssize_t):
        numbers = np.zeros((5, n))
        counts = np.zeros((9, n), dtype=np.int64)
        self.rate, self.relief, self.load, self.common, self.loaded = numbers
        (
            self.idle,
            self.damage,
            self.gathered,
            self.running,
            self.shared,
            self.near,
            self.ran,
            self.changed,
            self.fresh,
        ) = counts
        self.stopped, self.lost, self.met = np.zeros((3, jobs), dtype=np.int64)


def empty(
    arrays,
    demand: cython.longlong,
    doublings: cython.longlong,
    order: cython.longlong[::1],
    preempted: cython.uchar[::1],
) -> cython.double:
    """Preempt further jobs until enough servers are idle, and resume those that need not stop.

    Then exchange jobs: some servers more than the demand are emptied, and the jobs of most weight
    per server are resumed. What is no better is undone.

    Parameters
    ----------
    arrays
        A `structures.job_arrays.Layout`.
    demand
        Servers that have to be idle, at most as many as there are.
    doublings
        The exponent of `measure` is 2 to this power.
    order
        Positions of all jobs; of two that are as good to resume the earlier one is.
    preempted
        By job; jobs that are preempted already. Changed in place.

    Returns
    -------
    float
        Weight of the preempted jobs.
    """
    layout = Layout(arrays)
    n = layout.jobs_at.shape[0] - 1
    scores = Scores(n, preempted.shape[0])
    best: cython.uchar[::1] = np.empty(preempted.shape[0], np.uint8)
    least = _INF
    with cython.nogil:
        for j in range(preempted.shape[0]):
            preempted[j] = preempted[j] or layout.weight[j] == 0.0
        idle: cython.longlong = 0
        for s in range(n):
            recount(layout, preempted, scores, s)
            idle += scores.running[s] == 0
        for s in range(n):
            if scores.running[s] > 0:
                measure(layout, preempted, scores, s, doublings)
        best[:] = preempted
        for i in range(_EXCHANGES):
            missing = min(n, demand + ((1 << i) >> 1)) - idle
            idle += _preempt(layout, missing, doublings, preempted, scores)
            idle -= _resume(layout, idle - demand, doublings, order, preempted, scores)
            weight = _weight(layout, preempted)
            if weight < least:
                best[:] = preempted
                least = weight
            else:
                idle += _return_to(layout, best, doublings, preempted, scores)
    return least


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _return_to(
    layout: Layout,
    best: cython.uchar[::1],
    doublings: cython.longlong,
    preempted: cython.uchar[::1],
    scores: Scores,
) -> cython.longlong:
    """Preempt the same jobs as before; return the servers that become idle, less those lost."""
    count = 0
    for j in range(preempted.shape[0]):
        if preempted[j] != best[j]:
            preempted[j] = best[j]
            count = note(layout, scores, j, count)
    return update(layout, preempted, scores, doublings, count)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _weight(layout: Layout, preempted: cython.uchar[::1]) -> cython.double:
    """Return the weight of the preempted jobs."""
    total = 0.0
    for j in range(preempted.shape[0]):
        if preempted[j]:
            total += layout.weight[j]
    return total


def ruin(
    arrays, preempted: cython.uchar[::1], count: cython.longlong, draws: cython.double[:, ::1]
) -> cython.void:
    """Resume the jobs of idle servers, each the neighbour of one before it if there is any.

    Parameters
    ----------
    arrays
        A `structures.job_arrays.Layout`.
    preempted
        By job. Changed in place.
    count
        Number of servers.
    draws
        `count` x 2 numbers from 0 to 1: which server without a neighbour, and which neighbour.
    """
    layout = Layout(arrays)
    n = layout.jobs_at.shape[0] - 1
    idle: cython.longlong[::1] = np.zeros(n, dtype=np.int64)
    state: cython.longlong[::1] = np.zeros(n, dtype=np.int64)  # 1: idle and not in the queue
    queue: cython.longlong[::1] = np.zeros(n, dtype=np.int64)
    with cython.nogil:
        found: cython.longlong = 0
        for s in range(n):
            running: cython.int = 0
            heavy: cython.int = 0
            for e in range(layout.jobs_at[s], layout.jobs_at[s + 1]):
                running += not preempted[layout.jobs[e]]
                heavy += layout.weight[layout.jobs[e]] > 0.0
            if running == 0 and heavy > 0:
                idle[found] = s
                state[s] = 1
                found += 1
        ends: cython.longlong = 0
        for i in range(min(count, found)):
            if i == ends:
                at = cython.cast(cython.longlong, draws[i, 0] * found)
                while state[idle[at]] == 0:
                    at = (at + 1) % found
                queue[ends] = idle[at]
                state[idle[at]] = 0
                ends += 1
            at = i + cython.cast(cython.longlong, draws[i, 1] * (ends - i))
            s = queue[at]
            queue[at] = queue[i]
            for e in range(layout.jobs_at[s], layout.jobs_at[s + 1]):
                j = layout.jobs[e]
                preempted[j] = False
                for f in range(layout.hosts_at[j], layout.hosts_at[j + 1]):
                    t = layout.hosts[f]
                    if state[t] == 1:
                        queue[ends] = t
                        state[t] = 0
                        ends += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _preempt(
    layout: Layout,
    missing: cython.longlong,
    doublings: cython.longlong,
    preempted: cython.uchar[::1],
    scores: Scores,
) -> cython.longlong:
    """Preempt the jobs of one server after the other, the least weight per relief first.

    Relief above the number of servers that are still missing is worth nothing. At each step there
    is another way to end: with the lightest server that makes all of these idle at once. The best
    such end is taken.

    Returns
    -------
    int
        Servers that became idle.
    """
    if missing <= 0:
        return 0
    stopped = scores.stopped
    steps, end, last, total, least, gained = 0, 0, -1, 0.0, _INF, 0
    while gained < missing:
        best, ending = cheapest(layout, preempted, scores, missing - gained)
        if ending >= 0 and total + scores.load[ending] < least:
            end, last, least = steps, ending, total + scores.load[ending]
        if best == ending:
            break
        total += scores.load[best]
        count = 0
        for e in range(layout.jobs_at[best], layout.jobs_at[best + 1]):
            j = layout.jobs[e]
            if not preempted[j]:
                preempted[j] = True
                stopped[steps] = j
                steps += 1
                count = note(layout, scores, j, count)
        gained += update(layout, preempted, scores, doublings, count)
    count = 0
    for i in range(end, steps):
        preempted[stopped[i]] = False
        count = note(layout, scores, stopped[i], count)
    for e in range(layout.jobs_at[last], layout.jobs_at[last + 1]):
        j = layout.jobs[e]
        if not preempted[j]:
            preempted[j] = True
            count = note(layout, scores, j, count)
    return gained + update(layout, preempted, scores, doublings, count)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _resume(
    layout: Layout,
    spare: cython.longlong,
    doublings: cython.longlong,
    order: cython.longlong[::1],
    preempted: cython.uchar[::1],
    scores: Scores,
) -> cython.longlong:
    """Resume the job of most weight per server that is lost, and repeat as servers are to spare.

    Returns
    -------
    int
        Servers that are busy again.
    """
    back = 0
    while True:
        count = _resume_without_loss(layout, preempted, scores)
        if back < spare:
            best = _worthiest(layout, spare - back, order, preempted, scores)
            if best >= 0:
                preempted[best] = False
                count = note(layout, scores, best, count)
        if count == 0:
            break
        back -= update(layout, preempted, scores, doublings, count)
    return back


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _resume_without_loss(
    layout: Layout, preempted: cython.uchar[::1], scores: Scores
) -> cython.longlong:
    """Resume jobs without any idle server; count the idle servers of the others in ``lost``.

    Returns
    -------
    int
        Servers that changed; see `note`.
    """
    lost = scores.lost
    count = 0
    for j in range(preempted.shape[0]):
        if preempted[j] and layout.weight[j] > 0.0:
            lost[j] = 0
            for f in range(layout.hosts_at[j], layout.hosts_at[j + 1]):
                lost[j] += scores.running[layout.hosts[f]] == 0
            if lost[j] == 0:
                preempted[j] = False
                count = note(layout, scores, j, count)
    return count


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _worthiest(
    layout: Layout,
    spare: cython.longlong,
    order: cython.longlong[::1],
    preempted: cython.uchar[::1],
    scores: Scores,
) -> cython.longlong:
    """Return the job of most weight per server that is lost, or -1 if all lose more than are spare.

    With a job those are counted that could then go on, too: all their idle servers are its own.
    """
    lost = scores.lost
    met = scores.met
    best: cython.longlong = -1
    most = 0.0
    for i in range(order.shape[0]):
        j = order[i]
        if preempted[j] and 0 < lost[j] <= spare:
            weight = 0.0
            for change in range(1, -2, -2):  # the second time only to leave all at 0
                for f in range(layout.hosts_at[j], layout.hosts_at[j + 1]):
                    s = layout.hosts[f]
                    if scores.running[s] == 0:
                        for e in range(layout.jobs_at[s], layout.jobs_at[s + 1]):
                            k = layout.jobs[e]
                            met[k] += change
                            if change > 0 and met[k] == lost[k]:
                                weight += layout.weight[k]
            if weight / lost[j] > most:
                best, most = j, weight / lost[j]
    return best


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def neighbours(
    layout: Layout, preempted: cython.uchar[::1], scores: Scores, s: cython.longlong
) -> cython.longlong:
    """Fill in `near`, `shared` and `common` for a server; return how many are near."""
    hosts, hosts_at = layout.hosts, layout.hosts_at
    shared, common, near = scores.shared, scores.common, scores.near
    count = 0
    for e in range(layout.jobs_at[s], layout.jobs_at[s + 1]):
        j = layout.jobs[e]
        if not preempted[j]:
            for f in range(hosts_at[j], hosts_at[j + 1]):
                t = hosts[f]
                if shared[t] == 0:
                    near[count] = t
                    count += 1
                shared[t] += 1
                common[t] += layout.weight[j]
    return count


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def power(share: cython.double, doublings: cython.longlong) -> cython.double:
    """Return ``share ** 2 ** doublings``."""
    for _ in range(doublings):
        share *= share
    return share


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def measure(
    layout: Layout,
    preempted: cython.uchar[::1],
    scores: Scores,
    s: cython.longlong,
    doublings: cython.longlong,
) -> cython.void:
    """Compute relief and idle servers of a server anew.

    The relief is the sum, over all servers, of (the weight of running jobs there that are also on
    this server / the weight of all running jobs there) ** exponent. It is 1 for a server that
    becomes idle, and near 0, if the exponent is large, for one that keeps a part of its jobs.
    """
    relief, idle = 0.0, 0
    for i in range(neighbours(layout, preempted, scores, s)):
        t = scores.near[i]
        if scores.shared[t] == scores.running[t]:
            idle += 1
            relief += 1.0
        else:
            relief += power(scores.common[t] / scores.load[t], doublings)
        scores.shared[t], scores.common[t] = 0, 0.0
    scores.relief[s], scores.idle[s] = relief, idle
    scores.rate[s] = scores.load[s] / relief
    scores.damage[s] = -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def recount(
    layout: Layout, preempted: cython.uchar[::1], scores: Scores, s: cython.longlong
) -> cython.void:
    """Compute number and weight of a server's running jobs anew, so that no rounding adds up."""
    running, load = 0, 0.0
    for e in range(layout.jobs_at[s], layout.jobs_at[s + 1]):
        j = layout.jobs[e]
        if not preempted[j]:
            running += 1
            load += layout.weight[j]
    scores.running[s], scores.load[s] = running, load
    if running == 0:
        scores.rate[s], scores.relief[s], scores.idle[s] = _INF, 0.0, 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def note(
    layout: Layout, scores: Scores, j: cython.longlong, count: cython.longlong
) -> cython.longlong:
    """Add a job's servers to those that changed; return their number."""
    for f in range(layout.hosts_at[j], layout.hosts_at[j + 1]):
        t = layout.hosts[f]
        if scores.fresh[t] == 0:
            scores.fresh[t] = 1
            scores.changed[count] = t
            count += 1
    return count


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def update(
    layout: Layout,
    preempted: cython.uchar[::1],
    scores: Scores,
    doublings: cython.longlong,
    count: cython.longlong,
) -> cython.longlong:
    """Correct the scores after jobs were preempted or resumed; see `note`.

    Of a server that shares jobs with a changed one, and did not change itself, these jobs are the
    same as before: only the other's part of its relief is another one.

    Returns
    -------
    int
        Number of servers that became idle, less that of those that were.
    """
    gained: cython.longlong = 0
    turned: cython.longlong = 0
    for i in range(count):
        t = scores.changed[i]
        scores.ran[i], scores.loaded[i] = scores.running[t], scores.load[t]
        recount(layout, preempted, scores, t)
        if (scores.running[t] == 0) != (scores.ran[i] == 0):
            gained += 1 if scores.running[t] == 0 else -1
            turned += 1
    if turned > 0 and layout.held.shape[0] > layout.hosts.shape[0]:
        # Jobs may have other workers there than base workers, which `neighbours` does not see.
        for s in range(scores.damage.shape[0]):
            scores.damage[s] = -1
    for i in range(count):
        t = scores.changed[i]
        if scores.running[t] > 0:
            measure(layout, preempted, scores, t, doublings)
            for k in range(neighbours(layout, preempted, scores, t)):
                s = scores.near[k]
                both, common = scores.shared[s], scores.common[s]
                scores.shared[s], scores.common[s] = 0, 0.0
                if scores.fresh[s] == 0:
                    full: cython.bint = both == scores.running[t]
                    was: cython.bint = both == scores.ran[i]
                    if full != was:
                        scores.idle[s] += 1 if full else -1
                    scores.relief[s] += (
                        1.0 if full else power(common / scores.load[t], doublings)
                    ) - (1.0 if was else power(common / scores.loaded[i], doublings))
                    scores.rate[s] = scores.load[s] / scores.relief[s]
                    scores.damage[s] = -1
    for i in range(count):
        scores.fresh[scores.changed[i]] = 0
    return gained


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def cheapest(
    layout: Layout, preempted: cython.uchar[::1], scores: Scores, missing: cython.longlong
) -> tuple[cython.longlong, cython.longlong]:
    """Return the server to take, and the lightest one that makes all missing servers idle or -1.

    Ties, up to rounding, go to the least collateral damage, then to the earlier server.
    """
    best, rate, damage = -1, _INF, -1.0  # damage below 0: not computed yet
    ending, least, other = -1, _INF, -1.0
    for s in range(scores.rate.shape[0]):
        cost = scores.rate[s]
        if scores.relief[s] >= missing:
            cost = scores.load[s] / missing
        if scores.idle[s] >= missing:
            if scores.load[s] < least:
                ending, least, other = s, scores.load[s], -1.0
            elif scores.load[s] == least and other != 0.0:
                if other < 0.0:
                    other = collateral(layout, preempted, scores, missing, ending)
                here = collateral(layout, preempted, scores, missing, s)
                if here < other:
                    ending, other = s, here
        if cost < rate * _LESS:
            best, rate, damage = s, cost, -1.0
        elif cost * _LESS <= rate and damage != 0.0 and best >= 0:
            if damage < 0.0:
                damage = collateral(layout, preempted, scores, missing, best)
            here = scores.damage[s] * 1.0
            if here < 0.0 or scores.idle[s] > missing:  # a call takes longer than all of this
                here = collateral(layout, preempted, scores, missing, s)
            if here < damage:
                best, damage = s, here
    return best, ending


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def collateral(
    layout: Layout,
    preempted: cython.uchar[::1],
    scores: Scores,
    missing: cython.longlong,
    s: cython.longlong,
) -> cython.double:
    """Return a server's collateral damage.

    Of the servers that become idle no more than are missing can be returned: of the GPUs on them
    the average share is damage, too.
    """
    if scores.damage[s] < 0:
        _collect(layout, preempted, scores, s)
    damage = scores.damage[s] * 1.0
    if scores.idle[s] > missing:
        damage += scores.gathered[s] * (scores.idle[s] - missing) / scores.idle[s]
    return damage


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _collect(
    layout: Layout, preempted: cython.uchar[::1], scores: Scores, s: cython.longlong
) -> cython.void:
    """Compute a server's `damage` and `gathered`."""
    for e in range(layout.jobs_at[s], layout.jobs_at[s + 1]):
        j = layout.jobs[e]
        if not preempted[j]:
            for f in range(layout.hosts_at[j], layout.hosts_at[j + 1]):
                scores.shared[layout.hosts[f]] += 1
    damage, gathered = 0, 0
    for e in range(layout.jobs_at[s], layout.jobs_at[s + 1]):
        j = layout.jobs[e]
        if not preempted[j]:
            for f in range(layout.held_at[j], layout.held_at[j + 1]):
                t = layout.held[f]
                if scores.shared[t] < scores.running[t]:
                    damage += layout.gpus[f]
                elif scores.running[t] > 0:
                    gathered += layout.gpus[f]
    for e in range(layout.jobs_at[s], layout.jobs_at[s + 1]):
        for f in range(layout.hosts_at[layout.jobs[e]], layout.hosts_at[layout.jobs[e] + 1]):
            scores.shared[layout.hosts[f]] = 0
    scores.damage[s], scores.gathered[s] = damage, gathered
