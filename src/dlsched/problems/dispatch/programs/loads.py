"""The loads of one machine, and the largest weight of tasks that it can have, in integers."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import TypeAlias

from dlsched.problems.dispatch.structures.blocks import Shape
from dlsched.problems.dispatch.structures.fleet import fits
from dlsched.problems.dispatch.structures.victims import Amounts

Weights: TypeAlias = tuple[tuple[Shape, int], ...]
"""A whole weight for each of some shapes."""
Load: TypeAlias = tuple[int, ...]
"""Number of tasks of each of some shapes."""
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
def loads_of(shapes: tuple[Shape, ...], have: Amounts) -> list[Load] | None:
    """Return the loads of a machine to which no task of the last shape can be added."""
    needs = [shape.need for shape in shapes]
    most = [fits(have, need) for need in needs]
    loads = list(islice(full_loads(needs, have, most), _MOST_LOADS + 1))
    return loads if len(loads) <= _MOST_LOADS else None


def full_loads(needs: Sequence[Amounts], have: Amounts, most: Sequence[int]) -> Iterator[Load]:
    """Yield what one machine may hold, with most of the first shapes first.

    Loads to which a task could be added are left out if it is of the last shape.

    Parameters
    ----------
    needs, most
        By shape what a task needs, and how many tasks there may be.
    have
        What is free on the machine.
    """
    largest = min(most[0], fits(have, needs[0]))
    if len(needs) == 1:
        yield (largest,)
        return
    gpus, cpus, memory = needs[0]
    for n in range(largest, -1, -1):
        rest = (have[0] - n * gpus, have[1] - n * cpus, have[2] - n * memory)
        for others in full_loads(needs[1:], rest, most[1:]):
            yield (n, *others)
