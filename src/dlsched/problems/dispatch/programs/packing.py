"""Tasks of several shapes on equal machines."""

from __future__ import annotations

from collections.abc import Sequence

from dlsched.problems.dispatch.programs.loads import Load, full_loads
from dlsched.problems.dispatch.structures.victims import Amounts

_MOST_STEPS = 500
"""Machines filled in the search, after which it gives up."""


def pack(
    counts: Sequence[int], needs: Sequence[Amounts], have: Amounts, machines: int
) -> list[Load] | None:
    """Return what to put on each of some machines with equal room, or ``None`` if nothing is found.

    Machine after machine is filled with a maximal choice of tasks, those with more of the earlier
    shapes first. On one machine nothing is missed; on several the search has a limit.

    Parameters
    ----------
    counts, needs
        Tasks to place by shape, and what one of them needs.
    have
        What each machine has.
    machines
        How many there are.
    """
    steps = 0
    failed: set[tuple[Load, int]] = set()

    def fill(counts: Load, machines: int) -> list[Load] | None:
        """Place the rest of the tasks on the rest of the machines."""
        nonlocal steps
        if not any(counts):
            return []
        if (counts, machines) in failed or not in_total(counts, machines):
            return None
        for load in full_loads(needs, have, counts):
            if not any(load):
                continue
            steps += 1
            if steps > _MOST_STEPS:
                return None
            often = min(machines, *(a // b for a, b in zip(counts, load, strict=True) if b))
            for times in sorted({often, 1}, reverse=True):
                waiting = tuple(a - times * b for a, b in zip(counts, load, strict=True))
                rest = fill(waiting, machines - times)
                if rest is not None:
                    return [load] * times + rest
        failed.add((counts, machines))
        return None

    def in_total(counts: Load, machines: int) -> bool:
        """Whether the machines have room enough, taken as one."""
        for free, *needed in zip(have, *needs, strict=True):
            if sum(n * need for n, need in zip(counts, needed, strict=True)) > machines * free:
                return False
        return True

    return fill(tuple(counts), machines)
