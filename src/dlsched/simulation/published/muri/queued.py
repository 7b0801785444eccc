"""Muri-L in the queues of Tiresias: a function of the public code that none of its policies calls.

Muri-L of Figure 13 with one kind of bottleneck was printed with it, the rest of the figure without.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dlsched.simulation.published.muri.jobs import JobState
from dlsched.simulation.published.muri.kinds import Group
from dlsched.simulation.published.muri.queues import Queues
from dlsched.simulation.published.muri.sharing import Sharing


class QueuedSharing(Sharing):
    """Jobs are selected, and groups dissolved, in the order of the queues instead of service.

    Parameters
    ----------
    *arguments, **options
        Of `Sharing`; durations are not known.
    """

    cause = "demotion"

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.queues = Queues()

    def arrive(self, job: JobState) -> None:
        """Append a job to the list and to the first queue."""
        super().arrive(job)
        self.queues.add(job)

    def leave(self, ended: Sequence[JobState]) -> None:
        """Take jobs off the list and their queues."""
        super().leave(ended)
        self.queues.remove(ended)

    def updated(self, job: JobState) -> None:
        """Move a job down if it has reached its queue's limit."""
        self.queues.update(job)

    def wake(self, now: float) -> float:
        """Return when the first running job is due to go down."""
        return self.queues.wake(now, self.running)

    def _groups(self) -> list[Group]:
        """Return the groups of jobs selected queue by queue."""
        order = list(self.queues)
        for place, job in enumerate(order):
            job.key = place
        return self._grouped(order)

    def _settle(self) -> None:
        self.queues.put_running_first()
