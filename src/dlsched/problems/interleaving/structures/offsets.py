"""The offsets of a group's jobs: its arrangements, and the best of them (Muri, eq. 3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

from dlsched.problems.interleaving.definition.check import Stages, iteration_time


def arrangements(k: int, size: int) -> Iterator[tuple[int, ...]]:
    """Yield the offsets that a group of this size can have, up to a cyclic shift.

    Shifting all offsets alike does not change the time, so the first job stays at 0.
    """
    for rest in permutations(range(1, k), size - 1):
        yield (0, *rest)


def best_offsets(stages: Sequence[Stages]) -> tuple[int, ...]:
    """Return the offsets of least iteration time; with ties the lexicographically least."""
    k = len(stages[0])
    return min(arrangements(k, len(stages)), key=lambda offsets: iteration_time(stages, offsets))
