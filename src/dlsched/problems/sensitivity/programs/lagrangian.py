"""Lagrangian bounds of the program of choices and patterns, and what they exclude, in integers."""

from __future__ import annotations

import math
from fractions import Fraction

from dlsched.problems.sensitivity.programs.pattern_program import Cutoff, Prices, Program
from dlsched.schema import Id


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
