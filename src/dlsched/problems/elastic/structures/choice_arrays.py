"""The choices of all jobs as arrays of floating-point numbers, with one capacity or two.

For rules that need speed and no exact sums: the GPUs are whole numbers, the savings are rounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.elastic.definition.job_choices import Workers, base_of, held_by, solution_of
from dlsched.problems.elastic.definition.schema import Instance, Job, Solution
from dlsched.schema import Number
from dlsched.solvers.compilation import Floats, IntRows, Ints

_TRAINING, _LOAN, _ANY = range(3)
"""Where a block's workers are: all in training, all on loan, or in any division."""
_SAFE = 2**53
"""Whole numbers below this are exact as floating-point numbers."""
_SLOW = Fraction(10) ** -30
"""Speeds up to this become the unit of speeds: products of times would overflow."""
_WORST = -1e90
"""Time saved is at least this, for the same reason."""


@dataclass(frozen=True)
class Choices:
    """The choices of every job that fit, job by job; the first of a job is to stay as it is.

    A running job then has its base workers, a pending one none. With one capacity the second
    column of workers and GPUs is 0.

    Attributes
    ----------
    row
        Number of each choice's job.
    workers, gpus
        One row per choice, with an entry for training and for loan.
    launch
        1 where the choice starts a pending job.
    value
        Time saved, in units of the largest work of a job.
    capacity
        Free GPUs in training and on loan, at most what all jobs together can use.
    starts
        Position of each job's first choice.
    pending
        Whether each job is pending.
    """

    row: Ints
    workers: IntRows
    gpus: NDArray[Any]
    launch: Ints
    value: Floats
    capacity: NDArray[Any]
    starts: Ints
    pending: NDArray[np.bool_]

    def solution(self, instance: Instance, chosen: Ints) -> Solution:
        """Return the allocation of one choice per job."""
        started = chosen[~self.pending | (self.launch[chosen] == 1)]
        names = [instance.jobs[j].id for j in self.row[started].tolist()]
        workers = self.workers[started, : len(instance.capacities)].tolist()
        return solution_of(dict(zip(names, map(tuple, workers), strict=True)))


def choices_of(instance: Instance) -> Choices:
    """Return the choices of an instance."""
    work = _WorkUnits(instance)
    blocks = [
        block for j, job in enumerate(instance.jobs) for block in _blocks_of(instance, j, job)
    ]
    job = np.array([block.job for block in blocks], dtype=np.int64)
    place = np.array([block.place for block in blocks], dtype=np.int64)
    least = np.array([block.least for block in blocks], dtype=np.int64)
    most = np.array([block.most for block in blocks], dtype=np.int64)
    held = np.array([block.held for block in blocks], dtype=np.int64).reshape(-1, 2)
    # Segments: the choices of a block with one number of workers.
    block, position = _repeated(most - least + 1)
    count = least[block] + position
    splits = np.where(place[block] == _ANY, count - held[block].sum(axis=1) + 1, 1)
    segment, turn = _repeated(splits)
    block = block[segment]
    count = count[segment]
    loan = np.where(place[block] == _LOAN, count, 0)
    loan = np.where(place[block] == _ANY, held[block, 1] + turn, loan)
    workers = np.stack([count - loan, loan], axis=1)
    row = job[block]

    free = np.array([*instance.capacities, 0][:2])
    demand = sum(job.gpus_per_worker * job.max_workers for job in instance.jobs)
    dtype: Any = np.int64 if max(demand, *instance.capacities) < _SAFE else object
    size = np.array([job.gpus_per_worker for job in instance.jobs], dtype=dtype)
    gpus = (workers - held[block]).astype(dtype) * size[row][:, None]
    running = np.array([job.running for job in instance.jobs], dtype=bool)
    launch = (~running[row] & (count > 0)).astype(np.int64)

    speed = workers @ np.array(work.speeds)
    speed[workers.all(axis=1)] *= float(instance.mixed_efficiency)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = work.base_times[row] - work.of_segments(blocks)[segment] / speed
    value[count == 0] = 0.0
    np.maximum(value, _WORST, out=value)

    fits = (gpus <= free).all(axis=1)
    row = row[fits]
    gpus = gpus[fits]
    starts = np.searchsorted(row, np.arange(len(instance.jobs)))
    usable = np.maximum.reduceat(gpus, starts).sum(axis=0) if len(row) else free
    return Choices(
        row=row,
        workers=workers[fits],
        gpus=gpus,
        launch=launch[fits],
        value=value[fits],
        capacity=np.minimum(free.astype(dtype), usable),
        starts=starts,
        pending=~running,
    )


def _repeated(counts: Ints) -> tuple[Ints, Ints]:
    """Return each number as often as its count says, and the position among its repetitions."""
    number = np.repeat(np.arange(len(counts)), counts)
    first = np.cumsum(counts) - counts
    return number, np.arange(len(number)) - first[number]


class _Block(NamedTuple):
    """Choices of a job: where its workers are, their least and most number, and those it holds."""

    job: int
    place: int
    least: int
    most: int
    held: Workers


def _blocks_of(instance: Instance, j: int, job: Job) -> Iterator[_Block]:
    """Yield the blocks of a job; that of a pending one to wait comes first."""
    held = (*held_by(instance, job), 0)[:2]
    if job.heterogeneous:
        places = [_ANY]
    elif job.running:
        places = [_TRAINING if held[0] else _LOAN]
    else:
        places = [_TRAINING, _LOAN] if job.fungible else [_TRAINING]
    if not job.running:
        yield _Block(j, _TRAINING, 0, 0, held)
    for place in places:
        yield _Block(j, place, job.min_workers, job.max_workers, held)


class _WorkUnits:
    """The work of jobs, in units of the largest one, and their running times at their base.

    Attributes
    ----------
    speeds
        Speed of a worker by pool, in a unit that keeps products in range.
    base_times
        By job.
    """

    def __init__(self, instance: Instance) -> None:
        speeds = [pool.speed for pool in instance.by_pool] or [1, 0]
        least = min(Fraction(speed) for speed in speeds if speed)
        unit = 1 if least > _SLOW else least
        self.speeds = [float(speed / unit) for speed in speeds]
        self.work = [_work(job) for job in instance.jobs]
        self.largest = max((entry for work in self.work for entry in work), default=1)
        base_times = []
        for job, work in zip(instance.jobs, self.work, strict=True):
            base = (*base_of(instance, job), 0)
            seconds = Fraction(work[0]) / (base[0] * speeds[0] + base[1] * speeds[1])
            base_times.append(seconds * unit / self.largest)
        self.base_times = np.array(base_times, dtype=float)

    def of_segments(self, blocks: Sequence[_Block]) -> Floats:
        """Return the work with each number of workers of the blocks, one after the other."""
        entries = [
            work / self.largest
            for block in blocks
            for work in (self.work[block.job] if block.most else (0,))
        ]
        return np.array(entries, dtype=float)


def _work(job: Job) -> Sequence[Number]:
    """Return the seconds with each number of workers, times that number."""
    if job.min_running_time is not None:
        return [job.min_running_time * job.max_workers] * (job.max_workers - job.min_workers + 1)
    times = job.running_times or ()
    return [time * count for count, time in enumerate(times, start=job.min_workers)]
