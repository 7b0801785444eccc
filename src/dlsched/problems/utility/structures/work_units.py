"""A job's work in whole units: exact in those of its gains if they are few, otherwise rounded.

A job is complete when the gains of its slots add up to its iterations.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from dlsched.problems.utility.definition.schema import Instance
from dlsched.schema import granularity

_EXACT_INTEGERS = 2**50
"""Products of numbers below this and the most units fit 64 bits."""


@dataclass(frozen=True)
class Tunables:
    """Tunables of the division of work into units and stages, the same for all methods.

    Chosen by hand, such that an exact division is tried where a pass of pricing stays short; no
    figure compares other values.
    """

    units: int = 2000
    """The most units into which a job's work is divided, unless it needs nearly as many slots."""
    units_per_slot: int = 16
    """A longer job may have this many units for each slot that it needs at its fastest."""
    cells: int = 100_000_000
    """The most slots times units of a job: the size of its program."""
    fewest_units: int = 300
    """Work of large instances has fewer units, but not fewer than this."""
    pass_steps: int = 1_200_000_000
    """Then units are as many as let a pass of pricing take about this many steps."""
    finer: int = 4
    """Bounds are computed far less often than prices are tried: times as many units."""
    checked_steps: int = 50_000_000
    """A pass checks the limits after jobs that take about this many steps."""
    stages: int = 20_000
    """With more stages, work is in units that are rounded."""
    stage_sums: int = 500_000
    """With more combinations of slots, stages are not looked for."""


TUNABLES = Tunables()


class Units(NamedTuple):
    """Gains of a slot at each speed, and the work to be done, in whole units."""

    gains: tuple[int, ...]
    need: int


def units(
    gains: Sequence[Fraction],
    iterations: Fraction,
    slots: int,
    up: bool,
    most: int = TUNABLES.units,
) -> Units:
    """Return a job's work in whole units.

    Exact in the units of its gains if these are at most `most`. Otherwise gains are rounded up, so
    that whatever does the iterations does the units, or down, so that whatever does the units does
    the iterations; a job that can finish at its fastest still can after rounding down.

    Parameters
    ----------
    gains
        Iterations of a slot at each speed, fastest first; all above 0.
    slots
        The most slots that can be used.
    """
    whole, need = in_steps(gains, iterations)
    fewest = -(-need // whole[0])
    if fewest > slots:
        return Units((0,) * len(whole), 1)
    limit = max(most, min(TUNABLES.units_per_slot * fewest, TUNABLES.cells // slots))
    if need <= limit:
        return Units(tuple(whole), need)
    return _rounded(whole, need, fewest, up, limit)


def in_steps(gains: Sequence[Fraction], iterations: Fraction) -> tuple[list[int], int]:
    """Return gains, up to all of the work, and the work, in multiples of the gains' granularity."""
    step = granularity(gains)
    need = int(-(-iterations // step))
    return [min(int(gain / step), need) for gain in gains], need


def _rounded(gains: list[int], need: int, fewest: int, up: bool, most: int) -> Units:
    """Return rounded gains, at the number of units where rounding changes them least."""
    if most < 2 * fewest:  # too long a job: every slot counts as one of the fastest, or not at all
        row = (1,) * len(gains) if up else tuple(int(g == gains[0]) for g in gains)
        return Units(row, fewest)
    counts = np.arange(max(1, most // 4), most + 1)
    share = np.array([float(Fraction(g, need)) for g in gains])[:, None]
    shares = share * counts
    rounded = np.ceil(shares) if up else np.floor(shares)
    slots = np.array([float(min(-(-need // g), 1 << 60)) for g in gains])[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        off = np.abs(rounded / np.maximum(shares, 1e-300) - 1).max(axis=0)
        wrong = np.ceil(counts / rounded) != slots
    # First of all, each speed alone should take as many slots as exactly, above all the fastest.
    off = np.minimum(off, 1.0) + 2.0 ** np.arange(len(gains), 0, -1) @ wrong
    n = int(counts[int(off.argmin())])
    scaled = [-(-g * n // need) if up else g * n // need for g in gains]
    return Units(tuple(scaled), n)


def exact_units(instance: Instance, j: int) -> Units:
    """Return a job's work in the units of its gains; with gains rounded down if they are too many.

    Unlike those of `units` they may be any number below `_EXACT_INTEGERS`.
    """
    job = instance.jobs[j]
    gains = [Fraction(speed.gain) for speed in instance.speeds[j]]
    whole, need = in_steps(gains, Fraction(job.iterations))
    if need <= _EXACT_INTEGERS:
        return Units(tuple(whole), need)
    return units(gains, Fraction(job.iterations), instance.slots - job.arrival + 1, up=False)
