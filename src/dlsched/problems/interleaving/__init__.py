"""Interleaving: which jobs share GPUs by interleaving their stages (Muri)."""

from dlsched.problems.interleaving.definition.check import LEVELS, check, explain, iteration_time
from dlsched.problems.interleaving.definition.schema import Group, Instance, Solution
from dlsched.problems.interleaving.structures.group_counts import choose
from dlsched.registry import Problem, Start, When


def starts(instance: Instance) -> list[Start]:
    """Return the heuristic: after the exact method where it ends soon, as it has its own first.

    Up to 128 jobs that takes seconds.
    `regroup` finds better groups than `swap` from a second on, and as good ones before.
    """
    soon = len(instance.jobs) <= 128 or choose(instance) == "aggregated"
    return [Start("regroup", When.LAST if soon else When.LIMITED)]


PROBLEM = Problem(
    name="interleaving",
    title="Which jobs share GPUs by interleaving their stages",
    source="Muri (SIGCOMM'22), section 4",
    levels=LEVELS,
    instance=Instance,
    solution=Solution,
    definition=check,
    explain=explain,
    exact="column_generation",
    bound="lagrangian",
    size="jobs",
    package=__name__,
    paper_method="muri",
    starts=starts,
    choose=choose,
)

__all__ = ["PROBLEM", "Group", "Instance", "Solution", "iteration_time"]
