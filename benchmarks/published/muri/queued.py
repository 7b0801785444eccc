"""Muri-L in the queues of Tiresias: a function of the public code that none of its policies calls.

Muri-L of Figure 13 with one kind of bottleneck was printed with it, the rest of the figure without.
"""

from __future__ import annotations

from published.muri.kinds import Group
from published.muri.queues import InQueues
from published.muri.sharing import Sharing


class QueuedSharing(InQueues, Sharing):
    """Jobs are selected, and groups dissolved, in the order of the queues instead of service.

    Parameters
    ----------
    *arguments, **options
        Of `Sharing`; durations are not known.
    """

    def _groups(self) -> list[Group]:
        """Return the groups of jobs selected queue by queue."""
        order = self.in_order()
        for place, job in enumerate(order):
            job.key = place
        return self._grouped(order)

    def _settle(self) -> None:
        self.put_running_first()
