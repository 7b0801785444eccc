"""Which method `exact` is, by the size of the instance's flow program."""

from __future__ import annotations

from dlsched.problems.workers.definition.schema import Instance
from dlsched.problems.workers.programs.arc_program import arcs_exceed

MOST_ARCS = 100_000
"""With more arcs, the flow program takes too long to build."""


def choose(instance: Instance) -> str:
    """Return ``arc_flow``; ``milp`` where there are too many arcs."""
    return "milp" if arcs_exceed(instance, MOST_ARCS) else "arc_flow"
