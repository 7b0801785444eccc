"""Tiresias: three queues by attained service, first in, first out in each."""

from __future__ import annotations

from collections.abc import Iterable

from published.muri.jobs import JobState
from published.muri.queues import InQueues
from published.muri.recorder import Held
from published.muri.servers import Servers, Shares


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
