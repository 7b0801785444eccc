"""Iteration time and efficiency of a group, in exact numbers (Muri, equations 3 and 4)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import permutations

from dlsched.schema import Number

Stages = Sequence[Number]


def iteration_time(stages: Sequence[Stages], offsets: Sequence[int]) -> Number:
    """Return the time of one iteration of the group (Muri, eq. 3).

    Parameters
    ----------
    stages
        For each job of the group its k stage times.
    offsets
        For each job the stage at which it starts; the offsets are distinct.
    """
    k = len(stages[0])
    return sum(
        max(job[(offset + j) % k] for job, offset in zip(stages, offsets, strict=True))
        for j in range(k)
    )


def efficiency(stages: Sequence[Stages], offsets: Sequence[int]) -> Fraction:
    """Return gamma (eq. 4): the share of the group's resource time that its stages fill."""
    k = len(stages[0])
    return Fraction(sum(map(sum, stages))) / (k * Fraction(iteration_time(stages, offsets)))


def arrangements(k: int, size: int) -> Iterator[tuple[int, ...]]:
    """Yield the offsets that a group of this size can have, up to a cyclic shift.

    Shifting all offsets alike leaves the time as it is, so the first job stays at 0.
    """
    for rest in permutations(range(1, k), size - 1):
        yield (0, *rest)


def best_offsets(stages: Sequence[Stages]) -> tuple[int, ...]:
    """Return the offsets of least iteration time; of equal ones the lexicographically least."""
    k = len(stages[0])
    return min(arrangements(k, len(stages)), key=lambda offsets: iteration_time(stages, offsets))
