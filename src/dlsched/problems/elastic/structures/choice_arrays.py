"""The choices of all jobs as arrays of floating-point numbers, with one capacity or two.

For rules that need speed and no exact sums: the GPUs are whole numbers, the savings are rounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlsched.problems.elastic.definition.schema import Instance, Job, Solution
from dlsched.problems.elastic.definition.two_pools_choices import base_of, solution_of
from dlsched.schema import Number

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

    row: NDArray[np.int64]
    workers: NDArray[np.int64]
    gpus: NDArray[Any]
    launch: NDArray[np.int64]
    value: NDArray[np.float64]
    capacity: NDArray[Any]
    starts: NDArray[np.int64]
    pending: NDArray[np.bool_]

    def solution(self, instance: Instance, chosen: NDArray[np.int64]) -> Solution:
        """Return the allocation of one choice per job."""
        started = chosen[~self.pending | (self.launch[chosen] == 1)]
        names = [instance.jobs[j].id for j in self.row[started].tolist()]
        pairs: list[list[int]] = self.workers[started].tolist()
        if instance.pools:
            return solution_of({name: (a, b) for name, (a, b) in zip(names, pairs, strict=True)})
        return Solution(workers={name: a for name, (a, _) in zip(names, pairs, strict=True)})


def choices_of(instance: Instance) -> Choices:
    """Return the choices of an instance."""
    blocks = _Blocks(instance)
    job, kind, least, most, held = (np.array(part) for part in blocks.columns())
    # Segments: the choices of a block with one number of workers.
    lengths = most - least + 1
    block = np.repeat(np.arange(len(job)), lengths)
    count = np.arange(len(block)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + least[block]
    splits = np.where(kind[block] == _ANY, count - held[block].sum(axis=1) + 1, 1)
    segment = np.repeat(np.arange(len(block)), splits)
    turn = np.arange(len(segment)) - np.repeat(np.cumsum(splits) - splits, splits)
    block, count = block[segment], count[segment]
    loan = np.where(kind[block] == _LOAN, count, 0)
    loan = np.where(kind[block] == _ANY, held[block, 1] + turn, loan)
    workers = np.stack([count - loan, loan], axis=1)
    row = job[block]
    per = np.array([item.gpus_per_worker for item in instance.jobs], dtype=blocks.dtype)
    gpus = (workers - held[block]).astype(blocks.dtype) * per[row][:, None]
    running = np.array([item.running for item in instance.jobs], dtype=bool)
    launch = (~running[row] & (count > 0)).astype(np.int64)
    speed = workers @ np.array(blocks.speeds)
    speed[workers.all(axis=1)] *= float(instance.mixed_efficiency)
    work, before = np.array(blocks.work, dtype=float), np.array(blocks.before, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = before[row] - work[segment] / speed
    value[count == 0] = 0.0
    np.maximum(value, _WORST, out=value)
    free = np.array(blocks.capacity, dtype=blocks.dtype)
    fits = (gpus <= free).all(axis=1)
    row, gpus = row[fits], gpus[fits]
    starts = np.searchsorted(row, np.arange(len(instance.jobs)))
    usable = np.maximum.reduceat(gpus, starts).sum(axis=0) if len(row) else free
    return Choices(
        row, workers[fits], gpus, launch[fits], value[fits], np.minimum(free, usable), starts,
        ~running,
    )  # fmt: skip


class _Blocks:
    """Blocks of choices: a job, where its workers are, their least and most number."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.capacity = [instance.gpus, 0]
        speeds: list[Number] = [1, 0]
        if instance.pools:
            self.capacity = [pool.capacity for pool in instance.by_pool]
            speeds = [pool.speed for pool in instance.by_pool]
        least = min(Fraction(speed) for speed in speeds if speed)
        unit = 1 if least > _SLOW else least
        self.speeds = [float(speed / unit) for speed in speeds]
        self.rows: list[tuple[int, int, int, int, tuple[int, int]]] = []
        works: list[Sequence[Number]] = []
        bases: list[Number] = []
        total = 0
        for j, job in enumerate(instance.jobs):
            base = base_of(instance, job) if instance.pools else (job.min_workers, 0)
            work = _work(job)
            bases.append(Fraction(work[0]) / (base[0] * speeds[0] + base[1] * speeds[1]))
            total += job.gpus_per_worker * job.max_workers
            if not job.running:
                self.rows.append((j, _TRAINING, 0, 0, (0, 0)))
                works.append((0,))
            for kind in self._kinds(job, base):
                held = base if job.running else (0, 0)
                self.rows.append((j, kind, job.min_workers, job.max_workers, held))
                works.append(work)
        self.dtype: Any = np.int64 if max(total, *self.capacity) < _SAFE else object
        top = max((entry for work in works for entry in work), default=1) or 1
        self.work = [entry / top for work in works for entry in work]
        self.before = [base * unit / top for base in bases]

    def _kinds(self, job: Job, base: tuple[int, int]) -> tuple[int, ...]:
        if job.heterogeneous:
            return (_ANY,)
        if job.running:
            return (_TRAINING if base[0] else _LOAN,)
        return (_TRAINING, _LOAN) if job.fungible else (_TRAINING,)

    def columns(self) -> list[Any]:
        """Return job, kind, least and most workers, and the workers held, block by block."""
        if not self.rows:
            return [np.zeros(0, dtype=np.int64)] * 4 + [np.zeros((0, 2), dtype=np.int64)]
        return list(zip(*self.rows, strict=True))


def _work(job: Job) -> Sequence[Number]:
    """Return the seconds with each number of workers, times that number."""
    if job.min_running_time is not None:
        return [job.min_running_time * job.max_workers] * (job.max_workers - job.min_workers + 1)
    times = job.running_times or ()
    return [time * count for count, time in enumerate(times, start=job.min_workers)]
