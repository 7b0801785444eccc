"""Solutions in which every victim makes room for something of a higher priority."""

from dlsched.problems.dispatch.definition.ranking import rank
from dlsched.problems.dispatch.definition.schema import Instance, Solution


def justified(instance: Instance, solution: Solution) -> Solution:
    """Return a solution without victims on whose machines nothing of a higher priority starts.

    The workloads on their machines are left out with them. If `solution` meets every other rule,
    the answer meets all, and is better: no priority above a victim's is touched, and at the
    victim's own a preempted job less comes before what starts there.
    """
    priority = {ranked.workload: ranked.priority for ranked in rank(instance)}
    start = dict(solution.start)
    running = {workload.id: workload for workload in instance.running}
    victims = [running[name] for name in solution.preempt]
    machines_of = {
        name: {m for job in started.jobs.values() for m in job.on}
        for name, started in start.items()
    }
    justified = False
    while not justified:
        justified = True
        for victim in list(victims):
            machines = {m for job in victim.jobs for m in job.on}
            users = [name for name in start if machines_of[name] & machines]
            p = instance.victim_priority(victim)
            if all(priority[name] >= p for name in users):
                victims.remove(victim)
                for name in users:
                    del start[name]
                justified = False
    return Solution(start=start, preempt=tuple(victim.id for victim in victims))
