"""Shares: the time of each job on each type of GPU (Gavel's allocation programs)."""

from dlsched.problems.shares.definition.check import LEVELS, check, explain
from dlsched.problems.shares.definition.schema import Instance, Job, Model, Pair, Share, Solution
from dlsched.problems.shares.instances.rates import Rates, from_rates, read_rates
from dlsched.registry import Problem, Start

__all__ = [
    "PROBLEM",
    "Instance",
    "Job",
    "Model",
    "Pair",
    "Rates",
    "Share",
    "Solution",
    "from_rates",
    "read_rates",
]

PROBLEM = Problem(
    name="shares",
    title="How much of its time each job spends on each type of GPU",
    source="Gavel (OSDI'20), the comparator of Hadar",
    levels=LEVELS,
    instance=Instance,
    solution=Solution,
    definition=check,
    explain=explain,
    exact="milp",
    bound="lp",
    size="jobs",
    package=__name__,
    starts=[Start("isolated")],
)
