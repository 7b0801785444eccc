"""Interleaving: which jobs share GPUs by interleaving their stages (Muri)."""

from dlsched.problems.interleaving.check import LEVELS, check, explain
from dlsched.problems.interleaving.gamma import iteration_time
from dlsched.problems.interleaving.schema import Group, Instance, Solution
from dlsched.registry import Problem


def _choose(instance: Instance) -> str:
    from dlsched.problems.interleaving.exact import choose

    return choose(instance)


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
    bound="lagrange",
    size="jobs",
    package=__name__,
    choose=_choose,
)

__all__ = ["PROBLEM", "Group", "Instance", "Solution", "iteration_time"]
