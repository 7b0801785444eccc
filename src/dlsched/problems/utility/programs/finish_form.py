"""Which jobs may finish when, for forms of proofs: in integers, without a solver.

A column says that a job has finished by the end of a slot; a split of it divides the slots that are
left for the finish in two.

At prices of GPUs by slot and type, the jobs that finish cost all GPUs together at most, and each at
least what its work costs in the slots up to its finish. So each vector of prices has a row. It also
bounds the utility of all schedules, by Lagrange's relaxation, and a finish in whose presence the
bound is below the target is left out.
"""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from dlsched.problems.utility.definition.schema import Instance
from dlsched.problems.utility.programs.finish_costs import ROUNDING, least_costs
from dlsched.proofs.forms.form import Goal, Row
from dlsched.proofs.forms.limit import poll
from dlsched.schema import granularity

IntegerPrices = Mapping[str, Sequence[int]]
"""For each GPU type the price of a GPU in every slot; a type left out costs nothing."""


class PricedWork(NamedTuple):
    """Prices, the cost of all GPUs in all slots, and the least of work, jobs x slots up to it."""

    prices: IntegerPrices
    capacity: int
    least: Sequence[Sequence[int]]


class Finishes:
    """Which jobs may finish when, and whether they may be left unfinished.

    Parameters
    ----------
    exponent
        Prices are multiples of two to this power.
    target
        Schedules of a smaller utility do not matter.

    Attributes
    ----------
    worth
        For each job the utilities of the slots, counted from 0, in which it may finish.
    optional
        By job.
    priced
        The vectors of prices.

    Raises
    ------
    ValueError
        If the instance is forking, or the exponent too large.
    """

    def __init__(self, instance: Instance, exponent: int, target: Fraction) -> None:
        if instance.forking:
            raise ValueError("the form is one of gangs, and the instance is forking")
        if abs(exponent) > ROUNDING.exponent:
            raise ValueError(f"the exponent of prices must be at most {ROUNDING.exponent}")
        self.instance = instance
        self.unit = Fraction(2) ** exponent
        self.target = target
        self.worth: list[dict[int, Fraction]] = [{} for _ in instance.jobs]
        for row, job, fewest in zip(self.worth, instance.jobs, instance.fewest, strict=True):
            poll()
            before = job.arrival - 2
            for f in range(before + fewest, instance.slots) if fewest else ():
                row[f] = Fraction(instance.worth(job, f - before))
        self.optional = [not instance.must_finish] * len(instance.jobs)
        self.priced: list[PricedWork] = []

    @property
    def columns(self) -> list[tuple[int, int]]:
        """The pairs of job and slot."""
        return [(j, f) for j, row in enumerate(self.worth) for f in row]

    @property
    def lower(self) -> list[int]:
        """The columns' lower bounds: 1, if the job must have finished by then."""
        last = [max(row, default=-1) for row in self.worth]
        return [int(f == last[j] and not self.optional[j]) for j, f in self.columns]

    def by_column(self, values: Mapping[tuple[int, int], int]) -> dict[int, int]:
        """Return the columns' coefficients of a sum over the finishes, by job and slot.

        A job finishes in a slot if it has by then, and has not by the slot before of its columns.
        """
        columns = self.columns
        cells: dict[int, int] = {}
        for c, (j, f) in enumerate(columns):
            value = values.get((j, f), 0)
            if c + 1 < len(columns) and columns[c + 1][0] == j:
                value -= values.get(columns[c + 1], 0)
            if value:
                cells[c] = value
        return cells

    @property
    def full(self) -> bool:
        """Whether there is no place for one more vector of prices."""
        inst = self.instance
        return len(inst.jobs) * inst.slots * (1 + len(self.priced)) > ROUNDING.form_cells

    def price(self, prices: IntegerPrices) -> PricedWork:
        """Return the costs at prices; raise ValueError if they are none."""
        least = least_costs(self.instance, prices).tolist()
        supply = self.instance.supply
        capacity = sum(supply[kind] * sum(row) for kind, row in prices.items())
        return PricedWork(prices, capacity, least)

    def add(self, prices: IntegerPrices) -> None:
        """Add a vector of prices, and leave out the finishes that do not matter by it.

        At prices, a schedule's utility is at most the cost of all GPUs plus, for each job, its
        utility less the least cost of its work. Only finishes not left out before count here, as
        schedules with others do not matter.

        Raises
        ------
        ValueError
            If they are no prices, or there are too many.
        """
        if self.full:
            raise ValueError("there are too many jobs, slots and prices")
        _, capacity, least = priced = self.price(prices)
        self.priced.append(priced)
        values, bests = [], []
        for row, costs, optional in zip(self.worth, least, self.optional, strict=True):
            values.append({f: worth - costs[f] * self.unit for f, worth in row.items()})
            known = [*values[-1].values(), *([Fraction(0)] if optional else [])]
            if not known:
                return  # the job must finish and cannot: no schedule matters
            bests.append(max(known))
        spare = capacity * self.unit + sum(bests) - self.target
        for j, best in enumerate(bests):
            for f, value in values[j].items():
                if best - value > spare or least[j][f] > capacity:
                    del self.worth[j][f]
            self.optional[j] = self.optional[j] and best <= spare

    def rows(self) -> list[Row]:
        """Return that who has finished stays so, and the rows of prices."""
        columns = self.columns
        rows = [
            Row({c: -1, c + 1: 1}, 0, None)
            for c, ((job, _), (next_job, _)) in enumerate(pairwise(columns))
            if job == next_job
        ]
        if any(not (row or opt) for row, opt in zip(self.worth, self.optional, strict=True)):
            rows.append(Row({}, 1, 1))  # a job must finish and cannot
        for _, capacity, least in self.priced:
            cells = self.by_column({(j, f): least[j][f] for j, f in columns})
            rows.append(priced_row(cells, capacity))
        return rows

    def goal(self, rounded: bool) -> Goal:
        """Return the utility, in its own unit or rounded up."""
        worth = [self.worth[j][f] for j, f in self.columns]
        unit = granularity(worth) or Fraction(1)
        if rounded:
            largest = max(worth, default=Fraction(1))
            size = largest.numerator.bit_length() - largest.denominator.bit_length()
            unit = Fraction(2) ** (size - ROUNDING.utility_bits)
        steps = {(j, f): -math.ceil(self.worth[j][f] / unit) for j, f in self.columns}
        costs = self.by_column(steps)
        return Goal("utility", -1, costs, 0, unit, not rounded)


def priced_row(cells: Mapping[int, int], high: int) -> Row:
    """Return a row of costs, in which a solver sees numbers of moderate size."""
    largest = max(map(abs, cells.values()), default=0)
    return Row(cells, None, high, max(0, largest.bit_length() - ROUNDING.row_bits))
