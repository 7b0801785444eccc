"""Tasks of several shapes on equal machines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from dlsched.problems.dispatch.structures.blocks import Amounts

Counts: TypeAlias = tuple[int, ...]
"""Number of tasks by shape."""
_MOST_STEPS = 500
"""Machines filled in the search, after which it gives up."""


def pack(counts: Sequence[int], needs: Sequence[Amounts], have: Amounts, machines: int) -> (
    list[Counts] | None
):  # fmt: skip
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
    search = _PackingSearch(needs, have)
    return search.fill(tuple(counts), machines)


class _PackingSearch:
    def __init__(self, needs: Sequence[Amounts], have: Amounts) -> None:
        self.needs, self.have = needs, have
        self.steps = 0
        self.failed: set[tuple[Counts, int]] = set()

    def fill(self, counts: Counts, machines: int) -> list[Counts] | None:
        """Place the rest of the tasks on the rest of the machines."""
        if not any(counts):
            return []
        if not self.in_total(counts, machines) or (counts, machines) in self.failed:
            return None
        for chosen in self.choices(counts, self.have, 0):
            if not any(chosen):
                continue
            self.steps += 1
            if self.steps > _MOST_STEPS:
                return None
            often = min(a // b for a, b in zip(counts, chosen, strict=True) if b)
            for times in sorted({min(often, machines), 1}, reverse=True):
                left = tuple(a - times * b for a, b in zip(counts, chosen, strict=True))
                rest = self.fill(left, machines - times)
                if rest is not None:
                    return [chosen] * times + rest
        self.failed.add((counts, machines))
        return None

    def in_total(self, counts: Counts, machines: int) -> bool:
        """Whether the machines have room enough, taken as one."""
        return all(
            sum(n * need[i] for n, need in zip(counts, self.needs, strict=True))
            <= machines * self.have[i]
            for i in range(3)
        )

    def choices(self, counts: Counts, have: Amounts, k: int) -> Iterator[Counts]:
        """Yield what one machine may hold, with most of the shapes from position `k` on first.

        Choices to which a task could be added are left out if it is of the last shape.
        """
        need = self.needs[k]
        most = min([counts[k], *(a // b for a, b in zip(have, need, strict=True) if b)])
        if k + 1 == len(counts):
            yield (most,)
            return
        for n in range(most, -1, -1):
            left = (have[0] - n * need[0], have[1] - n * need[1], have[2] - n * need[2])
            for rest in self.choices(counts, left, k + 1):
                yield (n, *rest)
