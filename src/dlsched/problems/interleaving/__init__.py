"""Interleaving: which jobs share GPUs by interleaving their stages (Muri)."""

from dlsched.problems.interleaving.definition.check import LEVELS, check, explain, iteration_time
from dlsched.problems.interleaving.definition.schema import Group, Instance, Solution
from dlsched.problems.interleaving.structures.group_counts import choose
from dlsched.registry import Problem, Start

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
    starts=(Start("regroup"), Start("swap")),
    choose=choose,
)

__all__ = ["PROBLEM", "Group", "Instance", "Solution", "iteration_time"]
