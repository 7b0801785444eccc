"""The exact method for an instance."""

from __future__ import annotations

from dlsched.problems.workers.patterns import patterns_exceed
from dlsched.problems.workers.schema import Instance

MOST_PATTERNS = 50_000
"""With more patterns in all, the pattern program takes too long to build."""


def choose(instance: Instance) -> str:
    """Return ``milp``, or ``per_server`` where there are too many patterns."""
    return "per_server" if patterns_exceed(instance, MOST_PATTERNS) else "milp"
