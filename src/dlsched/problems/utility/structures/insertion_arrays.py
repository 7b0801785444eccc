"""What gang jobs need, as arrays for compiled insertion: work is exact where it can be."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.utility.definition.schema import Instance
from dlsched.problems.utility.structures.work_units import units
from dlsched.schema import granularity
from dlsched.solvers.compilation import FlagCube, FloatRows, IntRows, Ints

_MOST_UNITS = 2**50
"""Sums of a few gains, each at most a job's work, fit 64 bits."""


class Demands(NamedTuple):
    """What jobs need; it does not change.

    Attributes
    ----------
    mask_of_speed, gains
        Jobs x speeds: the position of the mask, and the units of work in a slot, fastest first.
    speeds, needs, first, workers
        By job: the number of speeds, 0 if it cannot finish; units of work; the index of the first
        slot; GPUs.
    value
        Jobs x slots: what finishing in a slot is worth.
    above
        Masks x sets: the positions of the sets that contain a mask; -1 fills up.
    barred
        Jobs x slots x speeds: what a rule does not allow; without rows all is allowed.
    """

    mask_of_speed: IntRows
    gains: IntRows
    speeds: Ints
    needs: Ints
    first: Ints
    workers: Ints
    value: FloatRows
    above: IntRows
    barred: FlagCube


def demands_of(
    instance: Instance,
    mask_of_speed: IntRows,
    within: NDArray[np.bool_],
    first: Ints,
    workers: Ints,
    worth: FloatRows,
    barred: FlagCube,
) -> Demands:
    """Return what the jobs need; parameters as the attributes of `Gangs`.

    Where all must finish, a value is the utility plus a number that no utilities outweigh.
    """
    count = len(instance.jobs)
    gains = np.zeros(mask_of_speed.shape, dtype=np.int64)
    speeds = np.zeros(count, dtype=np.int64)
    needs = np.ones(count, dtype=np.int64)
    for j in np.flatnonzero(instance.fewest).tolist():
        needs[j], gains_of_job = _units(instance, j)
        gains[j, : len(gains_of_job)] = gains_of_job
        speeds[j] = np.count_nonzero(gains_of_job)
    above = np.full(within.shape, -1, dtype=np.int64)
    for m, contained in enumerate(within):
        sets = np.flatnonzero(contained)
        above[m, : len(sets)] = sets
    value = worth + (1000.0 * (count + 1) if instance.must_finish else 0.0)
    return Demands(mask_of_speed, gains, speeds, needs, first, workers, value, above, barred)


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
