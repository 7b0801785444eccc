"""Free GPUs of the servers while workers are placed one after the other, with undo.

Pools are tried in order; a job's base workers are placed all or none.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf

from dlsched.problems.workers.definition.schema import Instance, Job, Kind, Placed, Pool, Solution
from dlsched.schema import FrozenDict

Taken = list[tuple[int, int]]
"""Position of a server, and number of workers that it gets."""
Pools = Callable[[Job, Kind], tuple[Pool, ...]]
"""Pools for a kind of worker of a job, in the order in which they are tried."""


class BestFit:
    """The non-empty server with the least free GPUs that fits; else the smallest empty one.

    For each pool and group there is a sorted list of keys, free GPUs x number of servers + position
    of the server, so that the best server is found by bisection. A server that has got a worker
    keeps getting workers of the job while they fit: it is then the fullest that fits.

    Parameters
    ----------
    instance
        The servers, and whether groups are separate.
    """

    def __init__(self, instance: Instance) -> None:
        self.count = max(1, len(instance.servers))
        self.separate = instance.separate_groups
        self.pool: list[Pool] = [server.pool for server in instance.servers]
        self.free = [server.free for server in instance.servers]
        self.group: list[str] = []
        self.keys: dict[tuple[Pool, str], list[int]] = {}
        self.changes: list[tuple[int, int, str]] = []  # server, free GPUs and group before
        for s, server in enumerate(instance.servers):
            group = "empty" if server.empty else (self.separate and server.group) or "open"
            self.group.append(group)
            if server.free:
                self.keys.setdefault((server.pool, group), []).append(self.free[s] * self.count + s)
        for keys in self.keys.values():
            keys.sort()

    def place(self, pool: Pool, kind: Kind, size: int, count: int) -> Taken:
        """Place up to `count` workers; ties go to the own group, then to the file's order."""
        group = kind if self.separate and pool == "loan" else "open"
        placed: Taken = []
        while count:
            keys, i = self._next(pool, group, size)
            if i == len(keys):
                break
            free, s = divmod(keys.pop(i), self.count)
            self.changes.append((s, free, self.group[s]))
            workers = min(count, free // size)
            placed.append((s, workers))
            count -= workers
            self.free[s] = free - workers * size
            self.group[s] = group
            insort(self.listed(pool, group), self.free[s] * self.count + s)
        return placed

    def _next(self, pool: Pool, group: str, size: int) -> tuple[list[int], int]:
        """Return the list with the next server for a worker, and its place; the end if none has.

        A server of the own group comes before an open one with as many GPUs free, and these before
        an unused one.
        """
        least = size * self.count
        own = self.listed(pool, group)
        other = self.listed(pool, "open") if group != "open" else []
        i = bisect_left(own, least)
        j = bisect_left(other, least)
        free = own[i] // self.count if i < len(own) else inf
        if j < len(other) and other[j] // self.count < free:
            return other, j
        if i < len(own):
            return own, i
        unused = self.listed(pool, "empty")
        return unused, bisect_left(unused, least)

    def listed(self, pool: Pool, group: str) -> list[int]:
        """Return the sorted keys of the servers of a group."""
        return self.keys.setdefault((pool, group), [])

    def move(self, s: int, free: int, group: str) -> None:
        """Give a server other free GPUs and another group."""
        keys = self.listed(self.pool[s], self.group[s])
        del keys[bisect_left(keys, self.free[s] * self.count + s)]
        self.free[s] = free
        self.group[s] = group
        insort(self.listed(self.pool[s], group), free * self.count + s)

    def undo(self, changes: int = 0) -> None:
        """Take back what was placed since the last `keep`, but for some first changes."""
        while len(self.changes) > changes:
            self.move(*self.changes.pop())

    def keep(self) -> None:
        """Keep what was placed."""
        self.changes.clear()

    def release(self, placed: Iterable[tuple[int, int]], size: int, gpus: Sequence[int]) -> None:
        """Free the GPUs of workers that leave; a server without workers becomes empty."""
        for s, workers in placed:
            free = self.free[s] + workers * size
            self.move(s, free, "empty" if free == gpus[s] else self.group[s])


def preferred(job: Job, kind: Kind) -> tuple[Pool, ...]:
    """Return the pools for a kind of worker of a job, the preferred one first."""
    if not job.heterogeneous:
        return job.pools
    return ("training", "loan") if kind == "base" else ("loan", "training")


def training_first(job: Job, kind: Kind) -> tuple[Pool, ...]:
    """Return the pools for a worker of a job, training servers first."""
    return ("training", "loan") if len(job.pools) > 1 else job.pools


def place_base(fleet: BestFit, job: Job, pools: Pools) -> tuple[Taken, Pool] | None:
    """Place all base workers of a job, or none; return where, and the pool of the first."""
    tried = pools(job, "base")
    before = len(fleet.changes)
    for choice in [tried] if job.heterogeneous else [(pool,) for pool in tried]:
        placed = place_workers(fleet, job, "base", job.base, choice)
        if sum(count for _, count in placed) == job.base:
            return placed, choice[0]
        fleet.undo(before)
    return None


def place_workers(fleet: BestFit, job: Job, kind: Kind, count: int, pools: Iterable[Pool]) -> Taken:
    """Place up to `count` workers of a job, in the first pool as long as they fit there."""
    placed: Taken = []
    for pool in pools:
        if count:
            here = fleet.place(pool, kind, job.gpus_per_worker, count)
            placed += here
            count -= sum(workers for _, workers in here)
    return placed


def solution_of(
    instance: Instance, bases: Mapping[str, Taken], flexible: Mapping[str, Taken]
) -> Solution:
    """Return the solution, without validation, which would take longer than the placement."""
    ids = [server.id for server in instance.servers]
    placement = {
        name: Placed.model_construct(
            base=FrozenDict({ids[s]: count for s, count in base}),
            flexible=FrozenDict({ids[s]: count for s, count in flexible[name]}),
        )
        for name, base in bases.items()
    }
    return Solution.model_construct(placement=FrozenDict(placement))
