"""Reclaiming: which on-loan servers to return so that the fewest jobs are preempted (Lyra)."""

from dlsched.problems.reclaiming.definition.check import LEVELS, check, explain
from dlsched.problems.reclaiming.definition.schema import Instance, Solution
from dlsched.registry import Problem, Start

__all__ = ["PROBLEM", "Instance", "Solution"]


PROBLEM = Problem(
    name="reclaiming",
    title="Which on-loan servers to return so that the fewest jobs are preempted",
    source="Lyra (EuroSys'23), section 4",
    levels=LEVELS,
    instance=Instance,
    solution=Solution,
    definition=check,
    explain=explain,
    exact="milp",
    bound="spectral",
    size="servers",
    package=__name__,
    paper_method="lyra",
    starts=(Start("densest"), Start("lyra"), Start("gpu_fraction")),
)
