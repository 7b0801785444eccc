"""What would follow if all jobs of a server were preempted: the scores that `densest` compares.

Loops are written out where numpy has an expression for them: each such expression costs a second of
compilation.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dlsched.compilation import Floats, Ints, loop


class Scores(NamedTuple):
    """What would follow if all jobs of a server were preempted, by server; and work space.

    Attributes
    ----------
    weight
        Weight of its jobs that run.
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
        Work space of `measure`: by server, the number and weight of the jobs that it shares with
        the server measured; and which servers share any. The first two are 0 between calls.
    """

    weight: Floats
    relief: Floats
    idle: Ints
    damage: Ints
    gathered: Ints
    running: Ints
    load: Floats
    shared: Ints
    common: Floats
    near: Ints


@loop
def measure(layout: Any, preempted: Any, scores: Any, s: int, doublings: int) -> None:
    """Compute weight, relief and idle servers of a server anew.

    The relief is the sum, over all servers, of (the weight of running jobs there that are also on
    this server / the weight of all running jobs there) ** exponent. It is 1 for a server that
    becomes idle, and near 0, if the exponent is large, for one that keeps a part of its jobs.
    """
    weight, near = 0.0, 0
    for e in range(layout.jobs_at[s], layout.jobs_at[s + 1]):
        j = layout.jobs[e]
        if not preempted[j]:
            weight += layout.weight[j]
            for f in range(layout.hosts_at[j], layout.hosts_at[j + 1]):
                t = layout.hosts[f]
                if scores.shared[t] == 0:
                    scores.near[near] = t
                    near += 1
                scores.shared[t] += 1
                scores.common[t] += layout.weight[j]
    relief, idle = 0.0, 0
    for i in range(near):
        t = scores.near[i]
        if scores.shared[t] == scores.running[t]:
            idle += 1
            relief += 1.0
        else:
            share = scores.common[t] / scores.load[t]
            for _ in range(doublings):
                share *= share
            relief += share
        scores.shared[t], scores.common[t] = 0, 0.0
    scores.weight[s], scores.relief[s], scores.idle[s] = weight, relief, idle
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


@loop
def renew(
    layout: Any, preempted: Any, scores: Any, doublings: int, changed: Any, seen: Any, mark: int
) -> None:
    """Measure the servers that share a running job with one of those that changed."""
    for s in changed:
        for e in range(layout.jobs_at[s], layout.jobs_at[s + 1]):
            j = layout.jobs[e]
            if not preempted[j]:
                for f in range(layout.hosts_at[j], layout.hosts_at[j + 1]):
                    t = layout.hosts[f]
                    if seen[t] != mark:
                        seen[t] = mark
                        measure(layout, preempted, scores, t, doublings)


@loop
def cheapest(layout: Any, preempted: Any, scores: Any, missing: int) -> Any:
    """Return the server to take, and the lightest one that makes all missing servers idle or -1.

    Ties go to the least collateral damage, then to the earlier server.
    """
    rate, least = np.inf, np.inf
    for s in range(len(scores.weight)):
        if scores.running[s] > 0:
            rate = min(rate, scores.weight[s] / min(float(missing), scores.relief[s]))
            if scores.idle[s] >= missing:
                least = min(least, scores.weight[s])
    best, ending = -1, -1
    for s in range(len(scores.weight)):
        if scores.running[s] > 0:
            if scores.weight[s] / min(float(missing), scores.relief[s]) == rate:
                best = _less_damage(layout, preempted, scores, missing, best, s)
            if scores.idle[s] >= missing and scores.weight[s] == least:
                ending = _less_damage(layout, preempted, scores, missing, ending, s)
    return best, ending


@loop
def _less_damage(layout: Any, preempted: Any, scores: Any, missing: int, other: int, s: int) -> int:
    """Return the server with less collateral damage; without an `other`, -1, it is this one.

    Of the servers that become idle no more than are missing can be returned: of the GPUs on them
    the average share is added.
    """
    _damage(layout, preempted, scores, s)
    least, chosen = np.inf, s
    for t in (other, s):
        if t >= 0:
            excess = max(0, scores.idle[t] - missing)
            damage = scores.damage[t] + scores.gathered[t] * excess / max(1, scores.idle[t])
            if damage < least:
                least, chosen = damage, t
    return chosen


@loop
def _damage(layout: Any, preempted: Any, scores: Any, s: int) -> None:
    """Compute a server's `damage` and `gathered`, if they are not known."""
    if scores.damage[s] >= 0:
        return
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
