"""Lagrangian bounds of the program of choices and patterns, and what they exclude, in integers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from dlsched.problems.sensitivity.definition.schema import Choice
from dlsched.problems.sensitivity.structures.server_patterns import Floor, Table
from dlsched.schema import Id


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


class Lagrangian:
    """The Lagrangian function of the program at some prices, an upper bound on the objective.

    That is the sum over jobs of the largest surplus of an option, its worth minus the price of its
    items, plus the number of servers times the price of the best pattern. It is valid for any
    prices, whatever the solver's accuracy. The objective is the throughput; with a floor on that,
    it is minus the number of split jobs, and throughput beyond the floor has a price.

    Parameters
    ----------
    options, values
        The options and their throughputs as multiples of the granularity.
    counts
        Jobs by profile.
    servers
        Number of servers.
    floor
        The least throughput as a multiple of the granularity.
    waiting
        Whether jobs may wait.
    """

    def __init__(
        self,
        prices: Prices,
        options: Sequence[Option],
        values: Sequence[int],
        counts: Mapping[Id, int],
        servers: int,
        *,
        floor: int | None = None,
        waiting: bool = False,
    ) -> None:
        self.prices = prices
        gain = prices.factor if floor is None else prices.throughput
        loss = Fraction(0) if floor is None else prices.split
        unit = math.lcm(gain.denominator, loss.denominator)
        gained = int(gain * unit)
        lost = int(loss * unit)
        self.surplus = [
            -((option.split * lost - value * gained) // unit)  # rounded up
            - option.amount * prices.items[option.item]
            for option, value in zip(options, values, strict=True)
        ]
        self.largest: dict[Id, int] = dict.fromkeys(counts, 0) if waiting else {}
        for option, left in zip(options, self.surplus, strict=True):
            known = self.largest.get(option.profile, left)
            self.largest[option.profile] = max(known, left)
        jobs = sum(count * self.largest[name] for name, count in counts.items())
        held = 0 if floor is None else math.floor(floor * gain)
        self.value = jobs + servers * prices.best - held

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
