"""From numbers of workers by pool to a placement, and back."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping

from dlsched.problems.workers.definition.schema import (
    KINDS,
    POOLS,
    Instance,
    Kind,
    Placed,
    Pool,
    Solution,
)
from dlsched.problems.workers.structures.patterns import Demand, Group, group_of

Share = Mapping[tuple[Pool, Kind], int]
"""Workers of a job by pool and kind."""


def fill(
    instance: Instance,
    slots: Iterable[tuple[int, Group, int, int]],
    shares: Mapping[int, Share],
) -> Solution:
    """Put the workers of each job into slots of their pool, group and size.

    Workers of one size can replace each other, so any assignment to the slots is as good as
    another.

    Parameters
    ----------
    slots
        (position of the server, group, GPUs of a worker, number of such workers), those to be used
        first at the front.
    shares
        Workers by position of the job.
    """
    room: dict[Demand, deque[list[int]]] = {}
    for s, group, size, count in slots:
        if count:
            key = Demand(instance.servers[s].pool, group, size)
            room.setdefault(key, deque()).append([s, count])
    placement = {}
    for j, share in shares.items():
        job = instance.jobs[j]
        placed: dict[Kind, Counter[str]] = {kind: Counter() for kind in KINDS}
        for (pool, kind), count in share.items():
            here = room.get(Demand(pool, group_of(instance, pool, kind), job.gpus_per_worker))
            left = count
            while left and here:
                taken = min(left, here[0][1])
                placed[kind][instance.servers[here[0][0]].id] += taken
                here[0][1] -= taken
                left -= taken
                if not here[0][1]:
                    here.popleft()
        placement[job.id] = Placed(**{kind: dict(placed[kind]) for kind in KINDS})
    return Solution(placement=placement)


def shares_of(instance: Instance, solution: Solution) -> dict[int, Counter[tuple[Pool, Kind]]]:
    """Return the workers of each placed job, by its position, by pool and kind."""
    shares = {}
    for name, placed in solution.placement.items():
        counts: Counter[tuple[Pool, Kind]] = Counter()
        for kind in KINDS:
            for server, count in placed.counts(kind).items():
                counts[instance.servers[instance.server_index[server]].pool, kind] += count
        shares[instance.job_index[name]] = counts
    return shares


def held_by(instance: Instance, solution: Solution) -> Counter[tuple[int, Group, int]]:
    """Return the workers by position of the server, group, and GPUs of the worker."""
    held: Counter[tuple[int, Group, int]] = Counter()
    for name, placed in solution.placement.items():
        size = instance.jobs[instance.job_index[name]].gpus_per_worker
        for kind in KINDS:
            for server, count in placed.counts(kind).items():
                s = instance.server_index[server]
                held[s, group_of(instance, instance.servers[s].pool, kind), size] += count
    return held


def divide(total: Mapping[Pool, int], each: int, jobs: int) -> list[dict[Pool, int]]:
    """Divide workers of equal jobs, at most `each` per job, pool by pool."""
    left = dict(total)
    result = []
    for _ in range(jobs):
        room, own = each, {}
        for pool in POOLS:
            own[pool] = min(room, left.get(pool, 0))
            room -= own[pool]
            left[pool] = left.get(pool, 0) - own[pool]
        result.append(own)
    return result
