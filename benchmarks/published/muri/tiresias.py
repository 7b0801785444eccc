"""Tiresias: three queues by attained service, first in, first out in each."""

import math
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from published.muri.jobs import JobState
from published.muri.loop import Policy
from published.muri.recorder import Held
from published.muri.servers import Servers, Shares

LIMITS = (3250, 7200)
"""Attained GPU-seconds at which a job goes down from the first queue, and from the second."""


class InQueues(Policy):
    """A policy that keeps its jobs in Tiresias' queues.

    A running job that reaches its queue's limit goes to the tail of the next queue. The policy
    wakes when the first job is due to go down.
    """

    cause = "demotion"

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.queues: list[list[JobState]] = [[] for _ in range(len(LIMITS) + 1)]
        self.queue: dict[int, int] = {}

    def arrive(self, job: JobState) -> None:
        """Append a job to the list and to the first queue."""
        super().arrive(job)
        self.queues[0].append(job)
        self.queue[job.index] = 0

    def leave(self, ended: Sequence[JobState]) -> None:
        """Take jobs off the list and their queues."""
        super().leave(ended)
        for job in ended:
            self.queues[self.queue[job.index]].remove(job)

    def updated(self, job: JobState) -> None:
        """Move a job down if it has reached its queue's limit, by one queue at most."""
        queue = self.queue[job.index]
        if queue < len(LIMITS) and job.attained * job.gpus >= LIMITS[queue]:
            self.queues[queue].remove(job)
            self.queues[queue + 1].append(job)
            self.queue[job.index] = queue + 1

    def wake(self, now: float) -> float:
        """Return when the first running job is due to go down, by its age in whole seconds."""
        due = math.inf
        for job in self.running:
            queue = self.queue[job.index]
            if queue < len(LIMITS):
                due = min(due, math.ceil(LIMITS[queue] / job.gpus) - job.attained + now)
        return due

    def in_order(self) -> list[JobState]:
        """Return the jobs, queue by queue."""
        return list(chain.from_iterable(self.queues))

    def put_running_first(self) -> None:
        """Within each queue, let jobs that run go before those that wait."""
        for queue in self.queues:
            queue.sort(key=lambda job: not job.running)


class Tiresias(InQueues):
    """GPUs are counted over the whole cluster, so that a job may be on any servers."""

    joins_ends = False

    def __init__(self, servers: Servers) -> None:
        super().__init__()
        self.servers = servers
        self.shares: dict[int, Shares] = {}

    def decide(self, now: float) -> dict[int, Held]:
        """Take jobs queue by queue, skipping those for which GPUs are short."""
        free = sum(self.servers.sizes)
        chosen: set[int] = set()
        for job in self.in_order():
            if job.gpus <= free:
                free -= job.gpus
                chosen.add(job.index)
            job.running = job.index in chosen
        self.put_running_first()
        self.running = [job for job in self.jobs if job.running]
        self._lay_out(self.running)
        return {job.index: Held(self.shares[job.index], None, job.tau) for job in self.running}

    def _lay_out(self, running: Iterable[JobState]) -> None:
        """Choose servers, for the log: jobs that run on stay, others take what is free, in order.

        The published simulator only counts; where jobs are makes no difference to it.
        """
        known = {j.index: self.shares[j.index] for j in running if j.index in self.shares}
        free = list(self.servers.sizes)
        for shares in known.values():
            for server, gpus in shares:
                free[server] -= gpus
        for job in running:
            if job.index not in known:
                known[job.index] = _taken(free, job.gpus)
        self.shares = known


def _taken(free: list[int], gpus: int) -> Shares:
    """Take GPUs from the first servers that have any."""
    shares = []
    for server, room in enumerate(free):
        count = min(room, gpus)
        if count:
            free[server] -= count
            gpus -= count
            shares.append((server, count))
    return tuple(shares)
