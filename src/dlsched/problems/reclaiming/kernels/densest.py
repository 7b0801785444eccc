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


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def power(share: cython.double, doublings: cython.longlong) -> cython.double:
    """Return ``share ** 2 ** doublings``."""
    for _ in range(doublings):
        share *= share
    return share


@cython.final
@cython.cclass
class Search:
    """Which jobs are preempted, and what would follow if all jobs of a server were, by server."""

    # The arrays of `structures.job_arrays.Layout`, which has their meaning.
    weight: cython.const[cython.double][::1]
    hosts_at: cython.const[cython.longlong][::1]
    hosts: cython.const[cython.longlong][::1]
    jobs_at: cython.const[cython.longlong][::1]
    jobs: cython.const[cython.longlong][::1]
    held_at: cython.const[cython.longlong][::1]
    held: cython.const[cython.longlong][::1]
    gpus: cython.const[cython.longlong][::1]
    preempted: cython.uchar[::1]  # by job
    doublings: cython.longlong  # the exponent of `measure` is 2 to this power
    # By server.
    relief: cython.double[::1]  # how much nearer to idle all servers come, in servers: `measure`
    rate: cython.double[::1]  # weight divided by relief; infinite for a server that is idle
    idle: cython.longlong[::1]  # servers that become idle
    damage: cython.longlong[::1]  # GPUs of its running jobs on servers that keep jobs; -1: unknown
    gathered: cython.longlong[::1]  # and on servers that become idle
    running: cython.longlong[::1]  # its jobs that run,
    load: cython.double[::1]  # and their weight
    # Work space of `neighbours`: the jobs that servers share with one, 0 between calls.
    shared: cython.longlong[::1]  # their number,
    common: cython.double[::1]  # and their weight
    near: cython.longlong[::1]  # the servers that share any
    # Servers with other jobs than at the last `update`.
    changed: cython.longlong[::1]
    count: cython.longlong  # how many
    fresh: cython.longlong[::1]  # by server, whether it is one
    ran: cython.longlong[::1]  # `running` and `load` before the change, in `update`
    loaded: cython.double[::1]
    stopped: cython.longlong[::1]  # in `preempt`: the jobs, as they were preempted
    # Work space of `resume`, by job.
    lost: cython.longlong[::1]  # its idle servers, if it is preempted
    met: cython.longlong[::1]  # those that it shares with the job that is measured; else 0

    def __init__(self, layout, preempted, doublings):
        self.weight, self.hosts_at, self.hosts, self.jobs_at = layout[:4]
        self.jobs, self.held_at, self.held, self.gpus = layout[4:]
        self.preempted, self.doublings, self.count = preempted, doublings, 0
        n, m = len(layout.jobs_at) - 1, len(preempted)
        self.rate, self.relief, self.load, self.common, self.loaded = np.zeros((5, n))
        self.idle, self.damage, self.gathered = np.zeros((3, n), dtype=np.int64)
        self.running, self.shared, self.near = np.zeros((3, n), dtype=np.int64)
        self.ran, self.changed, self.fresh = np.zeros((3, n), dtype=np.int64)
        self.stopped, self.lost, self.met = np.zeros((3, m), dtype=np.int64)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def turn(self, j: cython.longlong, preempted: cython.bint) -> cython.void:
        """Preempt or resume a job, and add its servers to those that changed."""
        self.preempted[j] = preempted
        for f in range(self.hosts_at[j], self.hosts_at[j + 1]):
            t = self.hosts[f]
            if self.fresh[t] == 0:
                self.fresh[t] = 1
                self.changed[self.count] = t
                self.count += 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def stop(self, s: cython.longlong, steps: cython.longlong) -> cython.longlong:
        """Preempt a server's running jobs, which are the next steps; return the number of these."""
        for e in range(self.jobs_at[s], self.jobs_at[s + 1]):
            j = self.jobs[e]
            if not self.preempted[j]:
                self.turn(j, True)
                self.stopped[steps] = j
                steps += 1
        return steps

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def preempt(self, missing: cython.longlong) -> cython.longlong:
        """Preempt the jobs of one server after the other, the least weight per relief first.

        Relief above the number of servers that are still missing is worth nothing. At each step
        there is another way to end: with the lightest server that makes all of these idle at once.
        The best such end is taken.

        Returns
        -------
        int
            Servers that became idle.
        """
        if missing <= 0:
            return 0
        steps: cython.longlong = 0
        end: cython.longlong = 0
        last: cython.longlong = -1
        gained: cython.longlong = 0
        total, least = 0.0, _INF
        while gained < missing:
            best, ending = self.cheapest(missing - gained)
            if ending >= 0 and total + self.load[ending] < least:
                end, last, least = steps, ending, total + self.load[ending]
            if best == ending:
                break
            total += self.load[best]
            steps = self.stop(best, steps)
            gained += self.update()
        for i in range(end, steps):
            self.turn(self.stopped[i], False)
        self.stop(last, end)
        return gained + self.update()

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def resume(
        self, spare: cython.longlong, order: cython.const[cython.longlong][::1]
    ) -> cython.longlong:
        """Resume the job of most weight per server lost, and repeat as servers are to spare.

        Returns
        -------
        int
            Servers that are busy again.
        """
        back: cython.longlong = 0
        while True:
            self.resume_without_loss()
            if back < spare:
                best = self.worthiest(spare - back, order)
                if best >= 0:
                    self.turn(best, False)
            if self.count == 0:
                break
            back -= self.update()
        return back

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def resume_without_loss(self) -> cython.void:
        """Resume jobs without any idle server; count the idle servers of the others in `lost`."""
        for j in range(self.preempted.shape[0]):
            if self.preempted[j] and self.weight[j] > 0.0:
                self.lost[j] = 0
                for f in range(self.hosts_at[j], self.hosts_at[j + 1]):
                    self.lost[j] += self.running[self.hosts[f]] == 0
                if self.lost[j] == 0:
                    self.turn(j, False)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def worthiest(
        self, spare: cython.longlong, order: cython.const[cython.longlong][::1]
    ) -> cython.longlong:
        """Return the job of most weight per server lost, or -1 if all lose more than are spare.

        With a job those are counted that could then go on, too.
        """
        best: cython.longlong = -1
        most = 0.0
        for i in range(order.shape[0]):
            j = order[i]
            if self.preempted[j] and 0 < self.lost[j] <= spare:
                weight = self.meet(j, 1)
                self.meet(j, -1)
                if weight / self.lost[j] > most:
                    best, most = j, weight / self.lost[j]
        return best

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def meet(self, j: cython.longlong, change: cython.longlong) -> cython.double:
        """Change `met` of the jobs on a job's idle servers; return the weight of those met by all.

        These could go on with it: all their idle servers are its own.
        """
        weight = 0.0
        for f in range(self.hosts_at[j], self.hosts_at[j + 1]):
            s = self.hosts[f]
            if self.running[s] > 0:
                continue
            for e in range(self.jobs_at[s], self.jobs_at[s + 1]):
                k = self.jobs[e]
                self.met[k] += change
                if self.met[k] == self.lost[k]:
                    weight += self.weight[k]
        return weight

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def neighbours(self, s: cython.longlong) -> cython.longlong:
        """Fill in `near`, `shared` and `common` for a server; return how many are near."""
        count = 0
        for e in range(self.jobs_at[s], self.jobs_at[s + 1]):
            j = self.jobs[e]
            if not self.preempted[j]:
                for f in range(self.hosts_at[j], self.hosts_at[j + 1]):
                    t = self.hosts[f]
                    if self.shared[t] == 0:
                        self.near[count] = t
                        count += 1
                    self.shared[t] += 1
                    self.common[t] += self.weight[j]
        return count

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def measure(self, s: cython.longlong) -> cython.void:
        """Compute relief and idle servers of a server anew.

        The relief is the sum, over all servers, of (the weight of running jobs there that are also
        on this server / the weight of all running jobs there) ** exponent. It is 1 for a server
        that becomes idle, and near 0, if the exponent is large, for one that keeps a part of its
        jobs.
        """
        relief, idle = 0.0, 0
        for i in range(self.neighbours(s)):
            t = self.near[i]
            if self.shared[t] == self.running[t]:
                idle += 1
                relief += 1.0
            else:
                relief += power(self.common[t] / self.load[t], self.doublings)
            self.shared[t], self.common[t] = 0, 0.0
        self.relief[s], self.idle[s] = relief, idle
        self.rate[s] = self.load[s] / relief
        self.damage[s] = -1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def recount(self, s: cython.longlong) -> cython.void:
        """Compute number and weight of a server's running jobs anew: no rounding adds up."""
        running, load = 0, 0.0
        for e in range(self.jobs_at[s], self.jobs_at[s + 1]):
            j = self.jobs[e]
            if not self.preempted[j]:
                running += 1
                load += self.weight[j]
        self.running[s], self.load[s] = running, load
        if running == 0:
            self.rate[s], self.relief[s], self.idle[s] = _INF, 0.0, 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def update(self) -> cython.longlong:
        """Correct the scores after jobs were preempted or resumed; see `turn`.

        Of a server that shares jobs with a changed one, and did not change itself, these jobs are
        the same as before: only the other's part of its relief is another one.

        Returns
        -------
        int
            Number of servers that became idle, less that of those that were.
        """
        gained: cython.longlong = 0
        turned: cython.longlong = 0
        for i in range(self.count):
            t = self.changed[i]
            self.ran[i], self.loaded[i] = self.running[t], self.load[t]
            self.recount(t)
            if (self.running[t] == 0) != (self.ran[i] == 0):
                gained += 1 if self.running[t] == 0 else -1
                turned += 1
        if turned > 0 and self.held.shape[0] > self.hosts.shape[0]:
            # Jobs may have other workers there than base workers, which `neighbours` does not see.
            for s in range(self.damage.shape[0]):
                self.damage[s] = -1
        for i in range(self.count):
            t = self.changed[i]
            if self.running[t] == 0:
                continue
            self.measure(t)
            for k in range(self.neighbours(t)):
                s = self.near[k]
                both, common = self.shared[s], self.common[s]
                self.shared[s], self.common[s] = 0, 0.0
                if self.fresh[s] == 1:
                    continue
                full: cython.bint = both == self.running[t]
                was: cython.bint = both == self.ran[i]
                now = 1.0 if full else power(common / self.load[t], self.doublings)
                before = 1.0 if was else power(common / self.loaded[i], self.doublings)
                if full != was:
                    self.idle[s] += 1 if full else -1
                self.relief[s] += now - before
                self.rate[s] = self.load[s] / self.relief[s]
                self.damage[s] = -1
        for i in range(self.count):
            self.fresh[self.changed[i]] = 0
        self.count = 0
        return gained

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def cheapest(self, missing: cython.longlong) -> tuple[cython.longlong, cython.longlong]:
        """Return the server to take, and the lightest that makes all missing ones idle, or -1.

        Ties, up to rounding, go to the least collateral damage, then to the earlier server.
        """
        best, rate, damage = -1, _INF, -1.0  # damage below 0: not computed yet
        ending, least, other = -1, _INF, -1.0
        for s in range(self.rate.shape[0]):
            cost = self.rate[s]
            if self.relief[s] >= missing:
                cost = self.load[s] / missing
            if self.idle[s] >= missing:
                if self.load[s] < least:
                    ending, least, other = s, self.load[s], -1.0
                elif self.load[s] == least and other != 0.0:
                    if other < 0.0:
                        other = self.collateral(missing, ending)
                    here = self.collateral(missing, s)
                    if here < other:
                        ending, other = s, here
            if cost < rate * _LESS:
                best, rate, damage = s, cost, -1.0
            elif cost * _LESS <= rate and damage != 0.0 and best >= 0:
                if damage < 0.0:
                    damage = self.collateral(missing, best)
                here = self.damage[s] * 1.0
                if here < 0.0 or self.idle[s] > missing:  # a call takes longer than all of this
                    here = self.collateral(missing, s)
                if here < damage:
                    best, damage = s, here
        return best, ending

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def collateral(self, missing: cython.longlong, s: cython.longlong) -> cython.double:
        """Return a server's collateral damage.

        Of the servers that become idle no more than are missing can be returned: of the GPUs on
        them the average share is damage, too.
        """
        if self.damage[s] < 0:
            self.collect(s)
        damage = self.damage[s] * 1.0
        if self.idle[s] > missing:
            damage += self.gathered[s] * (self.idle[s] - missing) / self.idle[s]
        return damage

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def collect(self, s: cython.longlong) -> cython.void:
        """Compute a server's `damage` and `gathered`."""
        count = self.neighbours(s)
        damage, gathered = 0, 0
        for e in range(self.jobs_at[s], self.jobs_at[s + 1]):
            j = self.jobs[e]
            if not self.preempted[j]:
                for f in range(self.held_at[j], self.held_at[j + 1]):
                    t = self.held[f]
                    if self.shared[t] < self.running[t]:
                        damage += self.gpus[f]
                    elif self.running[t] > 0:
                        gathered += self.gpus[f]
        for i in range(count):
            self.shared[self.near[i]], self.common[self.near[i]] = 0, 0.0
        self.damage[s], self.gathered[s] = damage, gathered


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
    search = Search(arrays, preempted, doublings)
    n = search.rate.shape[0]
    best: cython.uchar[::1] = np.empty(preempted.shape[0], np.uint8)
    least = _INF
    with cython.nogil:
        for j in range(preempted.shape[0]):
            preempted[j] = preempted[j] or search.weight[j] == 0.0
        idle: cython.longlong = 0
        for s in range(n):
            search.recount(s)
            idle += search.running[s] == 0
        for s in range(n):
            if search.running[s] > 0:
                search.measure(s)
        best[:] = preempted
        for i in range(_EXCHANGES):
            idle += search.preempt(min(n, demand + ((1 << i) >> 1)) - idle)
            idle -= search.resume(idle - demand, order)
            weight = 0.0
            for j in range(preempted.shape[0]):
                if preempted[j]:
                    weight += search.weight[j]
            if weight < least:
                best[:] = preempted
                least = weight
                continue
            for j in range(preempted.shape[0]):
                if preempted[j] != best[j]:
                    search.turn(j, best[j])
            idle += search.update()
    return least


