"""Solutions in which every victim makes room for something of a higher priority."""

from __future__ import annotations

from dlsched.problems.dispatch.definition.ranking import rank
from dlsched.problems.dispatch.definition.schema import Instance, Solution


def justified(instance: Instance, solution: Solution) -> Solution:
    """Return a solution without victims on whose machines nothing of a higher priority starts.

    The workloads on their machines are left out with them. If `solution` meets every other rule,
    the answer meets all, and is better: no priority above a victim's is touched, and at the
    victim's own a preempted job less comes before what starts there.
    """
    priority = {ranked.workload: ranked.priority for ranked in rank(instance)}
    start, preempt = dict(solution.start), list(solution.preempt)
    where = {
        name: {m for job in instance.running[instance.running_index[name]].jobs for m in job.on}
        for name in preempt
    }
    on = {name: {m for job in s.jobs.values() for m in job.on} for name, s in start.items()}
    unjustified = True
    while unjustified:
        unjustified = False
        for victim in list(preempt):
            p = instance.victim_priority(instance.running[instance.running_index[victim]])
            users = [name for name in start if on[name] & where[victim]]
            if all(priority[name] >= p for name in users):
                preempt.remove(victim)
                for name in users:
                    del start[name]
                unjustified = True
    return Solution(start=start, preempt=tuple(preempt))
