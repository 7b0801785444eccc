"""Placement: the home region of every table (MAST)."""

from dlsched.problems.placement.definition.check import LEVELS, check, explain
from dlsched.problems.placement.definition.schema import Instance, Job, Region, Solution, Table
from dlsched.registry import Problem

PROBLEM = Problem(
    name="placement",
    title="The home region of every table",
    source="MAST (OSDI'24), section 3",
    levels=LEVELS,
    instance=Instance,
    solution=Solution,
    definition=check,
    explain=explain,
    exact="milp",
    bound="indivisible_bound",
    size="tables",
    package=__name__,
)

__all__ = ["PROBLEM", "Instance", "Job", "Region", "Solution", "Table"]
