"""Which jobs to preempt so that enough servers are idle: the compiled loops of `densest`.

A server is idle if all its jobs are preempted. Jobs of weight 0 count as preempted from the start,
as they cost nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dlsched.problems.reclaiming.structures.job_arrays import Layout
from dlsched.problems.reclaiming.structures.server_scores import (
    Scores,
    cheapest,
    measure,
    recount,
    renew,
)
from dlsched.solvers.compilation import entry, loop


@entry(
    "float64(Layout, int64, int64, int64[::1], boolean[::1])",
    records=(Layout,),
)
def empty(layout: Any, demand: int, doublings: int, order: Any, preempted: Any) -> float:
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
def ruin(layout: Any, preempted: Any, count: int, draws: Any) -> None:
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
    idle = np.zeros(n, dtype=np.int64)
    state = np.zeros(n, dtype=np.int64)  # 1: idle and not in the queue
    found = 0
    for s in range(n):
        running, heavy = 0, 0
        for e in range(layout.jobs_at[s], layout.jobs_at[s + 1]):
            running += not preempted[layout.jobs[e]]
            heavy += layout.weight[layout.jobs[e]] > 0.0
        if running == 0 and heavy > 0:
            idle[found] = s
            state[s] = 1
            found += 1
    queue = np.zeros(found, dtype=np.int64)
    ends = 0
    for i in range(min(count, found)):
        if i == ends:
            at = int(draws[i, 0] * found)
            while state[idle[at]] == 0:
                at = (at + 1) % found
            queue[ends] = idle[at]
            state[idle[at]] = 0
            ends += 1
        at = i + int(draws[i, 1] * (ends - i))
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


@loop
def _preempt(layout: Any, demand: int, doublings: int, preempted: Any) -> None:
    """Preempt the jobs of one server after the other, the least weight per relief first.

    Relief above the number of servers that are still missing is worth nothing. At each step there
    is another way to end: with the lightest server that makes all of these idle at once. The best
    such end is taken.
    """
    n = len(layout.jobs_at) - 1
    scores = Scores(
        np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64),
        np.zeros(n), np.zeros(n, dtype=np.int64), np.zeros(n), np.zeros(n, dtype=np.int64),
    )  # fmt: skip
    for s in range(n):
        recount(layout, preempted, scores, s)
    missing = demand
    for s in range(n):
        if scores.running[s] > 0:
            measure(layout, preempted, scores, s, doublings)
        else:
            missing -= 1
    before = preempted.copy()
    taken = np.zeros(max(missing, 0), dtype=np.int64)
    steps, total = 0, 0.0
    end, last, least = 0, -1, np.inf
    seen = np.zeros(n, dtype=np.int64)
    changed = np.zeros(n, dtype=np.int64)
    while missing > 0:
        best, ending = cheapest(layout, preempted, scores, missing)
        if ending >= 0 and total + scores.weight[ending] < least:
            end, last, least = steps, ending, total + scores.weight[ending]
        total += scores.weight[best]
        taken[steps] = best
        steps += 1
        touched = _take(layout, preempted, best, seen, 2 * steps - 1, changed)
        for i in range(touched):
            recount(layout, preempted, scores, changed[i])
            missing -= scores.running[changed[i]] == 0
        renew(layout, preempted, scores, doublings, changed[:touched], seen, 2 * steps)
    if steps > 0:
        for j in range(len(preempted)):
            preempted[j] = before[j]
        for i in range(end):
            _take(layout, preempted, taken[i], seen, 0, changed)
        _take(layout, preempted, last, seen, 0, changed)


@loop
def _take(layout: Any, preempted: Any, s: int, seen: Any, mark: int, changed: Any) -> int:
    """Preempt all jobs of a server; fill in the servers that they were on, and return how many.

    They get a mark in `seen`; those that have it are left out.
    """
    touched = 0
    for e in range(layout.jobs_at[s], layout.jobs_at[s + 1]):
        j = layout.jobs[e]
        if not preempted[j]:
            preempted[j] = True
            for f in range(layout.hosts_at[j], layout.hosts_at[j + 1]):
                t = layout.hosts[f]
                if seen[t] != mark:
                    seen[t] = mark
                    changed[touched] = t
                    touched += 1
    return touched


@loop
def _resume(layout: Any, demand: int, order: Any, preempted: Any) -> None:
    """Resume jobs, in an order, as long as enough servers stay idle."""
    n = len(layout.jobs_at) - 1
    running = np.zeros(n, dtype=np.int64)
    idle = 0
    for s in range(n):
        for e in range(layout.jobs_at[s], layout.jobs_at[s + 1]):
            running[s] += not preempted[layout.jobs[e]]
        idle += running[s] == 0
    for j in order:
        if preempted[j] and layout.weight[j] > 0.0:
            lost = 0
            for f in range(layout.hosts_at[j], layout.hosts_at[j + 1]):
                lost += running[layout.hosts[f]] == 0
            if idle - lost >= demand:
                preempted[j] = False
                idle -= lost
                for f in range(layout.hosts_at[j], layout.hosts_at[j + 1]):
                    running[layout.hosts[f]] += 1
