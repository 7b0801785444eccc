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

_FURTHER = (0, 1, 2, 4, 8)
"""Servers beyond the demand that are emptied and given back, one number after the other."""


@entry(
    "float64(Layout, int64, int64, int64[::1], boolean[::1])",
    records=(Layout,),
)
def empty(layout: Any, demand: int, doublings: int, order: Any, preempted: Any) -> float:
    """Preempt further jobs until enough servers are idle, and resume those that need not stop.

    Then exchange jobs: some servers more than the demand are emptied, and the jobs of most weight
    per server are resumed. What is no better is undone.

    Parameters
    ----------
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
    best, least = preempted.copy(), np.inf
    for further in _FURTHER:
        missing = min(n, demand + further) - idle
        idle += _preempt(layout, missing, doublings, preempted, scores)
        idle -= _resume(layout, idle - demand, doublings, order, preempted, scores)
        weight = _weight(layout, preempted)
        if weight < least:
            best[:], least = preempted, weight
        else:
            idle += _return_to(layout, best, doublings, preempted, scores)
    return least


@loop
def _return_to(layout: Any, best: Any, doublings: int, preempted: Any, scores: Any) -> int:
    """Preempt the same jobs as before; return the servers that become idle, less those lost."""
    count = 0
    for j in range(len(preempted)):
        if preempted[j] != best[j]:
            preempted[j] = best[j]
            count = note(layout, scores, j, count)
    return update(layout, preempted, scores, doublings, count)


@loop
def _weight(layout: Any, preempted: Any) -> float:
    """Return the weight of the preempted jobs."""
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
def _preempt(layout: Any, missing: int, doublings: int, preempted: Any, scores: Any) -> int:
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
def _resume(
    layout: Any, spare: int, doublings: int, order: Any, preempted: Any, scores: Any
) -> int:
    """Resume the job of most weight per server that is lost, and repeat as servers are to spare.

    Returns
    -------
    int
        Servers that are busy again.
    """
    lost = np.zeros(len(preempted), dtype=np.int64)
    met = np.zeros(len(preempted), dtype=np.int64)
    back = 0
    while True:
        count = _resume_without_loss(layout, preempted, scores, lost)
        if back < spare:
            best = _worthiest(layout, spare - back, order, preempted, scores, lost, met)
            if best >= 0:
                preempted[best] = False
                count = note(layout, scores, best, count)
        if count == 0:
            break
        back -= update(layout, preempted, scores, doublings, count)
    return back


@loop
def _resume_without_loss(layout: Any, preempted: Any, scores: Any, lost: Any) -> int:
    """Resume jobs without any idle server; count the idle servers of the others in `lost`.

    Returns
    -------
    int
        Servers that changed; see `note`.
    """
    count = 0
    for j in range(len(preempted)):
        if preempted[j] and layout.weight[j] > 0.0:
            lost[j] = 0
            for f in range(layout.hosts_at[j], layout.hosts_at[j + 1]):
                lost[j] += scores.running[layout.hosts[f]] == 0
            if lost[j] == 0:
                preempted[j] = False
                count = note(layout, scores, j, count)
    return count


@loop
def _worthiest(
    layout: Any, spare: int, order: Any, preempted: Any, scores: Any, lost: Any, met: Any
) -> int:
    """Return the job of most weight per server that is lost, or -1 if all lose more than are spare.

    With a job those are counted that could then go on, too: all their idle servers are its own.

    Parameters
    ----------
    lost
        By job that is preempted: its idle servers.
    met
        Work space: by job, idle servers that it shares with the one measured; 0 between calls.
    """
    best, most = -1, 0.0
    for j in order:
        if preempted[j] and 0 < lost[j] <= spare:
            weight = 0.0
            for change in (1, -1):  # the second time only to leave all at 0
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
