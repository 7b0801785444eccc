"""Which jobs to preempt so that enough servers are idle: the compiled loops of `densest`.

A server is idle if all its jobs are preempted. Jobs of weight 0 count as preempted from the start,
as they cost nothing.
"""

from __future__ import annotations

import numpy as np

from dlsched.problems.reclaiming.structures.job_arrays import Layout, hosts_of, jobs_on
from dlsched.problems.reclaiming.structures.server_scores import (
    Flags,
    cheapest,
    measure,
    new_scores,
    recount,
    renew,
)
from dlsched.solvers.compilation import FloatRows, Ints, entry, loop


@entry(
    "float64(Layout, int64, int64, int64[::1], boolean[::1])",
    records=(Layout,),
)
def empty(layout: Layout, demand: int, doublings: int, order: Ints, preempted: Flags) -> float:
    """Preempt further jobs until enough servers are idle, and resume those that need not stop.

    Parameters
    ----------
    demand
        Servers that have to be idle, at most as many as there are.
    doublings
        The exponent of `measure` is 2 to this power.
    order
        Positions of all jobs, in the order in which they are resumed if possible.
    preempted
        By job; jobs that are preempted already. Changed in place.

    Returns
    -------
    float
        Weight of the preempted jobs.
    """
    for j in range(len(preempted)):
        preempted[j] = preempted[j] or layout.weight[j] == 0.0
    _preempt(layout, demand, doublings, preempted)
    _resume(layout, demand, order, preempted)
    total = 0.0
    for j in range(len(preempted)):
        if preempted[j]:
            total += layout.weight[j]
    return total


@entry("void(Layout, boolean[::1], int64, float64[:,::1])", records=(Layout,))
def ruin(layout: Layout, preempted: Flags, count: int, draws: FloatRows) -> None:
    """Resume the jobs of idle servers, each the neighbour of one before it if there is any.

    Parameters
    ----------
    preempted
        By job. Changed in place.
    count
        Number of servers.
    draws
        `count` x 2 numbers from 0 to 1: which server without a neighbour, and which neighbour.
    """
    n = len(layout.jobs_at) - 1
    waiting = np.zeros(n, dtype=np.bool_)  # idle and not in the queue
    for s in range(n):
        running = 0
        heavy = 0
        for j in jobs_on(layout, s):
            running += not preempted[j]
            heavy += layout.weight[j] > 0.0
        waiting[s] = running == 0 and heavy > 0
    idle = np.flatnonzero(waiting)
    queue = np.zeros(len(idle), dtype=np.int64)
    ends = 0
    for i in range(min(count, len(idle))):
        if i == ends:
            drawn = int(draws[i, 0] * len(idle))
            while not waiting[idle[drawn]]:
                drawn = (drawn + 1) % len(idle)
            queue[ends] = idle[drawn]
            waiting[idle[drawn]] = False
            ends += 1
        drawn = i + int(draws[i, 1] * (ends - i))
        s = queue[drawn]
        queue[drawn] = queue[i]
        for j in jobs_on(layout, s):
            preempted[j] = False
            for t in hosts_of(layout, j):
                if waiting[t]:
                    queue[ends] = t
                    waiting[t] = False
                    ends += 1


@loop
def _preempt(layout: Layout, demand: int, doublings: int, preempted: Flags) -> None:
    """Preempt the jobs of one server after the other, the least weight per relief first.

    Relief above the number of servers that are still missing is worth nothing. At each step there
    is another way to end: with the lightest server that makes all of these idle at once. The best
    such end is taken.
    """
    n = len(layout.jobs_at) - 1
    scores = new_scores(n)
    for s in range(n):
        recount(layout, preempted, scores, s)
    missing = demand
    for s in range(n):
        if scores.running[s] > 0:
            measure(layout, preempted, scores, s, doublings)
        else:
            missing -= 1
    before = preempted.copy()
    order = np.zeros(max(missing, 0), dtype=np.int64)
    seen = np.zeros(n, dtype=np.int64)
    changed = np.zeros(n, dtype=np.int64)
    steps = 0
    total = 0.0
    end = 0  # the steps before the best end, its server, and its weight
    last = -1
    least = np.inf
    while missing > 0:
        best, ending = cheapest(layout, preempted, scores, missing)
        if ending >= 0 and total + scores.weight[ending] < least:
            end = steps
            last = ending
            least = total + scores.weight[ending]
        total += scores.weight[best]
        order[steps] = best
        steps += 1
        touched = _stop_jobs(layout, preempted, best, seen, 2 * steps - 1, changed)
        for s in changed[:touched]:
            recount(layout, preempted, scores, s)
            missing -= scores.running[s] == 0
        renew(layout, preempted, scores, doublings, changed[:touched], seen, 2 * steps)
    if steps > 0:
        preempted[:] = before
        for s in order[:end]:
            _stop_jobs(layout, preempted, s, seen, 0, changed)
        _stop_jobs(layout, preempted, last, seen, 0, changed)


@loop
def _stop_jobs(
    layout: Layout, preempted: Flags, s: int, seen: Ints, mark: int, changed: Ints
) -> int:
    """Preempt all jobs of a server; fill in the servers that they were on, and return how many.

    They get a mark in `seen`; those that have it are left out.
    """
    touched = 0
    for j in jobs_on(layout, s):
        if not preempted[j]:
            preempted[j] = True
            for t in hosts_of(layout, j):
                if seen[t] != mark:
                    seen[t] = mark
                    changed[touched] = t
                    touched += 1
    return touched


@loop
def _resume(layout: Layout, demand: int, order: Ints, preempted: Flags) -> None:
    """Resume jobs, in an order, as long as enough servers stay idle."""
    n = len(layout.jobs_at) - 1
    running = np.zeros(n, dtype=np.int64)
    idle = 0
    for s in range(n):
        for j in jobs_on(layout, s):
            running[s] += not preempted[j]
        idle += running[s] == 0
    for j in order:
        if preempted[j] and layout.weight[j] > 0.0:
            lost = 0
            for t in hosts_of(layout, j):
                lost += running[t] == 0
            if idle - lost >= demand:
                preempted[j] = False
                idle -= lost
                for t in hosts_of(layout, j):
                    running[t] += 1
