"""SRTF and SRSF: least remaining time first, or least remaining time times GPUs."""

from operator import attrgetter

from published.muri.jobs import JobState
from published.muri.loop import Policy
from published.muri.recorder import Held
from published.muri.servers import Servers

BY_KEY = attrgetter("key")


class Shortest(Policy):
    """Jobs in the order of their key, first fit, skipping what does not fit.

    Parameters
    ----------
    service
        Whether the key is remaining GPU-seconds (SRSF) instead of remaining seconds (SRTF).
    """

    def __init__(self, servers: Servers, service: bool) -> None:
        super().__init__()
        self.servers, self.service = servers, service

    def arrive(self, job: JobState) -> None:
        """Append a job with its key."""
        super().arrive(job)
        self.updated(job)

    def updated(self, job: JobState) -> None:
        """Set the key from the iterations that are left."""
        job.key = job.left * job.tau
        if self.service:
            job.key *= job.gpus

    def decide(self, now: float) -> dict[int, Held]:
        """Empty the cluster and refill it in order."""
        self.jobs.sort(key=BY_KEY)
        self.servers.empty()
        for job in self.running:
            job.running = False
        self.running = []
        held = {}
        for job in self.jobs:
            shares = self.servers.place(job.gpus)
            if shares is not None:
                job.running = True
                self.running.append(job)
                held[job.index] = Held(shares, None, job.tau)
                if not self.servers.left:
                    break
        return held
