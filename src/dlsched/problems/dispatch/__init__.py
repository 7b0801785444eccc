"""Dispatch: which waiting workloads start, where, and who is preempted for them (MAST)."""

from dlsched.problems.dispatch.check import LEVELS, check, explain
from dlsched.problems.dispatch.link import of
from dlsched.problems.dispatch.ranking import Ranked, rank
from dlsched.problems.dispatch.schema import Instance, Solution
from dlsched.registry import Problem


def choose(instance: Instance) -> str:
    """Return the exact method for an instance: by clusters if one workload may start.

    The model's `milp` was not faster than these on any instance measured, small or large.
    """
    return "clusters" if instance.scope == "one" else "classes"


PROBLEM = Problem(
    name="dispatch",
    title="Which waiting workloads start, where, and which running ones are preempted",
    source="MAST (OSDI'24), section 4",
    levels=LEVELS,
    instance=Instance,
    solution=Solution,
    definition=check,
    explain=explain,
    exact="milp",
    bound="lp",
    size="pending",
    package=__name__,
    choose=choose,
)

__all__ = ["PROBLEM", "Instance", "Ranked", "Solution", "of", "rank"]
