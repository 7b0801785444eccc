"""Dispatch: which waiting workloads start, where, and who is preempted for them (MAST)."""

from dlsched.problems.dispatch.definition.check import LEVELS, check, explain
from dlsched.problems.dispatch.definition.ranking import Ranked, rank
from dlsched.problems.dispatch.definition.schema import Instance, Solution
from dlsched.problems.dispatch.instances.from_placement import from_placement
from dlsched.registry import Problem, Start


def choose(instance: Instance) -> str:
    """Return the exact method for an instance: by clusters if one workload may start.

    The model's `milp` was not faster than these on any instance measured, small or large.
    """
    return "clusters" if instance.scope == "one" else "classes"


_SCOPES = ("top_k", "federated", "local", "regional_queue", "global_queue", "regional")

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
    paper_method="mast",
    choose=choose,
    starts=tuple(map(Start, ("counted", "reinserted", *_SCOPES))),
)

__all__ = ["PROBLEM", "Instance", "Ranked", "Solution", "from_placement", "rank"]
