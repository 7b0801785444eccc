"""Starting what still fits beside a solution, without preemption."""

from __future__ import annotations

import numpy as np

from dlsched.problems.dispatch.definition.ranking import startable
from dlsched.problems.dispatch.definition.schema import Instance, Solution
from dlsched.problems.dispatch.heuristics.dispatcher import Dispatcher
from dlsched.problems.dispatch.structures.fleet import Barred, Fleet


def filled(instance: Instance, solution: Solution, barred: Barred | None = None) -> Solution:
    """Return a feasible solution with more workloads: by priority, of equal priority by size."""
    fleet = Fleet(instance, barred)
    dispatcher = Dispatcher(fleet, preempts=False)
    fleet.stop(instance.running_index[name] for name in solution.preempt)
    order = startable(instance)
    for ranked in order:
        started = solution.start.get(ranked.workload)
        if started is None:
            continue
        jobs = instance.pending[ranked.position].jobs
        for job, request in zip(jobs, fleet.requests[ranked.position], strict=True):
            placed = started.jobs[job.id]
            s = fleet.site_index[placed.cluster]
            machines = np.array([fleet.position(s, name) for name in placed.on])
            fleet.take(s, request, machines, np.array(list(placed.on.values())))
    waiting = [ranked for ranked in order if ranked.workload not in solution.start]
    waiting.sort(key=lambda r: (r.priority, -instance.size(instance.pending[r.position])))
    dispatcher.dispatch(waiting, dispatcher.everywhere)
    return Solution(start={**solution.start, **dispatcher.start}, preempt=solution.preempt)
