"""The jobs present, as vectors for policies that decide often; kept beside their `Progress`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dlsched.simulation.engine.positions import Positions
from dlsched.simulation.engine.progress import Progress
from dlsched.simulation.engine.vectors import Arrays, Vector
from dlsched.simulation.workload.job import Job

Columns: TypeAlias = NDArray[np.int64]
"""Submission, GPUs asked for, then what `Table.update` states, of some jobs: shape (8, jobs)."""


class Table:
    """One row per job of the workload; only those of the jobs present count.

    Attributes
    ----------
    present, running
        The jobs that are present, and those of them that hold GPUs.
    scaled
        Running jobs at a speed other than 1, whose work the vectors do not follow.
    excess
        By how much a scheduler overestimates the work of each job; None where it knows all.
    """

    def __init__(self, jobs: tuple[Job, ...], estimated: bool = True) -> None:
        # A job's numbers fill one line of the processor's cache.
        self._rows = np.zeros((len(jobs), 8), np.int64)
        self._rows[:, 0] = [job.submit_ticks for job in jobs]
        self._rows[:, 1] = [job.gpus for job in jobs]
        self._held: tuple[Vector, Columns] | None = None
        estimates = estimated and any(job.estimate is not None for job in jobs)
        self.excess: Vector | None = None
        if estimates:
            self.excess = np.array([job.known_ticks - job.work_ticks for job in jobs], np.int64)
        self.present, self.running = Positions(), Positions()
        self.scaled: set[int] = set()

    def update(self, job: int, progress: Progress) -> None:
        """Take over a job's progress after a stretch has ended or begun."""
        self._rows[job, 2:] = (
            progress.left,
            progress.attained,
            progress.service,
            progress.since,
            progress.working,
            progress.gpus,
        )
        if progress.gpus:
            self._held = None
        if progress.gpus and progress.speed != 1:
            self.scaled.add(job)
        else:
            self.scaled.discard(job)

    def start(self, job: int) -> None:
        """Take note that a job holds GPUs from now on."""
        self.running.add(job)
        self._held = None

    def stop(self, job: int) -> None:
        """Take note that a job holds no GPUs any more."""
        self.running.remove(job)
        self._held = None

    def arrays(self, now: int, active: Mapping[int, Progress], index: Vector) -> Arrays:
        """Return the vectors of some jobs that are present as they are at a time.

        Parameters
        ----------
        index
            Positions of the jobs, ascending.
        """
        columns = self._columns(index)
        since, working, held = columns[5:]
        running = (held > 0).astype(np.int64)
        time, worked = (now - since) * running, np.maximum(now - working, 0) * running
        return self._later(now, active, index, columns, running, time, worked)

    def holding(self, now: int, active: Mapping[int, Progress]) -> Arrays:
        """Return the vectors of the running jobs; the columns are kept till a change."""
        if self._held is None:
            index = self.running.read()
            columns = np.vstack((self._columns(index), np.ones(len(index), np.int64)))
            columns.flags.writeable = False
            self._held = index, columns
        index, columns = self._held
        since, working, _, ones = columns[5:]
        time, worked = now - since, np.maximum(now - working, 0)
        return self._later(now, active, index, columns, ones, time, worked)

    def _columns(self, index: Vector) -> Columns:
        """Return the columns of some jobs, each contiguous."""
        return np.ascontiguousarray(self._rows.take(index, axis=0).T)

    def _later(
        self,
        now: int,
        active: Mapping[int, Progress],
        index: Vector,
        columns: Columns,
        running: Vector,
        time: Vector,
        worked: Vector,
    ) -> Arrays:
        """Return the vectors at a time, where the stretches and the work in them are known."""
        submit, gpus, work_left, attained, service, _, _, held = columns[:8]
        remaining = np.maximum(work_left - worked, 0)
        for job in self.scaled:
            i = int(np.searchsorted(index, job))
            if i < len(index) and index[i] == job:
                progress = active[job]
                remaining[i] = progress.left - progress.done(now)
        return Arrays(
            job=index,
            submit=submit,
            gpus=gpus,
            remaining=self.known(remaining, index),
            attained=attained + time,
            service=service + time * held,
            running=running,
        )

    def waiting(self, index: Vector) -> Arrays:
        """Return the vectors of some jobs that wait, which are the same at any time."""
        submit, gpus, work_left, attained, service = self._columns(index)[:5]
        running = np.zeros(len(index), np.int64)
        known = self.known(work_left, index)
        return Arrays(index, submit, gpus, known, attained, service, running)

    def known(self, left: Vector, index: Vector) -> Vector:
        """Return what a scheduler takes for the work that jobs at positions still need."""
        if self.excess is None:
            return left
        return np.where(left > 0, np.maximum(left + self.excess[index], 1), left)
