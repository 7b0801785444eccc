"""First fit on servers that are alike, as the published simulator places jobs."""

from collections.abc import Sequence

Shares = tuple[tuple[int, int], ...]
"""(server, GPUs) of a job, servers by position."""


class Servers:
    """Free GPUs by server; emptied and refilled at every event."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = tuple(sizes)
        self.full = max(sizes)
        self.empty()

    def empty(self) -> None:
        """Free all GPUs."""
        self.free = list(self.sizes)
        self.left = sum(self.sizes)

    def place(self, gpus: int) -> Shares | None:
        """Return and take the servers of a job, or None where it does not fit.

        A job that fits on a server goes to the first with room. A larger one takes the first
        servers that are wholly free, and what remains on the first other one with room.
        """
        if gpus > self.left:
            return None
        if gpus <= self.full:
            for server, free in enumerate(self.free):
                if free >= gpus:
                    return self._take(((server, gpus),))
            return None
        whole, rest = divmod(gpus, self.full)
        idle = [s for s, free in enumerate(self.free) if free == self.full][:whole]
        if len(idle) < whole:
            return None
        shares = [(server, self.full) for server in idle]
        if rest:
            room = [s for s, free in enumerate(self.free) if free >= rest and s not in idle]
            if not room:
                return None
            shares.append((room[0], rest))
        return self._take(tuple(shares))

    def _take(self, shares: Shares) -> Shares:
        for server, gpus in shares:
            self.free[server] -= gpus
            self.left -= gpus
        return shares
