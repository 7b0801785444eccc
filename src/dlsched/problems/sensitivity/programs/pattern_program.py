"""The master problem of choices and server patterns: its columns, their prices, its bounds."""

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import mul
from typing import NamedTuple

import numpy as np

from dlsched.problems.sensitivity.definition.schema import Choice, Instance
from dlsched.problems.sensitivity.structures.server_patterns import (
    Floor,
    Item,
    Pattern,
    Server,
    Table,
    maximal,
)
from dlsched.run import Run
from dlsched.schema import Id, granularity
from dlsched.solvers.outcome import Vector


@dataclass(frozen=True)
class Precision:
    """Numbers of the arithmetic between a solver's doubles and integers of 64 bits."""

    tolerance: float = 1e-7
    """Of a solver's prices, and of its values."""
    finest: int = 24
    """Dual prices are rounded to multiples of a cost unit over two to this power, or coarser."""
    largest_value: int = 2**59
    """Upper limit of a pattern's value at those prices, in the integers of the table."""
    largest_cost: int = 2**40
    """Costs are multiples of the granularity if the largest is below this, else scaled to it."""
    largest_entry: int = 2**20
    """Upper limit of the coefficients of the throughput row: HiGHS's tolerances are absolute."""


PRECISION = Precision()


@dataclass(frozen=True)
class Option:
    """A choice for a job of one profile, and the kind and number of items that it needs."""

    profile: str
    choice: Choice
    item: int
    amount: int
    split: bool


class Prices(NamedTuple):
    """Integer dual prices of items; ``limit`` is the price of a server, tolerance included.

    ``factor`` is one granularity in their unit, ``split`` one split job, and ``throughput`` the
    price of a granularity of throughput where a floor is set on it; ``table`` is that of
    `Server.table`.
    """

    items: list[int]
    limit: float
    factor: Fraction
    split: Fraction
    throughput: Fraction
    table: Table

    @property
    def best(self) -> int:
        """Price of the best pattern."""
        return int(self.table[-1, -1, -1])


class Cutoff(NamedTuple):
    """What solutions of a certain value can use.

    They use no pattern, and no option, whose reduced cost is above the allowance; the reduced cost
    of an option is its profile's largest surplus less its own.
    """

    prices: Prices
    allowance: int
    surplus: Sequence[int]
    largest: Mapping[Id, int]

    @property
    def floor(self) -> Floor:
        """The least price of a pattern."""
        prices = self.prices
        return Floor(prices.items, prices.table, prices.best - self.allowance)


class Conversion(NamedTuple):
    """One item of the kind `source` that serves as `amount` items of the kind `target`."""

    source: int
    target: int
    amount: int


