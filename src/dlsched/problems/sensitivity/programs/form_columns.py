"""Columns of the forms and what leaves some of them out, in integers, apart from the methods.

The columns are options, taken by jobs, and patterns, used by servers; patterns supply the items
that options need. For any prices q >= 0 of items, the throughput T (in granularities) of a solution
is at most

    factor T <= sum over jobs of max_o (factor v_o - q(o)) + servers max_p q(p),

and the left side is below the right by at least the reduced cost of each option and each pattern
that it uses. So a solution that is as good as a target uses none whose reduced cost is above the
difference of the right side and the target. With a floor F on the throughput the same holds of the
number S of split jobs, where s_o = 1 for an option of a split job:

    -split S <= sum over jobs of max_o (throughput v_o - split s_o - q(o)) + servers max_p q(p)
                - throughput F.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from operator import sub
from typing import NamedTuple

from dlsched.problems.sensitivity.definition.schema import Choice, Instance, Servers
from dlsched.schema import Id, granularity


class FormItem(NamedTuple):
    """GPUs that stay on one server, as integers, with all their CPUs and memory."""

    gpus: int
    cpus: int
    memory: int


class FormOption(NamedTuple):
    """A choice for a job of a profile; the item that it needs, and how many of it."""

    profile: Id
    choice: Choice
    item: int
    amount: int
    split: bool


@dataclass(frozen=True)
class FormColumns:
    """The options of jobs, the items that they need, and the data of both as integers."""

    counts: Mapping[Id, int]
    """Jobs by profile."""
    servers: int
    least_jobs: int
    options: Sequence[FormOption]
    items: Sequence[FormItem]
    room: FormItem
    """GPUs, CPUs and memory of a server, in the units of the items."""
    values: Sequence[int]
    """The options' throughputs as multiples of ``granularity``."""
    granularity: Fraction


def columns_of(instance: Instance, *, whole: bool, units: bool) -> FormColumns:
    """Return the columns where jobs may stay together (`whole`) or be single GPUs (`units`).

    A job of one GPU is an item anyway, and one larger than a server is single GPUs if it may be
    split at all.
    """
    servers = instance.servers
    counts = Counter(job.profile for job in instance.jobs)
    index: dict[tuple[int, Choice], int] = {}
    options: list[FormOption] = []
    for name in counts:
        gpus = instance.profiles[name].gpus
        together = gpus == 1 or (whole and gpus <= servers.gpus)
        apart = gpus > 1 and (units or (gpus > servers.gpus and instance.allow_split))
        sizes = [gpus] * together + [1] * apart
        for choice, size in product(instance.undominated[name], sizes):
            item = index.setdefault((size, choice._replace(throughput=0)), len(index))
            options.append(FormOption(name, choice, item, gpus // size, size < gpus))
    items, room = _in_integers(servers, index)
    step = granularity(option.choice.throughput for option in options) or Fraction(1)
    return FormColumns(
        counts=counts,
        servers=servers.count,
        least_jobs=0 if instance.may_wait else 1,
        options=options,
        items=items,
        room=room,
        values=[int(option.choice.throughput / step) for option in options],
        granularity=step,
    )


def _in_integers(
    servers: Servers, kinds: Iterable[tuple[int, Choice]]
) -> tuple[list[FormItem], FormItem]:
    """Return items of these GPUs and choices, and the room of a server, in the same units."""
    amounts = [(gpus, gpus * choice.cpus, gpus * choice.memory) for gpus, choice in kinds]
    amounts.append((servers.gpus, servers.cpus, servers.memory))
    per_cpu = granularity(cpus for _, cpus, _ in amounts)
    per_gb = granularity(memory for *_, memory in amounts)
    *items, room = (FormItem(g, int(c / per_cpu), int(m / per_gb)) for g, c, m in amounts)
    return items, room


class FormPrices(NamedTuple):
    """Prices that a proof states: of items, of a granularity, a split job, and of the floor."""

    items: Sequence[int]
    factor: Fraction
    split: Fraction
    throughput: Fraction


class Limit(NamedTuple):
    """What solutions that are as good as a target can use, at some prices.

    That is patterns from a least price on, and some of the options.
    """

    prices: Sequence[int]
    pattern: int
    options: Sequence[bool]


def limit_of(
    columns: FormColumns, prices: FormPrices, throughput: int, most: int | None = None
) -> Limit:
    """Return what solutions of at least a throughput, in granularities, can use.

    With `most` it is what solutions at this throughput with so few split jobs can use. What options
    are worth is rounded up to integers.
    """
    gain = prices.factor
    loss = Fraction(0)
    target = math.floor(throughput * gain)
    if most is not None:
        gain = prices.throughput
        loss = prices.split
        target = math.floor(-most * loss) + math.floor(throughput * gain)
    surplus = []
    largest = {} if columns.least_jobs else dict.fromkeys(columns.counts, 0)
    for option, value in zip(columns.options, columns.values, strict=True):
        worth = math.ceil(value * gain - option.split * loss)
        left = worth - option.amount * prices.items[option.item]
        surplus.append(left)
        largest[option.profile] = max(largest.get(option.profile, left), left)
    best = dearest(columns, prices.items)(columns.room)
    jobs = sum(count * largest.get(name, 0) for name, count in columns.counts.items())
    allowance = max(0, jobs + columns.servers * best - target)
    allowed = [
        largest[option.profile] - left <= allowance
        for option, left in zip(columns.options, surplus, strict=True)
    ]
    return Limit(prices.items, best - allowance, allowed)


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
    useful = _useful(columns, prices)
    known: dict[FormItem, int] = {}

    def value(room: FormItem) -> int:
        best = known.get(room)
        if best is None:
            fitting = [(item, price) for item, price in useful if _fits(item, room)]
            best = max((price + value(_after(room, item)) for item, price in fitting), default=0)
            if len(known) >= LIMITS.states:
                raise TooMany(f"more than {LIMITS.states:,} remaining capacities of a server")
            known[room] = best
        return best

    return value


def _useful(columns: FormColumns, prices: Sequence[int]) -> list[tuple[FormItem, int]]:
    """Return the items and prices of which none takes no less than another, and is no dearer."""
    priced = {(item, price) for item, price in zip(columns.items, prices, strict=True) if price > 0}
    useful: list[tuple[FormItem, int]] = []
    for item, price in sorted(priced, key=lambda pair: (-pair[1], pair[0])):
        if not any(_fits(other, item) for other, _ in useful):
            useful.append((item, price))
    return useful


def maximal_patterns(
    columns: FormColumns, limits: Sequence[Limit], most: int
) -> list[tuple[int, ...]]:
    """Return every pattern to which no item can be added and whose price is within the limits.

    `TooMany` if there are more than `most`, or a server has too many GPUs or sums of items.
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
