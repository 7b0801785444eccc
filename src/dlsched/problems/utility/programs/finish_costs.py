"""The least cost of each job's work at integer prices of GPUs: in integers, without a solver.

This is a program of the forms alone, for what is checked: it shares no code with pricing, the
Lagrangian bound or their stages of work. It is a dynamic program over the amounts of work that may
be left. An amount is known by the least sum of gains that does it: a combination of slots that does
one does the other, too. ``least[p]`` is the least cost of doing amount p in the slots so far.
"""

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.utility.definition.schema import Instance
from dlsched.proofs.forms.limit import poll
from dlsched.schema import granularity

NEVER = 2**61
"""The cost of work that cannot be done."""
_HIGHEST = 2**60
"""No sum of costs may be as high, so that sums of it and of `NEVER` fit 64 bits."""

Costs = NDArray[np.int64]
"""Slots x speeds: what running in a slot at a speed costs."""


@dataclass(frozen=True)
class Rounding:
    """How forms round gains, utilities and rows, and how large they may be: proofs depend on it."""

    sums: int = 500_000
    """With more sums of gains they are."""
    amounts: int = 20_000
    """With more amounts that may be left, too."""
    units: int = 2000
    """Rounded work has this many units, ..."""
    units_per_slot: int = 16
    """... or if more, this many for each slot that it needs, ..."""
    cells: int = 100_000_000
    """... but slots times units are at most this."""
    utility_bits: int = 44
    """The bits of the largest cost, if costs are rounded."""
    row_bits: int = 10
    """About the bits of a row's largest number as a solver sees it."""
    form_cells: int = 1_000_000
    """More jobs times slots times vectors are refused."""
    runs: int = 50_000
    """A form of more runs is refused."""
    exponent: int = 1100
    """The largest exponent of prices."""


ROUNDING = Rounding()


def least_costs(instance: Instance, prices: Mapping[str, Sequence[int]]) -> NDArray[np.int64]:
    """Return jobs x slots: the least cost of a job's work from its arrival to the slot's end.

    It is `NEVER` where the work cannot be done. Where gains are rounded up, work is done sooner
    than it is, so the cost is no more than that of any slots in which the job is completed.

    Parameters
    ----------
    prices
        For each GPU type the price of a GPU in every slot, an integer from 0; a type left out costs
        nothing.

    Raises
    ------
    ValueError
        If they are not that, or too high for integers of 64 bits.
    """
    slots, supply = instance.slots, instance.supply
    for kind, row in prices.items():
        if kind not in supply or len(row) != slots or min(row) < 0:
            raise ValueError(f"prices of {kind} must be {slots} integers from 0")
    most = max((job.workers for job in instance.jobs), default=1)
    if most * sum(max(row) for row in prices.values()) * slots >= _HIGHEST:
        raise ValueError("prices are too high")
    table = {kind: np.array(prices.get(kind, [0] * slots), dtype=np.int64) for kind in supply}
    least = np.full((len(instance.jobs), slots), NEVER, dtype=np.int64)
    for j, (job, speeds) in enumerate(zip(instance.jobs, instance.speeds, strict=True)):
        poll()
        if instance.fewest[j]:
            cheapest = [np.min([table[kind] for kind in s.types], axis=0) for s in speeds]
            first = job.arrival - 1
            costs = job.workers * np.column_stack(cheapest)[first:]
            least[j, first:] = _by_slot(instance, j, costs)
    return least


def _by_slot(instance: Instance, j: int, costs: Costs) -> NDArray[np.int64]:
    """Return the least cost of a job's work in the first slots, by their number.

    Parameters
    ----------
    costs
        Slots x speeds, integers from 0.
    """
    gains, need = units_of(instance, j)
    after = _amounts(gains, need, instance.slots)
    least = np.full(len(after), NEVER, dtype=np.int64)
    least[0] = 0
    by_slot = np.empty(len(costs), dtype=np.int64)
    for t, cost in enumerate(costs):
        least = np.minimum(least, (least[after] + cost).min(axis=1))
        by_slot[t] = least[-1]
    return by_slot


def units_of(instance: Instance, j: int) -> tuple[tuple[int, ...], int]:
    """Return a job's gains of a slot at each speed, and the work, in steps of the gains.

    Steps are those of which all gains are multiples; no gain is more than the work.
    """
    gains = [Fraction(speed.gain) for speed in instance.speeds[j]]
    step = granularity(gains)
    need = math.ceil(instance.jobs[j].iterations / step)
    return tuple(min(int(gain / step), need) for gain in gains), need


@lru_cache(maxsize=1024)
def _amounts(gains: tuple[int, ...], need: int, slots: int) -> NDArray[np.int64]:
    """Return amounts x speeds: the amount left after a slot; 0 is none, the last one all.

    Work is in whole numbers, rounded up if they are too many.
    """
    table = _table(gains, need)
    if table is None:
        fewest = -(-need // max(gains))
        wanted = max(ROUNDING.units, ROUNDING.units_per_slot * fewest)
        units = min(need, max(1, min(wanted, ROUNDING.cells // slots)))
        table = _table([-(-gain * units // need) for gain in gains], units, limited=False)
        assert table is not None
    return table


def _table(gains: Sequence[int], need: int, limited: bool = True) -> NDArray[np.int64] | None:
    """Return the table; None if there are too many sums or amounts."""
    sums = _sums(gains, need, limited)
    if sums is None:
        return None

    def least_sum(left: int) -> int:
        """Return the least sum that does the work that is left."""
        return sums[bisect_left(sums, left)]

    after: dict[int, list[int]] = {}
    new = {least_sum(need)}
    while new:
        after |= {amount: [least_sum(max(0, amount - g)) for g in gains] for amount in new}
        new = {left for amount in new for left in after[amount]} - after.keys()
        if limited and len(after) > ROUNDING.amounts:
            return None
    number = {amount: p for p, amount in enumerate(sorted(after))}
    return np.array([[number[left] for left in after[amount]] for amount in number], dtype=np.int64)


def _sums(gains: Sequence[int], need: int, limited: bool) -> list[int] | None:
    """Return all sums of gains up to the first that are enough, in order; None if too many."""
    top = need + max(gains)
    sums = {0}
    for gain in sorted(set(gains)):
        if limited and len(sums) * (top // gain + 1) > ROUNDING.sums:
            return None
        sums = {total for base in sums for total in range(base, top, gain)}
    return sorted(sums)
