"""What a schedule can use that is no worse than an incumbent, by prices.

At prices p no schedule is worth more than L(p), the sum of what the GPUs cost and of the jobs' own
best values, see `dual`. If job j runs at a speed in a slot, its own value is at most that of its
best schedule that does so, and L(p) falls by the difference. If it falls below the incumbent's
utility, no schedule that is as good has this run. The same holds for the slots in which j may
finish, and for its not running. Jobs do no more work than they need in such schedules.
"""

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.utility.definition.schema import Instance
from dlsched.problems.utility.model import Restriction, whole
from dlsched.problems.utility.programs.lagrangian import Dual
from dlsched.problems.utility.structures.gangs import Barred, Levels
from dlsched.problems.utility.structures.work_stages import After
from dlsched.solvers.arrays import Floats, Ints
from dlsched.solvers.column_generation import CLOSE


def restrict(dual: Dual, prices: Floats, levels: Levels, value: float) -> Restriction:
    """Return a part that has every schedule worth more than a given one, and that one.

    Parameters
    ----------
    prices
        Slots x types.
    levels, value
        The given schedule, in which all jobs finish that must, and its scaled utility.
    """
    gangs = dual.gangs
    inst = dual.instance
    priced = dual.price(prices)
    by_mask = dual.by_mask(prices)
    work = dual.rounded_up
    least = value - CLOSE * max(priced.bound, value)  # of floats
    part = Restriction({}, {}, set())
    for j, job in enumerate(inst.jobs):
        rest = priced.bound - priced.values[j]
        masks = gangs.mask_of_speed[j, : gangs.number_of_speeds[j]]
        runs = levels[j][:, None] == np.arange(len(masks))
        ends = runs.any(axis=1) & (np.arange(inst.slots) == _last(levels[j]))
        if inst.fewest[j]:
            after = work.of(j)[:, : len(masks)]
            cost = gangs.workers[j] * by_mask[:, masks]
            if len(gangs.barred):
                cost[gangs.barred[j, :, : len(masks)]] = np.inf
            through, ending = _best(cost, after, int(gangs.first[j]), gangs.worth[j])
            runs |= rest + through >= least
            ends |= rest + ending >= least
        last = _last(np.where(ends, 0, -1))
        runs[last + 1 :] = False
        part.runs[job.id] = {(t + 1, v) for t, v in np.argwhere(runs).tolist()}
        part.ends[job.id] = range(int(ends.argmax()) + 1, last + 2)
        if inst.must_finish or rest < least:
            part.certain.add(job.id)
    return part


def allowed_part(instance: Instance, barred: Barred) -> Restriction:
    """Return the part of what a rule allows; see `Gangs.barred`."""
    part = whole(instance)
    for job, row in zip(instance.jobs, barred, strict=True):
        part.runs[job.id].difference_update((t + 1, v) for t, v in np.argwhere(row).tolist())
    return part


def _last(row: NDArray[np.int8] | Ints) -> int:
    """Return the index of the last entry that is not negative, -1 if there is none."""
    used = np.flatnonzero(row >= 0)
    return int(used[-1]) if len(used) else -1


def _best(cost: Floats, after: After, first: int, worth: Floats) -> tuple[Floats, Floats]:
    """Return the values of a job's best schedules, by a slot and speed of theirs, and by finish.

    Parameters
    ----------
    cost
        Slots x speeds.
    after
        Stages x speeds: the stage after a slot.
    first, worth
        The index of the first slot, and the utility by finish slot.
    """
    slots, speeds = cost.shape
    stages = len(after)
    columns = np.ascontiguousarray(after.T)
    ends = columns == 0
    # From each stage, what is left of the best schedule that is in a slot or later.
    later = np.full((slots + 1, stages), -np.inf)
    for t in range(slots - 1, first - 1, -1):
        row = np.where(ends, worth[t], later[t + 1][columns]) - cost[t][:, None]
        with_slot = row[:, 1:].max(axis=0)
        later[t, 1:] = np.maximum(later[t + 1, 1:], with_slot)
    through = np.full((slots, speeds), -np.inf)
    ending = np.full(slots, -np.inf)
    before = np.full(stages, -np.inf)  # minus the cost of what leads to a stage
    before[-1] = 0.0
    for t in range(first, slots):
        done = before - cost[t][:, None]
        whole = done + np.where(ends, worth[t], later[t + 1][columns])
        through[t] = whole[:, 1:].max(axis=1)
        ending[t] = np.where(ends, whole, -np.inf)[:, 1:].max()
        for v in range(speeds):
            np.maximum.at(before, columns[v, 1:], done[v, 1:])
        before[0] = -np.inf
    return through, ending
