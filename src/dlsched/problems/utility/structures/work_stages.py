"""What may be left of a job's work, in stages: the states of pricing's program.

A stage is a set of amounts of work left which the same combinations of slots complete; stage 0 is
that of nothing left. Of the amounts that can be left at all, those between two sums of gains that
follow each other are in one stage, so that stages are exact where the gains have no small integers
as well. They are far fewer than the sums: few sums are small, and few amounts left are large.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.utility.structures.gangs import Gangs, require
from dlsched.problems.utility.structures.work_units import TUNABLES, in_steps, units

After = NDArray[np.int32]
"""Stages x speeds: the stage after a slot; the same one if the work cannot be done from there."""

_LARGEST = 2**60
"""Work times slots below this fit 64 bits."""


@lru_cache(maxsize=4096)
def exact_stages(gains: tuple[int, ...], need: int, slots: int, most: int) -> After | None:
    """Return the stages of work in whole numbers; ``None`` if they or their sums are too many.

    Parameters
    ----------
    gains
        Of a slot at each speed, fastest first, that above 0.
    slots
        The most slots that can be used.
    most
        The most stages.
    """
    sums = _sums([min(gain, need) for gain in gains], need, slots)
    if sums is None:
        return None
    if not len(sums) or sums[-1] < need:  # the work cannot be done
        return np.array([[0], [1]], dtype=np.int32).repeat(len(gains), axis=1)
    # An amount left is as hard to do as the least sum that does it, by whose position it is known.
    top = int(np.searchsorted(sums, need))
    after = np.full((top + 1, len(gains)), -1, dtype=np.int64)
    new = np.array([top])
    count = 1
    mark = np.zeros(top + 1, dtype=np.int64)
    while len(new):
        left = np.maximum(0, sums[new][:, None] - np.array(gains))
        after[new] = reached = np.searchsorted(sums, left)
        new = reached.ravel()
        new = new[(new > 0) & (after[new, 0] < 0)]
        mark[new] = np.arange(len(new))
        new = new[mark[new] == np.arange(len(new))]  # each once
        count += len(new)
        if count > most:
            return None
    after[0] = 0
    used = np.flatnonzero(after[:, 0] >= 0)
    return np.searchsorted(used, after[used]).astype(np.int32)


def _sums(gains: Sequence[int], need: int, slots: int) -> NDArray[np.int64] | None:
    """Return all sums of gains of up to `slots` slots, up to the first that does the work."""
    base = 2 * slots + 1
    if need * base >= _LARGEST:
        return None
    both = np.zeros(1, dtype=np.int64)  # a sum times `base`, plus the fewest slots that it takes
    for gain in filter(None, gains):
        count = min(slots, -(-need // gain))
        if len(both) * (count + 1) > TUNABLES.stage_sums:
            return None
        both = (both[:, None] + (gain * base + 1) * np.arange(count + 1)).ravel()
        both = np.sort(both[(both % base <= slots) & (both // base < need + gains[0])])
        sums = both // base
        both = both[np.append(True, sums[1:] > sums[:-1])]
    return both // base


def stages(
    gains: Sequence[Fraction],
    iterations: Fraction,
    slots: int,
    up: bool,
    most: int,
) -> After:
    """Return the stages of a job's work; exact, if they are not too many, otherwise rounded.

    Rounded `up`, whatever does the work reaches stage 0; otherwise whatever reaches it does the
    work.

    Parameters
    ----------
    gains
        Iterations of a slot at each speed, fastest first; all above 0.
    slots
        The most slots that can be used.
    most
        The most units, where these are rounded.
    """
    row, need = in_steps(gains, iterations)
    after = exact_stages(tuple(row), need, slots, TUNABLES.stages)
    if after is not None:
        return after
    whole = units(gains, iterations, slots, up, most)
    left = np.arange(whole.need + 1)[:, None]
    rounded: After = np.maximum(0, left - np.array(whole.gains)).astype(np.int32)
    return rounded


class Stages:
    """The stages of all jobs, as arrays for the loops of pricing.

    Attributes
    ----------
    after
        All stages x speeds, job after job: the stage after a slot.
    begin, end
        By job: its range of `after`.
    """

    def __init__(self, gangs: Gangs, up: bool, most: int) -> None:
        instance = gangs.instance
        count = len(instance.jobs)
        width = max(1, max(map(len, instance.speeds), default=0))
        self.begin, self.end = np.zeros((2, count), dtype=np.int64)
        known: dict[object, tuple[int, int]] = {}
        parts = [np.zeros((1, width), dtype=np.int32)]
        size = 1
        for j, (job, speeds) in enumerate(zip(instance.jobs, instance.speeds, strict=True)):
            key = (tuple(s.gain for s in speeds), job.iterations, instance.slots - job.arrival + 1)
            if speeds and key not in known:
                require(gangs.stop)
                exact = [Fraction(gain) for gain in key[0]]
                after = stages(exact, Fraction(job.iterations), key[2], up, most)
                parts.append(np.pad(after, ((0, 0), (0, width - len(speeds)))))
                known[key] = size, size + len(after)
                size += len(after)
            self.begin[j], self.end[j] = known.get(key, (0, 1))
        self.after = np.concatenate(parts)

    def of(self, job: int) -> After:
        """Return the stages of a job."""
        return self.after[self.begin[job] : self.end[job]]
