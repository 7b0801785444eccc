"""Utility: which GPUs each gang job gets in each slot (Hadar, HadarE)."""

from dlsched.problems.utility.definition.check import LEVELS, check, explain
from dlsched.problems.utility.definition.schema import Held, Instance, Job, Machine, Solution
from dlsched.registry import Problem, Start, When

_FEW_RUNS = 500
"""Up to this many triples of job, slot and speed Python takes a second or a few, as measured."""


def choose(instance: Instance) -> str:
    """Return the name of the exact method for an instance: `milp` if it is forking."""
    return "milp" if instance.forking else "dantzig_wolfe"


def few_runs(instance: Instance) -> bool:
    """Return whether the exact method takes less time as Python than its loops to be compiled."""
    return not instance.forking and instance.runs <= _FEW_RUNS


def starts(instance: Instance) -> list[Start]:
    """Return what the exact method begins from: of gangs `insertion`, with loops compiled always.

    With few runs it comes last, so that nothing is compiled where the exact method proves its
    solution before.
    """
    if instance.forking:
        return [Start("forked")]
    return [Start("insertion", When.LAST if few_runs(instance) else When.LIMITED)]


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