def conversions(items: Sequence[Item]) -> list[Conversion]:
    """Return the conversions from which all others can be composed.

    A pattern with the smaller item fits wherever one with the larger fits. So conversions change
    neither the relaxation's optimum nor what solutions there are; with them few patterns suffice,
    as the prices of items are in order from the start. They are to items with no more CPUs and
    memory per GPU, of equal GPUs, or several of fewer. Those from an item are before those from
    its targets.
    """
    gpus = np.array([item.gpus for item in items])
    fits = gpus[:, None] % gpus[None, :] == 0
    for amounts in ([item.cpus for item in items], [item.memory for item in items]):
        rank = {amount: k for k, amount in enumerate(sorted(set(amounts)))}
        order = np.array([rank[amount] for amount in amounts])
        fits &= order[:, None] >= order[None, :]
    np.fill_diagonal(fits, False)
    steps = fits.astype(np.float32)
    direct = fits & (steps @ steps == 0)
    return [
        Conversion(i, j, items[i].gpus // items[j].gpus)
        for i in sorted(range(len(items)), key=items.__getitem__, reverse=True)
        for j in np.flatnonzero(direct[i]).tolist()
    ]


class Program:
    """The master problem.

    Columns are the options, taken by jobs, and the patterns, used by servers; the patterns supply
    the items that the options need. ``counts`` are jobs by profile. With `whole` a job may be one
    item, on one server; with `units` it may be items of single GPUs, on any servers. A split job
    costs the solver `penalty` times the largest throughput; bounds are without it. With `convert`
    there are columns for conversions, too.
    """

    def __init__(
        self,
        instance: Instance,
        *,
        whole: bool,
        units: bool,
        penalty: float = 0.0,
        convert: bool = False,
    ) -> None:
        self.instance = instance
        self.penalty = penalty
        self.counts = Counter(job.profile for job in instance.jobs)
        self.index: dict[Item, int] = {}
        self.options: list[Option] = []
        for name in self.counts:
            gpus = instance.profiles[name].gpus
            larger = gpus > instance.servers.gpus
            sizes = [gpus] if gpus == 1 or (whole and not larger) else []
            if gpus > 1 and (units or (larger and instance.allow_split)):
                sizes.append(1)
            for choice, size in itertools.product(instance.undominated[name], sizes):
                item = Item(size, choice.cpus, choice.memory)
                kind = self.index.setdefault(item, len(self.index))
                self.options.append(Option(name, choice, kind, gpus // size, size < gpus))
        self.items = list(self.index)
        self.conversions = conversions(self.items) if convert else []
        rates = {id(o.choice): o.choice.throughput for o in self.options}
        self.granularity = granularity(rates.values()) or Fraction(1)
        numerator, denominator = self.granularity.as_integer_ratio()
        multiples = {
            key: rate.numerator * denominator // (rate.denominator * numerator)
            for key, rate in rates.items()
        }
        self.values = [multiples[id(o.choice)] for o in self.options]
        self.unit = max(Fraction(1), Fraction(max(self.values, default=1), PRECISION.largest_cost))
        """Unit of the solver's costs, as a multiple of the granularity; 1 unless that is fine."""
        costs = np.array([float(value / self.unit) for value in self.values])
        split = np.array([float(o.split) for o in self.options])
        self.costs = costs - penalty * costs.max(initial=0.0) * split
        self.server = Server(instance.servers, self.items)
        self.patterns: dict[Pattern, None] = {}
        self.least_jobs = 0 if instance.may_wait else 1
        self.bound: int | None = None
        """On the throughput, as a multiple of the granularity: certified as `relax` sets it, but
        `exact.levels` may lower it by a claimed one."""

    def lower(self, bound: int) -> int:
        """Lower the bound on the throughput to another one, if that is less; return it."""
        self.bound = bound if self.bound is None else min(self.bound, bound)
        return self.bound

    def add(self, patterns: Iterable[Pattern]) -> None:
        """Add the patterns that are new and not empty."""
        self.patterns |= dict.fromkeys(filter(any, patterns))

    @property
    def floor_scale(self) -> float:
        """Factor of the row of the floor.

        A power of two, so that the solver's tolerance is below a granularity, or as small as
        possible.
        """
        largest = max(1.0, float(self.costs.max(initial=1.0)) / PRECISION.largest_entry)
        return float(2.0 ** -math.ceil(math.log2(largest)))

    def complete(self, most: int, cutoffs: Sequence[Cutoff], run: Run) -> bool:
        """Add every maximal pattern that solutions from the cutoffs on can use.

        Nothing is added, and false returned, if there are more than `most` or the run ended.
        """
        every = maximal(self.server, most, [cutoff.floor for cutoff in cutoffs], run)
        if every is not None:
            self.add(every)
        return every is not None

    def price(self, prices: Prices, run: Run) -> list[Pattern]:
        """Return patterns of positive reduced cost: the best, and the best with each item."""
        patterns = []
        values = prices.items
        for first in [None, *(i for i, value in enumerate(values) if value > 0)]:
            if first is not None and run.stop_reason():
                break
            pattern = self.server.pattern(prices.table, values, first)
            if pattern and sum(map(mul, values, pattern)) > prices.limit:
                patterns.append(pattern)
        return patterns

    def prices(self, duals: Vector) -> Prices:
        """Return row duals as prices, integers as fine as the table's 64 bits allow.

        A pattern has no more items than a server has GPUs.
        """
        p = len(self.counts)
        kinds = len(self.items)
        items = np.maximum(duals[p : p + kinds], 0.0)
        server = max(0.0, float(duals[p + kinds]))
        tolerance = PRECISION.tolerance * max(1.0, float(np.abs(duals).max()))
        largest = float(items.max(initial=0.0)) * self.instance.servers.gpus
        fine = PRECISION.finest
        if largest > 0:
            fine = min(fine, math.floor(math.log2(PRECISION.largest_value / largest)))
        whole = [int(v) for v in np.rint(np.ldexp(items, fine)).tolist()]
        limit = int(math.ldexp(server, fine)) + math.ldexp(tolerance, fine)
        scale = Fraction(2) ** fine
        floor = max(0.0, -float(duals[p + kinds + 1])) if len(duals) > p + kinds + 1 else 0.0
        throughput = Fraction(floor) * Fraction(self.floor_scale) * scale / self.unit
        table = self.server.table(whole)
        return Prices(whole, limit, scale / self.unit, scale, throughput, table)


class Lagrangian:
    """The Lagrangian function of the program at some prices, an upper bound on the objective.

    That is the sum over jobs of the largest surplus of an option, its worth minus the price of its
    items, plus the number of servers times the price of the best pattern. It is valid for any
    prices, whatever the solver's accuracy. The objective is the throughput; with a floor on that,
    it is minus the number of split jobs, and throughput beyond the floor, a multiple of the
    granularity, has a price.
    """

    def __init__(self, program: Program, prices: Prices, floor: int | None = None) -> None:
        self.prices = prices
        gain = prices.factor if floor is None else prices.throughput
        loss = Fraction(0) if floor is None else prices.split
        unit = math.lcm(gain.denominator, loss.denominator)
        gained = int(gain * unit)
        lost = int(loss * unit)
        self.surplus = [
            -((option.split * lost - value * gained) // unit)  # rounded up
            - option.amount * prices.items[option.item]
            for option, value in zip(program.options, program.values, strict=True)
        ]
        self.largest: dict[Id, int] = {}
        if not program.least_jobs:
            self.largest = dict.fromkeys(program.counts, 0)
        for option, left in zip(program.options, self.surplus, strict=True):
            known = self.largest.get(option.profile, left)
            self.largest[option.profile] = max(known, left)
        jobs = sum(count * self.largest[name] for name, count in program.counts.items())
        held = 0 if floor is None else math.floor(floor * gain)
        self.value = jobs + program.instance.servers.count * prices.best - held

    def throughput(self) -> int:
        """Return the bound on the throughput, as a multiple of the granularity."""
        return math.floor(self.value / self.prices.factor)

    def splits(self) -> int:
        """Return the bound on the split jobs of solutions at the floor."""
        return math.ceil(-self.value / self.prices.split)

    def cutoff(self, throughput: int) -> Cutoff:
        """Return what solutions of this throughput or more can use."""
        return self._cutoff(math.floor(throughput * self.prices.factor))

    def split_cutoff(self, most: int) -> Cutoff:
        """Return what solutions at the floor with a limited number of split jobs can use."""
        return self._cutoff(math.floor(-most * self.prices.split))

    def _cutoff(self, least: int) -> Cutoff:
        return Cutoff(self.prices, max(0, self.value - least), self.surplus, self.largest)
