"""Which jobs to preempt so that enough servers are idle: the compiled loops of `densest`.

A server is idle if all its jobs are preempted. Jobs of weight 0 count as preempted from the start,
as they cost nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dlsched.problems.reclaiming.structures.job_arrays import Layout
from dlsched.problems.reclaiming.structures.server_scores import (
    cheapest,
    empty_scores,
    measure,
    note,
    recount,
    update,
)
from dlsched.solvers.compilation import entry, loop

_FURTHER = (0, 1, -1, 2, -2, 4, -4, 8, -8)


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
    n = len(layout.jobs_at) - 1
    for j in range(len(preempted)):
        preempted[j] = preempted[j] or layout.weight[j] == 0.0
    scores = empty_scores(n)
    idle = 0
    for s in range(n):
        recount(layout, preempted, scores, s)
        idle += scores.running[s] == 0
    for s in range(n):
        if scores.running[s] > 0:
            measure(layout, preempted, scores, s, doublings)
    total = np.inf
    best = preempted.copy()
    for further in _FURTHER:
        if further < 0:
            spare = idle - demand - further
            idle -= _give_back(layout, spare, doublings, order, preempted, scores)
        missing = min(n, demand + max(0, further)) - idle
        idle += _reach(layout, missing, doublings, preempted, scores)
        idle -= _give_back(layout, idle - demand, doublings, order, preempted, scores)
        now = _weight(layout, preempted)
        if now < total:
            best[:] = preempted
            total = now
        else:
            count = 0
            for j in range(len(preempted)):
                if preempted[j] != best[j]:
                    preempted[j] = best[j]
                    count = note(layout, scores, j, count)
            idle += update(layout, preempted, scores, doublings, count)
    return total


@loop
def _weight(layout: Any, preempted: Any) -> float:
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
def _reach(layout: Any, missing: int, doublings: int, preempted: Any, scores: Any) -> int:
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
    stopped = np.zeros(len(preempted), dtype=np.int64)
    steps, end, last, total, least, gained = 0, 0, -1, 0.0, np.inf, 0
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


@loop
def _give_back(
    layout: Any, spare: int, doublings: int, order: Any, preempted: Any, scores: Any
) -> int:
    """Resume the jobs of most weight per lost server, one after the other, as servers are to spare.

    Counted are the job and those that could then go on as well, because they are on one server of
    it and on no other idle one.

    Returns
    -------
    int
        Servers that are busy again.
    """
    lost = np.zeros(len(preempted), dtype=np.int64)
    alone = np.zeros(len(layout.jobs_at) - 1)
    back = 0
    while True:
        count = 0
        alone[:] = 0.0
        for j in range(len(preempted)):
            if preempted[j] and layout.weight[j] > 0.0:
                lost[j], last = 0, -1
                for f in range(layout.hosts_at[j], layout.hosts_at[j + 1]):
                    if scores.running[layout.hosts[f]] == 0:
                        lost[j], last = lost[j] + 1, layout.hosts[f]
                if lost[j] == 0:
                    preempted[j] = False
                    count = note(layout, scores, j, count)
                elif lost[j] == 1:
                    alone[last] += layout.weight[j]
        best, most = -1, 0.0
        if back < spare:
            for j in order:
                if preempted[j] and 0 < lost[j] <= spare - back:
                    worth = layout.weight[j] if lost[j] > 1 else 0.0
                    for f in range(layout.hosts_at[j], layout.hosts_at[j + 1]):
                        if scores.running[layout.hosts[f]] == 0:
                            worth += alone[layout.hosts[f]]
                    if worth / lost[j] > most:
                        best, most = j, worth / lost[j]
        if best >= 0:
            preempted[best] = False
            count = note(layout, scores, best, count)
        if count == 0:
            return back
        back -= update(layout, preempted, scores, doublings, count)
