"""Utility: which GPUs each gang job gets in each slot (Hadar, HadarE)."""

from dlsched.problems.utility.check import LEVELS, check, explain
from dlsched.problems.utility.schema import Held, Instance, Job, Machine, Solution
from dlsched.registry import Problem


def _choose(instance: Instance) -> str:
    from dlsched.problems.utility.exact import choose

    return choose(instance)


PROBLEM = Problem(
    name="utility",
    title="Which GPUs, of which types, each gang job gets in each slot",
    source="Hadar and HadarE (IEEE TC 2026), sections III and V",
    levels=LEVELS,
    instance=Instance,
    solution=Solution,
    definition=check,
    explain=explain,
    exact="dantzig_wolfe",
    bound="priced",
    size="jobs",
    package=__name__,
    choose=_choose,
)

__all__ = ["PROBLEM", "Held", "Instance", "Job", "Machine", "Solution"]
