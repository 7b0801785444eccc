"""The Lagrangian dual: prices of GPUs by slot and type, and their bounds.

With prices p >= 0, the utility of a schedule is at most the cost of all GPUs plus, for each job,
the largest utility minus cost of a schedule of its own (Hadar's dual D2). One pass of `pricing`
computes the latter for every finish slot at once.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dlsched.errors import OptionError
from dlsched.problems.utility.definition.schema import Instance
from dlsched.problems.utility.kernels.pricing import Jobs, price_all
from dlsched.problems.utility.structures.gangs import Gangs, require
from dlsched.problems.utility.structures.work_stages import Stages
from dlsched.problems.utility.structures.work_units import TUNABLES
from dlsched.solvers.arrays import Floats

EPS = float(np.finfo(float).eps)
_HIGHEST = 2.0**600
"""The highest scaled price, with which no sum of costs overflows."""
_TINY = 2.0**-600
"""More than the sum of the roundings of products and sums below the normal floats."""


@dataclass(frozen=True)
class PricedSchedules:
    """The scaled bound of prices, in floats, and the jobs' own best schedules at these prices."""

    bound: float
    values: Floats
    rows: NDArray[np.int8]


class Dual:
    """The instance's dual: pricing, and bounds with their rounding.

    Prices are scaled as the utilities of `Gangs`.

    Work that is rounded up has at most `most` units, by default several times those of `Gangs`.
    """

    def __init__(self, gangs: Gangs, most: int | None = None) -> None:
        self.gangs = gangs
        self.instance = gangs.instance
        self.most = most or TUNABLES.finer * gangs.most_units
        self.holds = gangs.contains(gangs.masks)
        self.supply = np.array([self.instance.supply[k] for k in gangs.kinds], dtype=np.int64)

    @cached_property
    def rounded_up(self) -> Stages:
        """The jobs' work with gains rounded up, where it is not exact."""
        return Stages(self.gangs, True, self.most)

    @cached_property
    def rounded_down(self) -> Stages:
        """The jobs' work with gains rounded down, where it is not exact."""
        return Stages(self.gangs, False, self.gangs.most_units)

    def by_mask(self, prices: Floats) -> Floats:
        """Return slots x masks: the price of the cheapest type of each."""
        by_mask_and_type = np.where(self.holds[None, :, :], prices[:, None, :], np.inf)
        return np.ascontiguousarray(by_mask_and_type.min(axis=2, initial=np.inf))

    def price(self, prices: Floats, round_down: bool = False) -> PricedSchedules:
        """Price every job's schedules at slots x types.

        With `round_down` the gains of work are rounded down instead of up: the schedules finish in
        exact numbers, and the bound is not valid.

        Raises
        ------
        Stopped
            If there is a reason to stop before the last job.
        """
        inst, gangs = self.instance, self.gangs
        work = self.rounded_down if round_down else self.rounded_up
        values = np.zeros(len(inst.jobs))
        rows = np.full((len(inst.jobs), inst.slots), -1, dtype=np.int8)
        by_mask = self.by_mask(prices)
        for part in self._parts(work):
            require(gangs.stop)
            jobs = Jobs(
                mask_of_speed=gangs.mask_of_speed[part],
                after=work.after,
                begin=work.begin[part],
                end=work.end[part],
                speeds=gangs.number_of_speeds[part],
                first=gangs.first[part],
                workers=gangs.workers[part],
                worth=gangs.worth[part],
                barred=gangs.barred[part],
            )
            price_all(by_mask, jobs, inst.must_finish, values[part], rows[part])
        return PricedSchedules(float(prices.sum(axis=0) @ self.supply + values.sum()), values, rows)

    def _parts(self, work: Stages) -> Iterator[slice]:
        """Yield ranges of jobs of which the limits are checked in between."""
        steps = (work.end - work.begin) * self.gangs.number_of_speeds * self.instance.slots
        first = 0
        total = 0
        for j, steps_of_job in enumerate(steps.tolist()):
            if total and total + steps_of_job > TUNABLES.checked_steps:
                yield slice(first, j)
                first = j
                total = 0
            total += steps_of_job
        yield slice(first, len(steps))

    def bound(self, prices: Floats, values: Floats) -> Fraction:
        """Return the bound in the instance's own unit, valid in exact arithmetic; see `price`.

        Sums are exact, and each value is raised by its largest rounding error: it is a utility
        minus a sum of at most one cost per slot, each a product, so the error is at most slots + 8
        roundings of the larger of the two, and `_TINY` for those of the smallest floats. If a job
        must finish and cannot, even alone, the bound is -1, as no utility is below 0.
        """
        total = Fraction(0)
        for count, column in zip(self.supply.tolist(), prices.T.tolist(), strict=True):
            total += count * sum(map(Fraction, column), Fraction(0))
        for j, value in enumerate(values.tolist()):
            if value == -np.inf:
                return Fraction(-1)
            if not self.instance.fewest[j]:
                continue  # it cannot finish: exactly 0
            largest = 2 * float(self.gangs.worth[j].max(initial=0)) + abs(value)
            total += Fraction(value)
            total += Fraction((self.instance.slots + 8) * EPS * largest + _TINY)
        return total * Fraction(2) ** self.gangs.exponent


def lagrangian_bound(
    instance: Instance, prices: Mapping[str, Sequence[float]], units: int | None = None
) -> Fraction:
    """Return a utility that no schedule exceeds, from prices alone; no solver is involved.

    It is negative if some job must finish and cannot, even alone. A price far above all utilities
    is lowered, and the bound is that of the lower price.

    Parameters
    ----------
    prices
        For each GPU type the price of one GPU in every slot, none negative; a type left out costs
        nothing.
    units
        About the most units of a job's work, where it is rounded; more are slower and tighter.

    Raises
    ------
    OptionError
        If a type is unknown, a price is negative or not finite, or their number is not that of the
        slots; and for a forking instance, whose machines would need prices of their own.
    """
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
    return dual.bound(matrix, dual.price(matrix).values)
