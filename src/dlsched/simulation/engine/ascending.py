"""A long ascending sequence that changes often, kept in blocks."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Final, TypeVar, overload

from dlsched.simulation.engine.vectors import Entry

T = TypeVar("T", bound=int | Entry)

BLOCK: Final = 500
"""Elements of a block when it is made; one with twice as many is split."""


class Ascending(Sequence[T]):
    """Different elements, ascending: a change moves those of one block, not all behind it.

    In one list of 50,000 each change would take about as long as a whole decision.
    """

    def __init__(self, elements: Iterable[T] = ()) -> None:
        ordered = sorted(elements)
        self._blocks: list[list[T]] = [
            ordered[i : i + BLOCK] for i in range(0, len(ordered), BLOCK)
        ]
        self._length = len(ordered)

    def add(self, element: T) -> None:
        """Add an element that is not there."""
        self._length += 1
        if not self._blocks:
            self._blocks.append([element])
            return
        i = min(self._block_of(element), len(self._blocks) - 1)
        block = self._blocks[i]
        insort(block, element)
        if len(block) == 2 * BLOCK:
            self._blocks[i : i + 1] = [block[:BLOCK], block[BLOCK:]]

    def remove(self, element: T) -> None:
        """Remove an element that is there."""
        self._length -= 1
        i = self._block_of(element)
        block = self._blocks[i]
        del block[bisect_left(block, element)]
        if not block:
            del self._blocks[i]

    def _block_of(self, element: T) -> int:
        """Return the first block that does not end before an element."""
        return bisect_left(self._blocks, element, key=_last)

    def __len__(self) -> int:
        """Return the number of elements."""
        return self._length

    def __iter__(self) -> Iterator[T]:
        """Go through the elements, ascending."""
        return chain.from_iterable(self._blocks)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        """Return an element, or a list of several; the first ones at once, wherever they end."""
        if isinstance(index, slice):
            start, stop, step = index.indices(self._length)
            return list(islice(self, start, stop, step)) if step > 0 else list(self)[index]
        place = index + self._length if index < 0 else index
        if place >= 0:
            for block in self._blocks:
                if place < len(block):
                    return block[place]
                place -= len(block)
        raise IndexError(index)


def _last(block: list[T]) -> T:
    return block[-1]
