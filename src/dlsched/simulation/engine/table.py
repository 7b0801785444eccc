"""The jobs present, as vectors for policies that decide often; kept beside their `Progress`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dlsched.simulation.engine.positions import Positions
from dlsched.simulation.engine.progress import Progress
from dlsched.simulation.engine.vectors import Arrays, Vector
from dlsched.simulation.workload.job import Job


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
        self._rows = np.zeros((8, len(jobs)), np.int64)
        self._rows[0] = [job.submit_ticks for job in jobs]
        self._rows[1] = [job.gpus for job in jobs]
        estimates = estimated and any(job.estimate is not None for job in jobs)
        self.excess: Vector | None = None
        if estimates:
            self.excess = np.array([job.known_ticks - job.work_ticks for job in jobs], np.int64)
        self.present, self.running = Positions(), Positions()
        self.scaled: set[int] = set()

    def update(self, job: int, progress: Progress) -> None:
        """Take over a job's progress after a stretch has ended or begun."""
        self._rows[2:, job] = (
            progress.left,
            progress.attained,
            progress.service,
            progress.since,
            progress.working,
            progress.gpus,
        )
        if progress.gpus and progress.speed != 1:
            self.scaled.add(job)
        else:
            self.scaled.discard(job)

    def arrays(self, now: int, active: Mapping[int, Progress], index: Vector) -> Arrays:
        """Return the vectors of some jobs that are present as they are at a time.

        Parameters
        ----------
        index
            Positions of the jobs, ascending.
        """
        # One indexing for all columns: for a few jobs each call takes longer than its work.
        submit, gpus, work_left, attained, service, since, working, held = self._rows[:, index]
        running = (held > 0).astype(np.int64)
        time = (now - since) * running
        remaining = np.maximum(work_left - np.maximum(now - working, 0) * running, 0)
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
        submit, gpus, work_left, attained, service = self._rows[:5, index]
        running = np.zeros(len(index), np.int64)
        known = self.known(work_left, index)
        return Arrays(index, submit, gpus, known, attained, service, running)

    def known(self, left: Vector, index: Vector) -> Vector:
        """Return what a scheduler takes for the work that jobs at positions still need."""
        if self.excess is None:
            return left
        return np.where(left > 0, np.maximum(left + self.excess[index], 1), left)
