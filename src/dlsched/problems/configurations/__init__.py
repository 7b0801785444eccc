"""Configurations: the GPUs, and their type, that each job has in a round (Sia)."""

from dlsched.problems.configurations.definition.check import LEVELS, check, explain
from dlsched.problems.configurations.definition.schema import (
    Configuration,
    Instance,
    Job,
    Model,
    Solution,
    Type,
)
from dlsched.registry import Problem, Start

PROBLEM = Problem(
    name="configurations",
    title="How many GPUs, and of which type, each job has in a round",
    source="Sia (SOSP'23)",
    levels=LEVELS,
    instance=Instance,
    solution=Solution,
    definition=check,
    explain=explain,
    exact="sia",
    bound="lp",
    size="jobs",
    package=__name__,
    paper_method="sia_public",
    starts=(Start("greedy"),),
)

__all__ = ["PROBLEM", "Configuration", "Instance", "Job", "Model", "Solution", "Type"]
