"""Sensitivity: CPU and memory for each job, and the servers it runs on (Synergy)."""

from dlsched.problems.sensitivity.definition.check import LEVELS, check, explain
from dlsched.problems.sensitivity.definition.schema import Allocation, Instance, Profile, Solution
from dlsched.problems.sensitivity.instances.cpu_profiles import (
    CpuProfile,
    Gap,
    error_bound,
    profile_cpus,
)
from dlsched.problems.sensitivity.instances.profiling import (
    Demand,
    SensitivityMatrix,
    best_case,
    fill_memory,
    sensitivity_profile,
)
from dlsched.problems.sensitivity.model import FEW_SERVERS
from dlsched.registry import Problem, Start, When

_MANY_JOBS = 100
"""With more jobs the rules without a solver take longer than `price_round`, and find less."""
_RULES = ("tune", "tune_public", "greedy", "drf", "tetris", "proportional")


def starts(instance: Instance) -> list[Start]:
    """Return the heuristics that the exact method begins from; their patterns are its first.

    On few servers it begins with dives of its own, and mostly ends before a heuristic would.
    """
    few = instance.servers.count <= FEW_SERVERS
    rules = When.LAST if few or len(instance.jobs) > _MANY_JOBS else When.FIRST
    first = When.LAST if few else When.FIRST
    return [Start("price_round", first), *(Start(name, rules) for name in _RULES)]


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
    paper_method="tune",
    starts=starts,
)

__all__ = [
    "PROBLEM",
    "Allocation",
    "CpuProfile",
    "Demand",
    "Gap",
    "Instance",
    "Profile",
    "SensitivityMatrix",
    "Solution",
    "best_case",
    "error_bound",
    "fill_memory",
    "profile_cpus",
    "sensitivity_profile",
]
