"""Which method `exact` is, by the size of the instance's programs."""

from __future__ import annotations

from dlsched.problems.workers.definition.schema import Instance
from dlsched.problems.workers.programs.arc_program import arcs_exceed
from dlsched.problems.workers.structures.patterns import patterns_exceed

MOST_PATTERNS = 50_000
"""With more patterns in all, the pattern program takes too long to build."""
MOST_ARCS = 100_000
"""With more arcs, the flow program does."""


def choose(instance: Instance) -> str:
    """Return ``milp``; ``arc_flow`` where there are too many patterns, else ``per_server``."""
    if not patterns_exceed(instance, MOST_PATTERNS):
        return "milp"
    return "per_server" if arcs_exceed(instance, MOST_ARCS) else "arc_flow"
