"""Prices of GPUs by slot and type: each vector bounds every schedule, and better ones are sought.

With prices p >= 0, a schedule is worth at most what all GPUs cost plus, for each job, the largest
utility minus the cost of a schedule of its own (Hadar's dual D2; Lagrangian duality). One pass of
`pricing` finds the latter for every finish slot at once. Prices go up where the jobs' own best
schedules ask for more GPUs than there are, and down where for fewer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dlsched.errors import OptionError
from dlsched.problems.utility.gangs import Gangs, Vector
from dlsched.problems.utility.pricing import price_all
from dlsched.problems.utility.schema import Instance
from dlsched.problems.utility.work import Work
from dlsched.run import Run

EPS = float(np.finfo(float).eps)
_HIGHEST = 2.0**600
"""No price is above this, in units of the largest utility: then no sum of costs overflows."""
_STEPS = 50_000_000
"""A pricing pass looks at the limits after jobs of about so many steps."""
_TINY = 2.0**-600
"""More than the roundings of products and sums below the normal floats add up to."""


class Stopped(Exception):
    """A pricing pass was stopped by a limit."""


@dataclass(frozen=True)
class Answer:
    """The bound that prices prove, in floats, and the jobs' own best schedules at them.

    Bound and values are in the units of `Gangs`.
    """

    bound: float
    values: Vector
    rows: NDArray[np.int8]


class Dual:
    """The instance's dual: pricing, bounds with their rounding, and the search for prices.

    Prices are in the units of `Gangs`.
    """

    def __init__(self, gangs: Gangs, most: int | None = None) -> None:
        self.gangs, self.instance = gangs, gangs.instance
        self.work = Work(self.instance, up=True, most=most or gangs.most_units)
        self.safe = gangs.safe
        count, width = self.work.gains.shape
        self.of = np.zeros((count, width), dtype=np.int64)
        for j, row in enumerate(gangs.of):
            self.of[j, : len(row)] = row
        kinds = len(gangs.kinds)
        self.holds = np.array(
            [[mask >> k & 1 for k in range(kinds)] for mask in gangs.masks], dtype=bool
        ).reshape(len(gangs.masks), kinds)
        self.supply = np.array([self.instance.supply[k] for k in gangs.kinds], dtype=np.int64)

    def by_mask(self, prices: Vector) -> Vector:
        """Return slots x masks: the cheapest type of each."""
        where = np.where(self.holds[None, :, :], prices[:, None, :], np.inf)
        return np.ascontiguousarray(where.min(axis=2, initial=np.inf))

    def price(self, prices: Vector, safe: bool = False) -> Answer:
        """Price every job's schedules at slots x types.

        With `safe` work is rounded down: the schedules finish in truth, the bound is none.

        Raises
        ------
        Stopped
            If `Gangs.stop` says so before the last job.
        """
        inst, work, gangs = self.instance, self.safe if safe else self.work, self.gangs
        values = np.zeros(len(inst.jobs))
        rows = np.full((len(inst.jobs), inst.slots), -1, dtype=np.int8)
        by_mask = self.by_mask(prices)
        for a, b in self._parts(work):
            if gangs.stop():
                raise Stopped
            price_all(
                by_mask, self.of[a:b], work.speeds[a:b], work.gains[a:b], work.needs[a:b],
                gangs.first[a:b], gangs.workers[a:b], gangs.worth[a:b], inst.must_finish,
                values[a:b], rows[a:b],
            )  # fmt: skip
        return Answer(float(prices.sum(axis=0) @ self.supply + values.sum()), values, rows)

    def _parts(self, work: Work) -> Iterator[tuple[int, int]]:
        """Yield ranges of jobs that take about `_STEPS` each."""
        steps = work.needs * work.speeds * self.instance.slots
        first, total = 0, 0
        for j, each in enumerate(steps.tolist()):
            if total and total + each > _STEPS:
                yield first, j
                first, total = j, 0
            total += each
        yield first, len(steps)

    def bound(self, prices: Vector, answer: Answer) -> Fraction:
        """Return the bound, in the instance's own units, with its rounding.

        Sums are exact, and values are raised by what they may be off: one is a utility minus a sum
        of at most one cost a slot, each a product, so by no more than slots + 8 roundings of the
        larger of the two, and `_TINY` for those of the smallest floats. Where a job must finish
        and cannot, even alone, the bound is -1: no schedule is worth less than 0.
        """
        total = Fraction(0)
        for count, column in zip(self.supply.tolist(), prices.T.tolist(), strict=True):
            total += count * sum(map(Fraction, column), Fraction(0))
        for j, value in enumerate(answer.values.tolist()):
            if value == -np.inf:
                return Fraction(-1)
            largest = 2 * float(self.gangs.worth[j].max(initial=0)) + abs(value)
            total += Fraction(value)
            total += Fraction((self.instance.slots + 8) * EPS * largest + _TINY)
        return total * Fraction(2) ** self.gangs.exponent

    def usage(self, prices: Vector, rows: NDArray[np.int8]) -> Vector:
        """Return slots x types: GPUs that the schedules ask for, each gang of its cheapest type."""
        used = np.zeros_like(prices)
        where = np.where(self.holds[None, :, :], prices[:, None, :], np.inf)
        cheapest = where.argmin(axis=2)
        jobs, slots = np.nonzero(rows >= 0)
        kinds = cheapest[slots, self.of[jobs, rows[jobs, slots]]]
        np.add.at(used, (slots, kinds), self.gangs.workers[jobs].astype(float))
        return used

    def descend(self, run: Run, value: float, start: Vector, passes: int) -> tuple[Vector, Answer]:
        """Look for good prices by the volume algorithm (Barahona and Anbil 2000).

        Prices move from the best ones known along an average of the schedules' excess use of GPUs,
        which approaches the relaxation's; the step follows from how far the bound is above a
        known schedule's worth, and shrinks while nothing improves.

        Parameters
        ----------
        value
            The worth of a known schedule, in the units of `Gangs`.
        start
            Prices to begin with, slots x types.
        passes
            At most so many pricing passes.
        """
        best_prices, best = start, self.price(start)
        average = self.usage(start, best.rows)
        step, mixing, failures, since = 1.0, 0.1, 0, best.bound
        for count in range(1, passes + 1):
            if run.stop_reason() or best.bound - value <= 1e-7 * abs(value):
                break
            excess = average - self.supply
            excess[(best_prices <= 0) & (excess < 0)] = 0.0
            norm = float((excess**2).sum())
            if not norm:
                break
            aim = max(best.bound - value, 1e-3 * abs(best.bound))
            prices = np.maximum(0.0, best_prices + step * aim / norm * excess)
            try:
                answer = self.price(prices)
            except Stopped:
                break
            used = self.usage(prices, answer.rows)
            average += self._mix(average, used, mixing) * (used - average)
            if answer.bound < best.bound:
                along = float((excess * (used - self.supply)).sum())
                best, best_prices, failures = answer, prices, 0
                run.record(self.gangs.real(value), self.gangs.real(best.bound))
                if along > 0:  # the next schedules ask for the same: go further
                    step = min(2.0, 1.1 * step)
            else:
                failures += 1
                if failures % 15 == 0:
                    step *= 0.66
            if count % 100 == 0:
                if since - best.bound < 1e-4 * abs(best.bound):
                    mixing /= 2
                    if mixing < 1e-3 or step < 1e-4:
                        break
                since = best.bound
        return best_prices, best

    def _mix(self, average: Vector, used: Vector, most: float) -> float:
        """Return the share of the new use that brings the average nearest to the supply."""
        old, new = average - self.supply, used - self.supply
        step = float(((old - new) ** 2).sum())
        if not step:
            return most
        return float(np.clip(float((old * (old - new)).sum()) / step, most / 10, most))


def priced_bound(
    instance: Instance, prices: Mapping[str, Sequence[float]], units: int | None = None
) -> Fraction:
    """Return a value that no schedule exceeds, from prices alone; no solver is involved.

    It is negative if some job must finish and cannot, even alone. A price that is far above all
    utilities is lowered: the bound is then that of the lower price.

    Parameters
    ----------
    prices
        For each GPU type the price of one GPU in every slot, none negative; a type left out costs
        nothing.
    units
        Work that is rounded is in at most about so many units a job; more are slower and tighter.

    Raises
    ------
    OptionError
        If a type is unknown, a price is negative or not finite, or their number is not that of the
        slots; and for a forking instance, whose copies have prices of their own.
    """
    if instance.forking:
        raise OptionError("prices of types bound gang jobs; this instance is forking")
    gangs = Gangs(instance)
    matrix = np.zeros((instance.slots, len(gangs.kinds)))
    for kind, row in prices.items():
        if kind not in gangs.kinds:
            raise OptionError(f"no machine has a GPU of type {kind!r}; there are {gangs.kinds}")
        values = np.array(row, dtype=float)
        if values.shape != (instance.slots,) or not (values >= 0).all() or np.isinf(values).any():
            raise OptionError(f"prices of {kind} must be {instance.slots} finite numbers from 0")
        with np.errstate(over="ignore"):
            scaled = np.ldexp(values, -gangs.exponent)
        matrix[:, gangs.kinds.index(kind)] = np.minimum(scaled, _HIGHEST)
    dual = Dual(gangs, units)
    return dual.bound(matrix, dual.price(matrix))
