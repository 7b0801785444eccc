"""The jobs present, as vectors for policies that decide often; kept beside their `Progress`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dlsched.simulation.job import Job
from dlsched.simulation.progress import Progress
from dlsched.simulation.state import Arrays, Vector


class Table:
    """One row per job of the workload; only those of the jobs present count."""

    def __init__(self, jobs: tuple[Job, ...]) -> None:
        self.submit = _vector(job.submit_ticks for job in jobs)
        self.gpus = _vector(job.gpus for job in jobs)
        self.left, self.attained, self.service, self.since, self.working, self.held = (
            np.zeros(len(jobs), np.int64) for _ in range(6)
        )
        self.present: Vector = np.zeros(0, np.int64)
        self.scaled: set[int] = set()
        """Running jobs at a speed other than 1, whose work the vectors do not follow."""

    def add(self, job: int) -> None:
        """Add a job that arrives; jobs arrive in the order of their positions."""
        self.present = np.append(self.present, job)

    def remove(self, job: int) -> None:
        """Remove a job that is complete."""
        self.present = np.delete(self.present, np.searchsorted(self.present, job))
        self.scaled.discard(job)

    def update(self, job: int, progress: Progress) -> None:
        """Take over a job's progress after a stretch has ended or begun."""
        self.left[job] = progress.left
        self.attained[job] = progress.attained
        self.service[job] = progress.service
        self.since[job] = progress.since
        self.working[job] = progress.working
        self.held[job] = progress.gpus
        if progress.gpus and progress.speed != 1:
            self.scaled.add(job)
        else:
            self.scaled.discard(job)

    def arrays(self, now: int, active: Mapping[int, Progress]) -> Arrays:
        """Return the vectors of the jobs present as they are at a time."""
        index = self.present
        held = self.held[index]
        running = (held > 0).astype(np.int64)
        time = (now - self.since[index]) * running
        done = np.maximum(now - self.working[index], 0) * running
        remaining = np.maximum(self.left[index] - done, 0)
        for job in self.scaled:
            progress = active[job]
            remaining[np.searchsorted(index, job)] = progress.left - progress.done(now)
        own = index.view()
        # The others are copies.
        own.flags.writeable = False
        return Arrays(
            job=own,
            submit=self.submit[index],
            gpus=self.gpus[index],
            remaining=remaining,
            attained=self.attained[index] + time,
            service=self.service[index] + time * held,
            running=running,
        )


def _vector(values: object) -> Vector:
    return np.fromiter(values, np.int64)  # type: ignore[call-overload, no-any-return]
