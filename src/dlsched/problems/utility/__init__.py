"""Utility: which GPUs each gang job gets in each slot (Hadar, HadarE)."""

from dlsched.problems.utility.definition.check import LEVELS, check, explain
from dlsched.problems.utility.definition.schema import Held, Instance, Job, Machine, Solution
from dlsched.registry import Problem, Start


def choose(instance: Instance) -> str:
    """Return the name of the exact method for an instance: `milp` if it is forking."""
    return "milp" if instance.forking else "dantzig_wolfe"


def starts(instance: Instance) -> list[Start]:
    """Return what the exact method begins from."""
    return [Start("hadare" if instance.forking else "insertion")]


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
    bound="lagrangian",
    size="jobs",
    package=__name__,
    paper_method="hadar",
    starts=starts,
    choose=choose,
)

__all__ = ["PROBLEM", "Held", "Instance", "Job", "Machine", "Solution"]
