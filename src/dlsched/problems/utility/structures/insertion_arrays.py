"""What gang jobs need, as arrays for compiled insertion: work is exact where it can be."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dlsched.problems.utility.structures.work_units import units
from dlsched.schema import granularity
from dlsched.solvers.compilation import FloatRows, IntRows, Ints

if TYPE_CHECKING:
    from dlsched.problems.utility.definition.schema import Instance
    from dlsched.problems.utility.structures.gangs import Gangs

_MOST_UNITS = 2**50
"""Sums of a few gains, each at most a job's work, fit 64 bits."""


class Demands(NamedTuple):
    """What jobs need; it does not change.

    Attributes
    ----------
    of, gains
        Jobs x speeds: the position of the mask, and the units of work in a slot, fastest first.
    speeds, needs, first, workers
        By job: the number of speeds, 0 if it cannot finish; units of work; the index of the first
        slot; GPUs.
    value
        Jobs x slots: what finishing in a slot is worth.
    above
        Masks x sets: the positions of the sets that contain a mask; -1 fills up.
    """

    of: IntRows
    gains: IntRows
    speeds: Ints
    needs: Ints
    first: Ints
    workers: Ints
    value: FloatRows
    above: IntRows


def demands_of(gangs: Gangs) -> Demands:
    """Return what the jobs need.

    Where all must finish, a value is the utility plus a number that no utilities outweigh.
    """
    inst = gangs.instance
    count, width = len(inst.jobs), max(map(len, gangs.of), default=1) or 1
    of, gains = np.zeros((2, count, width), dtype=np.int64)
    speeds, needs = np.zeros(count, dtype=np.int64), np.ones(count, dtype=np.int64)
    for j, row in enumerate(gangs.of):
        if inst.fewest[j]:
            needs[j], each = _units(inst, j)
            speeds[j] = sum(gain > 0 for gain in each)
            of[j, : len(row)], gains[j, : len(row)] = row, each
    above = np.full(gangs.within.shape, -1, dtype=np.int64)
    for m, contained in enumerate(gangs.within):
        sets = np.flatnonzero(contained)
        above[m, : len(sets)] = sets
    value = gangs.worth + (1000.0 * (count + 1) if inst.must_finish else 0.0)
    return Demands(of, gains, speeds, needs, gangs.first, gangs.workers, value, above)


def _units(instance: Instance, j: int) -> tuple[int, list[int]]:
    """Return a job's work and its gains by speed in units: exact, or gains rounded down."""
    gains = [Fraction(speed.gain) for speed in instance.speeds[j]]
    work = Fraction(instance.jobs[j].iterations)
    step = granularity(gains)
    need = int(-(-work // step))
    if need <= _MOST_UNITS:
        return need, [min(need, int(gain / step)) for gain in gains]
    rounded = units(gains, work, instance.slots - instance.jobs[j].arrival + 1, up=False)
    return rounded.need, list(rounded.gains)
