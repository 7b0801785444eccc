"""What would follow if all jobs of a server were preempted: the scores that `densest` compares.

Loops are written out where numpy has an expression for them: each such expression costs a second of
compilation.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dlsched.solvers.compilation import Floats, Ints, loop

_LESS = 1 - 1e-9
"""Factor of a cost that is less than another one by more than rounding."""


class Scores(NamedTuple):
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
    """

    rate: Floats
    relief: Floats
    idle: Ints
    damage: Ints
    gathered: Ints
    running: Ints
    load: Floats
    shared: Ints
    common: Floats
    near: Ints
    ran: Ints
    loaded: Floats
    changed: Ints
    fresh: Ints


@loop
def empty_scores(n: int) -> Scores:
    """Return scores of `n` servers in which nothing is known yet."""
    return Scores(
        np.zeros(n), np.zeros(n), np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64), np.zeros(n),
        np.zeros(n, dtype=np.int64), np.zeros(n), np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64), np.zeros(n), np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
    )  # fmt: skip


@loop
def neighbours(layout: Any, preempted: Any, scores: Any, s: int) -> int:
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


@loop
def power(share: float, doublings: int) -> float:
    """Return ``share ** 2 ** doublings``."""
    for _ in range(doublings):
        share *= share
    return share


@loop
def measure(layout: Any, preempted: Any, scores: Any, s: int, doublings: int) -> None:
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


@loop
def recount(layout: Any, preempted: Any, scores: Any, s: int) -> None:
    """Compute number and weight of a server's running jobs anew, so that no rounding adds up."""
    running, load = 0, 0.0
    for e in range(layout.jobs_at[s], layout.jobs_at[s + 1]):
        j = layout.jobs[e]
        if not preempted[j]:
            running += 1
            load += layout.weight[j]
    scores.running[s], scores.load[s] = running, load
    if running == 0:
        scores.rate[s], scores.relief[s], scores.idle[s] = np.inf, 0.0, 0


@loop
def note(layout: Any, scores: Any, j: int, count: int) -> int:
    """Add a job's servers to those that changed; return their number."""
    for f in range(layout.hosts_at[j], layout.hosts_at[j + 1]):
        t = layout.hosts[f]
        if scores.fresh[t] == 0:
            scores.fresh[t] = 1
            scores.changed[count] = t
            count += 1
    return count


@loop
def update(layout: Any, preempted: Any, scores: Any, doublings: int, count: int) -> int:
    """Correct the scores after jobs were preempted or resumed; see `note`.

    Of a server that shares jobs with a changed one, and did not change itself, these jobs are the
    same as before: only the other's part of its relief is another one.

    Returns
    -------
    int
        Number of servers that became idle, less that of those that were.
    """
    gained, turned = 0, 0
    for i in range(count):
        t = scores.changed[i]
        scores.ran[i], scores.loaded[i] = scores.running[t], scores.load[t]
        recount(layout, preempted, scores, t)
        change = int(scores.running[t] == 0) - int(scores.ran[i] == 0)
        gained, turned = gained + change, turned + abs(change)
    if turned > 0 and len(layout.held) > len(layout.hosts):
        # Jobs may have other workers there than base workers, which `neighbours` does not see.
        for s in range(len(scores.damage)):
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
                    full, was = both == scores.running[t], both == scores.ran[i]
                    scores.idle[s] += int(full) - int(was)
                    scores.relief[s] += (
                        1.0 if full else power(common / scores.load[t], doublings)
                    ) - (1.0 if was else power(common / scores.loaded[i], doublings))
                    scores.rate[s] = scores.load[s] / scores.relief[s]
                    scores.damage[s] = -1
    for i in range(count):
        scores.fresh[scores.changed[i]] = 0
    return gained


@loop
def cheapest(layout: Any, preempted: Any, scores: Any, missing: int) -> Any:
    """Return the server to take, and the lightest one that makes all missing servers idle or -1.

    Ties, up to rounding, go to the least collateral damage, then to the earlier server.
    """
    best, rate, damage = -1, np.inf, -1.0  # damage below 0: not computed yet
    ending, least, other = -1, np.inf, -1.0
    for s in range(len(scores.rate)):
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
            here = float(scores.damage[s])
            if here < 0.0 or scores.idle[s] > missing:  # a call takes longer than all of this
                here = collateral(layout, preempted, scores, missing, s)
            if here < damage:
                best, damage = s, here
    return best, ending


@loop
def collateral(layout: Any, preempted: Any, scores: Any, missing: int, s: int) -> float:
    """Return a server's collateral damage.

    Of the servers that become idle no more than are missing can be returned: of the GPUs on them
    the average share is damage, too.
    """
    if scores.damage[s] < 0:
        _collect(layout, preempted, scores, s)
    damage = float(scores.damage[s])
    if scores.idle[s] > missing:
        damage += scores.gathered[s] * (scores.idle[s] - missing) / scores.idle[s]
    return damage


@loop
def _collect(layout: Any, preempted: Any, scores: Any, s: int) -> None:
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
