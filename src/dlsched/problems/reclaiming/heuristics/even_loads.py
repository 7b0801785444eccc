"""Which jobs `densest` preempts first: those of a choice that is nearly optimal for its size.

Let each job divide its weight among its servers; the load of a server is the sum of its parts. For
any set S of servers, with J(S) the jobs on them,

    weight of J(S) >= sum of the loads over S,

with equality if no job of J(S) gives a part to a server outside S. Lyra's cost is the load of equal
parts. With the most even loads, sum of squares least, equality holds for each set {load <= l}: it
then has the least weight of all sets of as many servers (Fujishige, Lexicographically optimal base
of a polymatroid, 1980, for this function). A few sweeps, in which one job after the other divides
its weight anew, give nearly these loads; so several of such sets are compared by their weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dlsched.problems.reclaiming.structures.job_arrays import Layout
from dlsched.solvers.compilation import Floats, entry, loop

_LITTLE = 0.005
"""Share of the whole weight; if a sweep moves no more between servers, it is the last one."""


@entry("float64[::1](Layout, int64)", records=(Layout,))
def even_loads(layout: Any, sweeps: int) -> Floats:
    """Return the load of each server after some sweeps over the jobs, from equal parts on.

    In a sweep each job divides its weight anew, so that the loads of its servers are as even as
    they can be while the other jobs' parts stay. The sweeps end where little moves.
    """
    hosts, hosts_at = layout.hosts, layout.hosts_at
    part = np.zeros(len(hosts))
    load = np.zeros(len(layout.jobs_at) - 1)
    for j in range(len(layout.weight)):
        for e in range(hosts_at[j], hosts_at[j + 1]):
            part[e] = layout.weight[j] / (hosts_at[j + 1] - hosts_at[j])
            load[hosts[e]] += part[e]
    rising = np.zeros(len(load), dtype=np.int64)
    total = load.sum()
    for _ in range(sweeps):
        moved = 0.0
        for j in range(len(layout.weight)):
            if hosts_at[j + 1] - hosts_at[j] > 1:
                for e in range(hosts_at[j], hosts_at[j + 1]):
                    load[hosts[e]] = max(0.0, load[hosts[e]] - part[e])
                level = _level(layout, load, j, rising)
                for e in range(hosts_at[j], hosts_at[j + 1]):
                    before = part[e]
                    part[e] = max(0.0, level - load[hosts[e]])
                    moved += abs(part[e] - before)
                    load[hosts[e]] += part[e]
        if moved <= _LITTLE * total:
            break
    return load


@loop
def _level(layout: Any, load: Any, j: int, rising: Any) -> float:
    """Return the load to which a job's weight fills up the least loaded of its servers.

    Parameters
    ----------
    rising
        Work space: the job's servers, the least loaded first.
    """
    first, count = layout.hosts_at[j], layout.hosts_at[j + 1] - layout.hosts_at[j]
    for i in range(count):
        s, at = layout.hosts[first + i], i
        while at > 0 and load[rising[at - 1]] > load[s]:
            rising[at] = rising[at - 1]
            at -= 1
        rising[at] = s
    total = layout.weight[j]
    for i in range(count):
        total += load[rising[i]]
        level = total / (i + 1)
        if i + 1 < count and load[rising[i + 1]] >= level:
            break
    return float(level)


@entry("void(Layout, int64, int64[::1], boolean[::1])", records=(Layout,))
def preempt_first(layout: Any, demand: int, rising: Any, preempted: Any) -> None:
    """Preempt the jobs of the servers that come first, up to one of the corners.

    Corners are the points (idle servers, preempted weight) on the lower hull of those of all
    beginnings of the order. The last one with no more idle servers than the demand is taken.

    Parameters
    ----------
    rising
        All servers, those with the least load first.
    preempted
        By job; jobs that are preempted already. Changed in place.
    """
    n = len(rising)
    weight = np.zeros(n + 1)
    idle = np.zeros(n + 1, dtype=np.int64)
    _follow(layout, rising, preempted.copy(), weight, idle)
    corner, taken = 0, 0
    while corner >= 0 and idle[corner] <= demand:
        taken, corner, least = corner, -1, np.inf
        for i in range(taken + 1, n + 1):
            if idle[i] > idle[taken]:
                slope = (weight[i] - weight[taken]) / (idle[i] - idle[taken])
                if slope <= least:
                    corner, least = i, slope
    for i in range(taken):
        for e in range(layout.jobs_at[rising[i]], layout.jobs_at[rising[i] + 1]):
            preempted[layout.jobs[e]] = True


@loop
def _follow(layout: Any, rising: Any, preempted: Any, weight: Any, idle: Any) -> None:
    """Compute the preempted weight and the idle servers after each server of an order."""
    running = np.zeros(len(rising), dtype=np.int64)
    for s in range(len(rising)):
        for e in range(layout.jobs_at[s], layout.jobs_at[s + 1]):
            running[s] += not preempted[layout.jobs[e]]
        idle[0] += running[s] == 0
    for i in range(len(rising)):
        weight[i + 1], idle[i + 1] = weight[i], idle[i]
        for e in range(layout.jobs_at[rising[i]], layout.jobs_at[rising[i] + 1]):
            j = layout.jobs[e]
            if not preempted[j]:
                preempted[j] = True
                weight[i + 1] += layout.weight[j]
                for f in range(layout.hosts_at[j], layout.hosts_at[j + 1]):
                    running[layout.hosts[f]] -= 1
                    idle[i + 1] += running[layout.hosts[f]] == 0
