"""Which servers a solution of reclaiming returns, whom that preempts, and where two differ."""

from __future__ import annotations

from dlsched.display.drawing.colours import Differences
from dlsched.problems.reclaiming.definition.schema import Instance, Solution


def differing(instance: Instance, a: Solution, b: Solution) -> Differences:
    """Return the jobs that only one of two solutions preempts; the words count servers, too."""
    first, second = returned_of(instance, a), returned_of(instance, b)
    fates = preempted_of(instance, first) ^ preempted_of(instance, second)
    jobs = {instance.jobs[j].id for j in fates}
    words = f"{len(jobs):,} of {len(instance.jobs):,} jobs and {len(first ^ second):,} of "
    return Differences(jobs, f"{words}{len(instance.servers):,} servers", "outcome")


def returned_of(instance: Instance, solution: Solution | None) -> set[int]:
    """Return the positions of the servers that a solution returns."""
    index = instance.server_index
    return {index[s] for s in solution.returned if s in index} if solution else set()


def preempted_of(instance: Instance, returned: set[int]) -> set[int]:
    """Return the positions of the jobs that are preempted if some servers are returned."""
    return {j for j, base in enumerate(instance.base_servers) if not base.isdisjoint(returned)}
