"""Dispatch: which waiting workloads start, where, and who is preempted for them (MAST)."""

from dlsched.problems.dispatch.definition.check import LEVELS, check
from dlsched.problems.dispatch.definition.ranking import Ranked, rank
from dlsched.problems.dispatch.definition.schema import Instance, Solution
from dlsched.problems.dispatch.instances.from_placement import from_placement
from dlsched.registry import Problem, Start, When

_HEURISTICS = (
    "counted",
    "reinserted",
    "top_k",
    "federated",
    "local",
    "regional_queue",
    "global_queue",
    "regional",
)


def starts(instance: Instance) -> list[Start]:
    """Return the heuristics: after the exact method where the instance is small.

    Up to 10,000 pairs of a pending workload and a machine the exact method ends in half a minute,
    and `counted` takes a third to a half of its time.
    """
    machines = sum(group.machines.count for group in instance.groups)
    few = instance.scope == "one" or len(instance.pending) * machines <= 10_000
    return [Start(name, When.LAST if few else When.LIMITED) for name in _HEURISTICS]


PROBLEM = Problem(
    name="dispatch",
    title="Which waiting workloads start, where, and which running ones are preempted",
    source="MAST (OSDI'24), section 4",
    levels=LEVELS,
    instance=Instance,
    solution=Solution,
    definition=check,
    exact="classes",
    bound="lp",
    size="pending",
    package=__name__,
    paper_method="mast",
    starts=starts,
)

__all__ = ["PROBLEM", "Instance", "Ranked", "Solution", "from_placement", "rank"]