def ruin(
    arrays, preempted: cython.uchar[::1], count: cython.longlong, draws: cython.double[:, ::1]
) -> cython.void:
    """Resume the jobs of idle servers, each the neighbour of one before it if there is any.

    Parameters
    ----------
    arrays, preempted
        As in `empty`.
    count
        Number of servers.
    draws
        `count` x 2 numbers from 0 to 1: which server without a neighbour, and which neighbour.
    """
    search = Search(arrays, preempted, 0)
    idle, queue = search.near, search.changed
    found: cython.longlong = 0
    with cython.nogil:
        for s in range(search.rate.shape[0]):
            heavy: cython.double = 0.0
            for e in range(search.jobs_at[s], search.jobs_at[s + 1]):
                heavy += search.weight[search.jobs[e]]
            search.recount(s)
            search.fresh[s] = 1  # in the queue already, or not to be
            if search.running[s] == 0 and heavy > 0.0:
                search.fresh[s] = 0
                idle[found] = s
                found += 1
        for i in range(min(count, found)):
            if i == search.count:
                at = cython.cast(cython.longlong, draws[i, 0] * found)
                while search.fresh[idle[at]] == 1:
                    at = (at + 1) % found
                search.fresh[idle[at]] = 1
                queue[i] = idle[at]
                search.count += 1
            at = i + cython.cast(cython.longlong, draws[i, 1] * (search.count - i))
            s = queue[at]
            queue[at] = queue[i]
            for e in range(search.jobs_at[s], search.jobs_at[s + 1]):
                search.turn(search.jobs[e], False)
