"""From numbers of workers by pool to a placement, and back."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Mapping
from typing import NamedTuple

from dlsched.problems.workers.definition.schema import (
    KINDS,
    POOLS,
    Instance,
    Kind,
    Placed,
    Pool,
    Solution,
)
from dlsched.problems.workers.structures.classes import Demand, Group, group_of

Share = Mapping[tuple[Pool, Kind], int]
"""Workers of a job by pool and kind."""


class Held(NamedTuple):
    """Workers that can replace each other on a server."""

    server: int
    """Its position."""
    group: Group
    size: int
    """GPUs of each worker."""


def fill(instance: Instance, places: Mapping[Held, int], shares: Mapping[int, Share]) -> Solution:
    """Put the workers of each job into places of their pool, group and size.

    Workers of one size can replace each other, so any assignment to the places is as good as
    another.

    Parameters
    ----------
    places
        Their numbers, those to be used first at the front.
    shares
        Workers by position of the job.
    """
    free: dict[Demand, deque[str]] = defaultdict(deque)
    for held, number in places.items():
        server = instance.servers[held.server]
        free[Demand(server.pool, held.group, held.size)] += [server.id] * number
    placement = {}
    for j, share in shares.items():
        job = instance.jobs[j]
        workers: dict[Kind, Counter[str]] = {kind: Counter() for kind in KINDS}
        for (pool, kind), count in share.items():
            here = free[Demand(pool, group_of(instance, pool, kind), job.gpus_per_worker)]
            workers[kind].update(here.popleft() for _ in range(min(count, len(here))))
        placement[job.id] = Placed(**{kind: dict(workers[kind]) for kind in KINDS})
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


def held_by(instance: Instance, solution: Solution) -> Counter[Held]:
    """Return the numbers of workers on the servers."""
    held: Counter[Held] = Counter()
    for name, placed in solution.placement.items():
        size = instance.jobs[instance.job_index[name]].gpus_per_worker
        for kind in KINDS:
            for server, count in placed.counts(kind).items():
                s = instance.server_index[server]
                held[Held(s, group_of(instance, instance.servers[s].pool, kind), size)] += count
    return held


def divide(total: Mapping[Pool, int], most: int, jobs: int) -> list[dict[Pool, int]]:
    """Divide workers of equal jobs, at most `most` per job, pool by pool."""
    remaining = Counter(total)
    result = []
    for _ in range(jobs):
        workers: dict[Pool, int] = {}
        for pool in POOLS:
            workers[pool] = min(most - sum(workers.values()), remaining[pool])
            remaining[pool] -= workers[pool]
        result.append(workers)
    return result
