"""Sensitivity: CPU and memory for each job, and the servers it runs on (Synergy)."""

from dlsched.problems.sensitivity.definition.check import LEVELS, check, explain
from dlsched.problems.sensitivity.definition.schema import Allocation, Instance, Profile, Solution
from dlsched.registry import Problem

PROBLEM = Problem(
    name="sensitivity",
    title="CPU and memory for each job, and the servers it runs on",
    source="Synergy (OSDI'22), sections 3 and 4",
    levels=LEVELS,
    instance=Instance,
    solution=Solution,
    definition=check,
    explain=explain,
    exact="patterns",
    bound="pooled",
    size="jobs",
    package=__name__,
)

__all__ = ["PROBLEM", "Allocation", "Instance", "Profile", "Solution"]
