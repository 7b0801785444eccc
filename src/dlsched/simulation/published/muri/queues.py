"""Tiresias' queues: three by attained service, first in, first out in each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from dlsched.simulation.published.muri.jobs import JobState

LIMITS = (3250, 7200)
"""Attained GPU-seconds at which a job goes down from the first queue, and from the second."""


class Queues:
    """A running job that reaches its queue's limit goes to the tail of the next queue."""

    def __init__(self) -> None:
        self.queues: list[list[JobState]] = [[] for _ in range(len(LIMITS) + 1)]
        self.queue: dict[int, int] = {}

    def __iter__(self) -> Iterator[JobState]:
        """Iterate over the jobs, queue by queue."""
        return (job for queue in self.queues for job in queue)

    def add(self, job: JobState) -> None:
        """Append a job to the first queue."""
        self.queues[0].append(job)
        self.queue[job.index] = 0

    def remove(self, jobs: Iterable[JobState]) -> None:
        """Take jobs off their queues."""
        for job in jobs:
            self.queues[self.queue[job.index]].remove(job)

    def update(self, job: JobState) -> None:
        """Move a job down if it has reached its queue's limit, by one queue at most."""
        queue = self.queue[job.index]
        if queue < len(LIMITS) and job.attained * job.gpus >= LIMITS[queue]:
            self.queues[queue].remove(job)
            self.queues[queue + 1].append(job)
            self.queue[job.index] = queue + 1

    def put_running_first(self) -> None:
        """Within each queue, let jobs that run go before those that wait."""
        for queue in self.queues:
            queue.sort(key=lambda job: not job.running)

    def wake(self, now: float, running: Iterable[JobState]) -> float:
        """Return when the first running job is due to go down, by its age in whole seconds."""
        return min(
            (
                math.ceil(LIMITS[self.queue[job.index]] / job.gpus) - job.attained + now
                for job in running
                if self.queue[job.index] < len(LIMITS)
            ),
            default=math.inf,
        )
