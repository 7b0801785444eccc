"""Interleaving: which jobs share GPUs by interleaving their stages (Muri)."""

from dlsched.problem import Problem
from dlsched.problems.interleaving.check import LEVELS, check, explain
from dlsched.problems.interleaving.gamma import iteration_time
from dlsched.problems.interleaving.schema import Group, Instance, Solution

PROBLEM = Problem(
    name="interleaving",
    title="Which jobs share GPUs by interleaving their stages",
    source="Muri (SIGCOMM'22), section 4",
    levels=LEVELS,
    instance=Instance,
    solution=Solution,
    check=check,
    explain=explain,
    exact="milp",
    bound="milp",
    package=__name__,
)

__all__ = ["PROBLEM", "Group", "Instance", "Solution", "iteration_time"]
