"""What would follow if all jobs of a server were preempted: the scores that `densest` compares.

Loops are written out where numpy has an expression for them: each such expression costs a second of
compilation.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.reclaiming.structures.job_arrays import Layout, hosts_of, jobs_on
from dlsched.solvers.compilation import Floats, Ints, loop

Flags: TypeAlias = NDArray[np.bool_]
"""Whether each job is preempted."""


class Scores(NamedTuple):
    """What would follow if all jobs of a server were preempted, by server; and work space.

    Attributes
    ----------
    rate
        Weight divided by relief; infinite for a server that is idle already.
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

    rate: Floats
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
def new_scores(servers: int) -> Scores:
    """Return scores that are 0."""
    reals = np.zeros((5, servers))
    whole = np.zeros((6, servers), dtype=np.int64)
    return Scores(
        rate=reals[0],
        weight=reals[1],
        relief=reals[2],
        idle=whole[0],
        damage=whole[1],
        gathered=whole[2],
        running=whole[3],
        load=reals[3],
        shared=whole[4],
        common=reals[4],
        near=whole[5],
    )


@loop
def measure(layout: Layout, preempted: Flags, scores: Scores, s: int, doublings: int) -> None:
    """Compute weight, relief and idle servers of a server anew.

    The relief is the sum, over all servers, of (the weight of running jobs there that are also on
    this server / the weight of all running jobs there) ** exponent. It is 1 for a server that
    becomes idle, and near 0, if the exponent is large, for one that keeps a part of its jobs.
    """
    shared, common, near = scores.shared, scores.common, scores.near
    weight = 0.0
    neighbours = 0
    for j in jobs_on(layout, s):
        if not preempted[j]:
            weight += layout.weight[j]
            for e in range(layout.hosts_at[j], layout.hosts_at[j + 1]):  # a view takes longer
                t = layout.hosts[e]
                if shared[t] == 0:
                    near[neighbours] = t
                    neighbours += 1
                shared[t] += 1
                common[t] += layout.weight[j]
    relief = 0.0
    idle = 0
    for i in range(neighbours):
        t = near[i]
        if shared[t] == scores.running[t]:
            idle += 1
            relief += 1.0
        else:
            share = common[t] / scores.load[t]
            for _ in range(doublings):
                share *= share
            relief += share
        shared[t] = 0
        common[t] = 0.0
    scores.weight[s] = weight
    scores.relief[s] = relief
    scores.idle[s] = idle
    scores.rate[s] = weight / relief
    scores.damage[s] = -1


@loop
def recount(layout: Layout, preempted: Flags, scores: Scores, s: int) -> None:
    """Compute number and weight of a server's running jobs anew, so that no rounding adds up."""
    running = 0
    load = 0.0
    for j in jobs_on(layout, s):
        if not preempted[j]:
            running += 1
            load += layout.weight[j]
    scores.running[s] = running
    scores.load[s] = load
    if running == 0:
        scores.rate[s] = np.inf
        scores.relief[s] = 0.0


@loop
def renew(
    layout: Layout,
    preempted: Flags,
    scores: Scores,
    doublings: int,
    changed: Ints,
    seen: Ints,
    mark: int,
) -> None:
    """Measure the servers that share a running job with one of those that changed."""
    for s in changed:
        for j in jobs_on(layout, s):
            if not preempted[j]:
                for t in hosts_of(layout, j):
                    if seen[t] != mark:
                        seen[t] = mark
                        measure(layout, preempted, scores, t, doublings)


@loop
def cheapest(layout: Layout, preempted: Flags, scores: Scores, missing: int) -> tuple[int, int]:
    """Return the server to take, and the lightest one that makes all missing servers idle or -1.

    Ties go to the least collateral damage, then to the earlier server.
    """
    best, rate, damage = -1, np.inf, -1.0  # damage below 0: not computed yet
    ending, least, other = -1, np.inf, -1.0
    for s in range(len(scores.rate)):
        cost = scores.rate[s]
        if scores.relief[s] >= missing:
            cost = scores.weight[s] / missing
            if scores.idle[s] >= missing and scores.weight[s] < least:
                ending, least, other = s, scores.weight[s], -1.0
            elif scores.idle[s] >= missing and scores.weight[s] == least and other != 0.0:
                if other < 0.0:
                    other = _damage(layout, preempted, scores, missing, ending)
                here = _damage(layout, preempted, scores, missing, s)
                if here < other:
                    ending, other = s, here
        if cost < rate:
            best, rate, damage = s, cost, -1.0
        elif cost == rate and damage != 0.0 and best >= 0:
            if damage < 0.0:
                damage = _damage(layout, preempted, scores, missing, best)
            here = float(scores.damage[s])
            if here < 0.0 or scores.idle[s] > missing:  # a call takes longer than all of this
                here = _damage(layout, preempted, scores, missing, s)
            if here < damage:
                best, damage = s, here
    return best, ending


@loop
def _damage(layout: Layout, preempted: Flags, scores: Scores, missing: int, s: int) -> float:
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
def _collect(layout: Layout, preempted: Flags, scores: Scores, s: int) -> None:
    """Compute a server's `damage` and `gathered`."""
    for j in jobs_on(layout, s):
        if not preempted[j]:
            for t in hosts_of(layout, j):
                scores.shared[t] += 1
    damage = 0
    gathered = 0
    for j in jobs_on(layout, s):
        if not preempted[j]:
            for f in range(layout.held_at[j], layout.held_at[j + 1]):
                t = layout.held[f]
                if scores.shared[t] < scores.running[t]:
                    damage += layout.gpus[f]
                elif scores.running[t] > 0:
                    gathered += layout.gpus[f]
    for j in jobs_on(layout, s):
        for t in hosts_of(layout, j):
            scores.shared[t] = 0
    scores.damage[s] = damage
    scores.gathered[s] = gathered
