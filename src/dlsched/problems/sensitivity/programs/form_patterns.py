"""Patterns of one server for the forms: all maximal ones above some prices, in plain integers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import sub

from dlsched.problems.sensitivity.programs.form_columns import FormColumns, FormItem, Limit


@dataclass(frozen=True)
class Limits:
    """Beyond these the form is refused, as its check would take too long."""

    gpus: int = 400
    """Of a server, and so the depth of the recursions."""
    states: int = 500_000
    """Remaining capacities for which the dearest pattern is known."""
    patterns: int = 50_000
    steps_per_pattern: int = 20
    """Of the enumeration, on average."""


LIMITS = Limits()


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
            if len(known) >= LIMITS.states:
                raise TooMany(f"more than {LIMITS.states:,} remaining capacities of a server")
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
    if columns.room.gpus > LIMITS.gpus:
        raise TooMany(f"servers have more than {LIMITS.gpus} GPUs")
    items = columns.items
    values = [dearest(columns, limit.prices) for limit in limits]
    prices = list(zip(*(limit.prices for limit in limits), strict=True))
    patterns: list[tuple[int, ...]] = []
    counts = [0] * len(items)
    steps = LIMITS.steps_per_pattern * most

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
