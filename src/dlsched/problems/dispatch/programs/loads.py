"""The loads of one machine, and the largest weight of tasks that it can have, in integers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TypeAlias

from dlsched.problems.dispatch.structures.blocks import Amounts, Shape

Weights: TypeAlias = tuple[tuple[Shape, int], ...]
"""A whole weight for each of some shapes."""
_MOST_LOADS = 5000
"""Upper limit of the loads of a machine that are enumerated."""


@lru_cache(maxsize=1000)
def capacity(weights: Weights, have: Amounts) -> int | None:
    """Return the largest weight of tasks on one machine; ``None`` if there are too many loads."""
    loads = loads_of(tuple(shape for shape, _ in weights), have)
    if loads is None:
        return None
    return max(sum(n * part for n, (_, part) in zip(load, weights, strict=True)) for load in loads)


@lru_cache(maxsize=1000)
def loads_of(shapes: tuple[Shape, ...], have: Amounts) -> list[tuple[int, ...]] | None:
    """Return the loads of a machine to which no task of the last shape can be added."""
    found = []
    for load in _extend([shape.need for shape in shapes], have):
        found.append(load)
        if len(found) > _MOST_LOADS:
            return None
    return found


def _extend(needs: Sequence[Amounts], have: Amounts) -> Iterator[tuple[int, ...]]:
    most = min(a // b for a, b in zip(have, needs[0], strict=True) if b)
    if len(needs) == 1:
        yield (most,)
        return
    for n in range(most, -1, -1):
        left = (have[0] - n * needs[0][0], have[1] - n * needs[0][1], have[2] - n * needs[0][2])
        for rest in _extend(needs[1:], left):
            yield (n, *rest)
