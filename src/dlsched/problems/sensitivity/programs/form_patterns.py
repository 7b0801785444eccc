"""Patterns of one server for the forms: all maximal ones above some prices, in plain integers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import sub

from dlsched.problems.sensitivity.programs.form_columns import FormColumns, FormItem, Limit

MOST_GPUS = 400
"""Upper limit of a server's GPUs, and so of the depth of the recursions."""
MOST_STATES = 500_000
"""Upper limit of the remaining capacities for which the dearest pattern is known."""
_STEPS_PER_PATTERN = 20


class TooMany(ValueError):
    """Raised if there are too many patterns, or too many remaining capacities."""


def dearest(columns: FormColumns, prices: Sequence[int]) -> Callable[[FormItem], int]:
    """Return a function: the largest price of items that fit in a remaining capacity.

    By dynamic programming over the capacities that are asked for: the best of one item and what
    fits beside it. Items that take no less than another one, and are no dearer, are left out.
    """
    priced = sorted(
        {(item, price) for item, price in zip(columns.items, prices, strict=True) if price > 0},
        key=lambda pair: (-pair[1], pair[0]),
    )
    useful: list[tuple[FormItem, int]] = []
    for item, price in priced:
        if not any(_fits(other, item) for other, _ in useful):
            useful.append((item, price))
    known: dict[FormItem, int] = {}

    def value(room: FormItem) -> int:
        best = known.get(room)
        if best is None:
            best = 0
            for item, price in useful:
                if _fits(item, room):
                    best = max(best, price + value(_after(room, item)))
            if len(known) >= MOST_STATES:
                raise TooMany(f"more than {MOST_STATES:,} remaining capacities of a server")
            known[room] = best
        return best

    return value


def maximal_patterns(
    columns: FormColumns, limits: Sequence[Limit], most: int
) -> list[tuple[int, ...]]:
    """Return every pattern to which no item can be added and whose price is within the limits.

    Raises
    ------
    TooMany
        If there are more than `most`, or a server has too many GPUs or sums of items.
    """
    if columns.room.gpus > MOST_GPUS:
        raise TooMany(f"servers have more than {MOST_GPUS} GPUs")
    items = columns.items
    values = [dearest(columns, limit.prices) for limit in limits]
    prices = list(zip(*(limit.prices for limit in limits), strict=True))
    patterns: list[tuple[int, ...]] = []
    counts = [0] * len(items)
    steps = _STEPS_PER_PATTERN * most

    def extend(first: int, room: FormItem, missing: tuple[int, ...]) -> None:
        """Add items from the first on; `missing` is what the prices lack of the limits."""
        nonlocal steps
        if any(value(room) < lack for value, lack in zip(values, missing, strict=True)):
            return
        steps -= 1
        if steps < 0 or len(patterns) > most:
            raise TooMany(f"more than {most:,} patterns matter at these prices")
        fitting = [i for i, item in enumerate(items) if _fits(item, room)]
        if not fitting:
            patterns.append(tuple(counts))
        for i in fitting:
            if i >= first:
                counts[i] += 1
                extend(i, _after(room, items[i]), tuple(map(sub, missing, prices[i])))
                counts[i] -= 1

    extend(0, columns.room, tuple(limit.pattern for limit in limits))
    return patterns


def _fits(item: FormItem, room: FormItem) -> bool:
    """Whether an item takes no more than there is."""
    return item.gpus <= room.gpus and item.cpus <= room.cpus and item.memory <= room.memory


def _after(room: FormItem, item: FormItem) -> FormItem:
    """Return what is left beside an item."""
    return FormItem(room.gpus - item.gpus, room.cpus - item.cpus, room.memory - item.memory)
