"""Gang jobs as arrays: their speeds, and the sets of types of Hall's condition.

Machines matter only through their GPUs of each type, so methods decide at which speed a job runs in
a slot, not on which GPUs. A set of gangs fits if Hall's condition holds: for every set of types,
the gangs that can use only these types need no more GPUs than there are of them.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlsched.errors import OptionError
from dlsched.problems.utility.definition.schema import Instance, Solution
from dlsched.problems.utility.structures.work_units import TUNABLES, exact_units
from dlsched.results.result import Termination
from dlsched.solvers.arrays import Floats, Ints

Levels = NDArray[np.int8]
"""Jobs x slots: the index of the speed at which a job runs, -1 where it does not."""
Barred = NDArray[np.bool_]
"""Jobs x slots x speeds: the runs that a rule does not allow."""
Stop = Callable[[], Termination | None]
"""Returns why to stop now, ``None`` to go on, as `Run.stop_reason`."""

MOST_SETS = 127
"""The most unions of speeds' types, each of which is a row of Hall's condition.

It also limits the speeds of a job, whose indices have 8 bits.
"""


class Stopped(Exception):
    """Work was stopped by a limit or an interrupt; ``termination`` says which."""

    def __init__(self, termination: Termination) -> None:
        self.termination = termination
        super().__init__(termination.sentence)


def require_gangs(instance: Instance) -> None:
    """Raise `OptionError` if the instance's jobs fork."""
    if instance.forking:
        raise OptionError(
            "this method schedules gangs, and the instance is forking; use milp or hadare"
        )


def require(stop: Stop) -> None:
    """Raise `Stopped` if there is a reason to stop."""
    reason = stop()
    if reason is not None:
        raise Stopped(reason)


