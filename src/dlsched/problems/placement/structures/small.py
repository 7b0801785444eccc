"""Which instances are so small that loops run as Python: in about half a second at most."""

from __future__ import annotations

from dlsched.problems.placement.definition.schema import Instance


def few_tables(instance: Instance) -> bool:
    """Return whether an instance is small for a search of a few thousand moves."""
    reads = sum(len(job.tables) for job in instance.jobs)
    return len(instance.tables) <= 15 and reads <= 60


def very_few_tables(instance: Instance) -> bool:
    """Return whether an instance is small for the exact method, which proves it in a second."""
    return few_tables(instance) and len(instance.tables) <= 8


def some_tables(instance: Instance) -> bool:
    """Return whether an instance is small for hill climbing."""
    reads = sum(len(job.tables) for job in instance.jobs)
    return len(instance.tables) <= 100 and reads <= 400
