"""Job types, classes of servers, workers that can replace each other, and numbers of them."""

from collections import Counter, defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from dlsched.problems.workers.definition.schema import (
    KINDS,
    POOLS,
    Instance,
    Job,
    Kind,
    Placed,
    Pool,
    Solution,
)

Group = str
"""``base``, ``flexible``, or ``any`` on servers that all kinds of workers may share."""
SHARED: Group = "any"


class Demand(NamedTuple):
    """Workers that can replace each other: of one pool, group and size."""

    pool: Pool
    group: Group
    size: int


@dataclass(frozen=True)
class ServerClass:
    """Servers that are alike in pool, groups, free GPUs and emptiness, by position."""

    pool: Pool
    groups: tuple[Group, ...]
    free: int
    empty: bool
    servers: tuple[int, ...]


@dataclass(frozen=True)
class JobType:
    """Jobs that are alike in all fields but the id, by position."""

    job: Job
    jobs: tuple[int, ...]


def group_of(instance: Instance, pool: Pool, kind: Kind) -> Group:
    """Return the group of a kind of worker in a pool."""
    return kind if pool == "loan" and instance.separate_groups else SHARED


def groups_of(instance: Instance, server: int) -> tuple[Group, ...]:
    """Return the groups of which a server may get workers; it gets those of one only."""
    return instance.kinds[server] or (SHARED,)


def sizes_by_group(instance: Instance) -> dict[tuple[Pool, Group], list[int]]:
    """Return the sizes of workers, largest first, that a pool and group may have to hold."""
    sizes_of: dict[tuple[Pool, Group], set[int]] = {}
    for job in instance.jobs:
        for pool in job.pools:
            for kind in KINDS:
                if kind == "base" or job.flexible:
                    group = group_of(instance, pool, kind)
                    sizes_of.setdefault((pool, group), set()).add(job.gpus_per_worker)
    return {key: sorted(sizes, reverse=True) for key, sizes in sizes_of.items()}


def job_types(instance: Instance) -> list[JobType]:
    """Return the types of jobs in the order of the file."""
    jobs_of: dict[tuple[object, ...], list[int]] = {}
    for j, job in enumerate(instance.jobs):
        key = (job.gpus_per_worker, job.base, job.flexible, *job.pools, job.heterogeneous)
        jobs_of.setdefault(key, []).append(j)
    return [JobType(instance.jobs[jobs[0]], tuple(jobs)) for jobs in jobs_of.values()]


def server_classes(instance: Instance) -> list[ServerClass]:
    """Return the classes of servers with free GPUs in the order of the file, empty ones last."""
    servers_of: dict[tuple[Pool, tuple[Group, ...], int, bool], list[int]] = {}
    for s, server in enumerate(instance.servers):
        if server.free:
            key = (server.pool, groups_of(instance, s), server.free, server.empty)
            servers_of.setdefault(key, []).append(s)
    classes = [ServerClass(*key, tuple(servers)) for key, servers in servers_of.items()]
    return sorted(classes, key=lambda c: c.empty)


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