class Gangs:
    """The instance's gang jobs as arrays.

    Attributes
    ----------
    stop
        Why to stop, if there is a reason; callers look at it between jobs.
    kinds
        The GPU types; sets of them are bit masks.
    masks
        The sets of types that a speed of some job may use.
    sets
        All unions of these; Hall's condition needs no others.
    capacity
        GPUs of each of `sets`.
    within
        masks x sets: whether the mask is a subset of the set.
    number_of_speeds
        By job.
    mask_of_speed
        Jobs x speeds: the position of the speed's mask in `masks`; 0 fills up.
    barred
        Jobs x slots x speeds: the runs that a rule does not allow; without rows all are allowed.
        A run at a speed may have faster GPUs, so what is faster than an allowed one is allowed.

    Raises
    ------
    OptionError
        If the instance is forking, or there are more than `MOST_SETS` unions.
    """

    def __init__(
        self, instance: Instance, stop: Stop = lambda: None, barred: Barred | None = None
    ) -> None:
        require_gangs(instance)
        self.barred: Barred = np.zeros((0, 0, 0), dtype=np.bool_) if barred is None else barred
        self.instance = instance
        self.stop = stop
        self.kinds = tuple(instance.supply)
        bit = {kind: 1 << i for i, kind in enumerate(self.kinds)}
        rows = [[sum(bit[k] for k in s.types) for s in speeds] for speeds in instance.speeds]
        self.masks = sorted({mask for row in rows for mask in row})
        self.sets = self._unions()
        self.number_of_speeds = np.array([len(row) for row in rows], dtype=np.int64)
        most_speeds = max(1, self.number_of_speeds.max(initial=0))
        self.mask_of_speed = np.zeros((len(rows), most_speeds), dtype=np.int64)
        for j, row in enumerate(rows):
            self.mask_of_speed[j, : len(row)] = np.searchsorted(self.masks, row)
        contains = self.contains(self.sets)
        supply = np.array([instance.supply[kind] for kind in self.kinds], dtype=np.int64)
        self.capacity = contains @ supply
        self.within = ~(self.contains(self.masks) @ ~contains.T)
        self.workers = np.array([job.workers for job in instance.jobs], dtype=np.int64)
        self.first = np.array([job.arrival - 1 for job in instance.jobs], dtype=np.int64)

    def contains(self, masks: Sequence[int]) -> NDArray[np.bool_]:
        """Return masks x kinds: whether each type is in the set."""
        bits = [[mask >> i & 1 for i in range(len(self.kinds))] for mask in masks]
        return np.array(bits, dtype=bool).reshape(len(masks), len(self.kinds))

    def by_type(self, by_set: Floats) -> Floats:
        """Return prices of types, by slot or period, from those of `sets`: what a GPU adds up."""
        prices: Floats = by_set @ self.contains(self.sets).astype(float)
        return prices

    def _unions(self) -> list[int]:
        found = set(self.masks)
        frontier = set(found)
        while frontier:
            frontier = {a | b for a in frontier for b in self.masks} - found
            found |= frontier
            if len(found) > MOST_SETS:
                raise OptionError(
                    f"the jobs rank {len(self.kinds)} GPU types in too many ways: over {MOST_SETS} "
                    f"sets of types; merge types that are alike"
                )
        return sorted(found)

    @cached_property
    def exponent(self) -> int:
        """Scaled utilities are in units of two to this power.

        The largest that a job can have is then between 1/2 and 1, whatever the instance's own
        unit is, as the tolerances of solvers are absolute.
        """
        inst = self.instance
        pairs = zip(inst.jobs, inst.fewest, strict=True)
        most = Fraction(max((inst.worth(job, n) for job, n in pairs if n), default=0))
        if not most:
            return 0
        e = most.numerator.bit_length() - most.denominator.bit_length()
        return e + (most >= Fraction(2) ** e)

    def unscaled(self, value: float) -> float:
        """Return a scaled utility in the instance's own unit; infinite if it overflows."""
        try:
            return math.ldexp(value, self.exponent)
        except OverflowError:
            return math.inf

    @cached_property
    def worth(self) -> Floats:
        """Jobs x slots: the scaled utility of finishing in a slot.

        In slots from its arrival in which a job cannot finish yet, that of the first one in which
        it could; 0 before its arrival, and everywhere if it can never finish. The relative error
        is at most 2 EPS, or the absolute one the smallest float.
        """
        inst, unit = self.instance, Fraction(2) ** self.exponent
        table = np.zeros((len(inst.jobs), inst.slots))
        for j, (job, least) in enumerate(zip(inst.jobs, inst.fewest, strict=True)):
            if not least:
                continue
            first, last = job.arrival - 1, inst.slots - job.arrival + 1
            if inst.utility.kind == "effective_throughput":
                highest = float(inst.worth(job, least) / unit)
                row = highest * (least / np.arange(least, last + 1))
            else:
                row = np.array([float(inst.worth(job, c) / unit) for c in range(least, last + 1)])
            table[j, first : first + least - 1] = row[0]
            table[j, first + least - 1 :] = row
        return table

    @cached_property
    def most_units(self) -> int:
        """The most units into which a job's work is divided, by the size of the instance."""
        runs = max(1, len(self.instance.jobs) * self.instance.slots * 3)
        return min(TUNABLES.units, max(TUNABLES.fewest_units, TUNABLES.pass_steps // runs))

    @cached_property
    def density(self) -> Floats:
        """By job the largest utility per GPU and slot at its fastest."""
        slots = np.maximum(1, self.instance.fewest)
        density: Floats = self.worth.max(axis=1) / (self.workers * slots)
        return density

    @cached_property
    def by_density(self) -> list[int]:
        """The jobs, the densest first."""
        order: list[int] = np.argsort(-self.density, kind="stable").tolist()
        return order

    @cached_property
    def value(self) -> Floats:
        """`worth`, plus a number that no utilities outweigh where all jobs must finish."""
        most = 1000.0 * (len(self.instance.jobs) + 1)
        return self.worth + (most if self.instance.must_finish else 0.0)

    @cached_property
    def demands(self) -> tuple[NDArray[Any], ...]:
        """What the jobs need, as the arguments of `kernels.insertion.Demands`."""
        gains = np.zeros_like(self.mask_of_speed)
        speeds, needs = np.zeros_like(self.first), np.ones_like(self.first)
        for j in np.flatnonzero(self.instance.fewest).tolist():
            work = exact_units(self.instance, j)
            gains[j, : len(work.gains)] = work.gains
            speeds[j], needs[j] = np.count_nonzero(work.gains), work.need
        above = np.full(self.within.shape, -1, dtype=np.int64)
        for row, contained in zip(above, self.within, strict=True):
            sets = np.flatnonzero(contained)
            row[: len(sets)] = sets
        of_jobs = self.first, self.workers, self.value
        return self.mask_of_speed, gains, speeds, needs, *of_jobs, above, self.barred

    def free(self, levels: Levels) -> Ints:
        """Return slots x sets: the GPUs left free by a schedule."""
        left = np.tile(self.capacity, (self.instance.slots, 1))
        for j, row in enumerate(levels):
            self.book(left, j, row)
        return left

    def book(self, free: Ints, job: int, row: NDArray[np.int8], sign: int = 1) -> None:
        """Subtract the GPUs of a job's row of levels from the free ones; add them with sign -1."""
        slots = np.flatnonzero(row >= 0)
        masks = self.mask_of_speed[job, row[slots]]
        free[slots] -= sign * self.workers[job] * self.within[masks]


def levels_of(instance: Instance, solution: Solution) -> Levels:
    """Return the rows of speeds of the jobs that finish in a feasible solution."""
    levels = np.full((len(instance.jobs), instance.slots), -1, dtype=np.int8)
    for j, (job, speeds) in enumerate(zip(instance.jobs, instance.speeds, strict=True)):
        # A gang's speed is that of its slowest type: the first speed with this type has the rate.
        level_of = {kind: v for v in reversed(range(len(speeds))) for kind in speeds[v].types}
        slots_at = [0] * len(speeds)
        for held in solution.schedule.get(job.id, ()):
            level = max(level_of[kind] for kinds in held.gpus.values() for kind in kinds)
            levels[j, held.slot - 1] = level
            slots_at[level] += 1
        done = sum(n * speed.gain for n, speed in zip(slots_at, speeds, strict=True))
        if done < job.iterations:
            levels[j] = -1
    return levels
