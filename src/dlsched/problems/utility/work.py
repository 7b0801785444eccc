"""A job's work in whole units, rounded so that bounds stay bounds and schedules stay schedules."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dlsched.problems.utility.schema import Instance
from dlsched.schema import grid

UNITS = 2000
"""A job's iterations are divided into at most so many units, if whole gains do not need fewer."""


def units(
    gains: Sequence[Fraction], iterations: Fraction, up: bool, most: int = UNITS
) -> tuple[list[int], int]:
    """Return each speed's gain in a slot, and the iterations, in whole units.

    Exact if the gains have a common divisor of which the iterations are few. Else gains are rounded
    up, so that whatever does the work in truth does it here, or down, so that what does it here
    does it in truth. The number of units is the one, up to `most`, at which the fewest speeds need
    another number of slots than in truth, and the gains change least.
    """
    step = grid(gains)
    need = -(-iterations // step)
    if need <= most:
        return [int(g / step) for g in gains], int(need)
    counts = np.arange(max(1, most // 4), most + 1)
    exact = np.array([float(g / iterations) for g in gains])[:, None] * counts
    rounded = np.ceil(exact) if up else np.floor(exact)
    truth = np.array([float(-(-iterations // g)) for g in gains])[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        off = np.abs(rounded / exact - 1).max(axis=0)
        wrong = (np.ceil(counts / rounded) != truth).sum(axis=0)
    off += 2.0 * wrong
    n = int(counts[int(off.argmin())])
    scaled = [g * n / iterations for g in gains]
    return [int(-(-s // 1)) if up else int(s // 1) for s in scaled], n


class Work:
    """Gains and needs of all jobs, as the compiled loops want them."""

    def __init__(self, instance: Instance, up: bool, most: int = UNITS) -> None:
        count = len(instance.jobs)
        width = max((len(s) for s in instance.speeds), default=0)
        self.gains = np.zeros((count, max(1, width)), dtype=np.int64)
        self.needs = np.ones(count, dtype=np.int64)
        self.speeds = np.zeros(count, dtype=np.int64)
        for j, (job, speeds) in enumerate(zip(instance.jobs, instance.speeds, strict=True)):
            if speeds:
                exact = [Fraction(s.gain) for s in speeds]
                row, self.needs[j] = units(exact, Fraction(job.iterations), up, most)
                self.gains[j, : len(row)] = row
            self.speeds[j] = len(speeds)
