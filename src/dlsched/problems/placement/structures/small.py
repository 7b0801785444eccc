"""Which instances are so small that a proof takes about a second."""

from __future__ import annotations

from dlsched.problems.placement.definition.schema import Instance


def few_tables(instance: Instance) -> bool:
    """Return whether there are so few tables that a proof follows soon."""
    reads = sum(len(job.tables) for job in instance.jobs)
    return len(instance.tables) <= 15 and reads <= 60
