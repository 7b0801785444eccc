"""Job types, classes of servers, and the maximal patterns of workers that a server can hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dlsched.problems.workers.definition.schema import KINDS, Instance, Job, Kind, Pool

Group = str
"""``base``, ``flexible``, or ``any`` on servers that all kinds of workers may share."""
SHARED: Group = "any"


class Demand(NamedTuple):
    """Workers that can replace each other: of one pool, group and size."""

    pool: Pool
    group: Group
    size: int


_MANY = 10**9
Pattern = Mapping[int, int]
"""Number of workers by their GPUs."""


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


def maximal_patterns(sizes: Sequence[int], free: int) -> Iterator[Pattern]:
    """Yield every pattern of workers that fits the free GPUs and has no room for another worker.

    Parameters
    ----------
    sizes
        GPUs of a worker, largest first, each once.
    """
    fitting = tuple(size for size in sizes if size <= free)
    if fitting:
        yield from _complete(fitting, 0, free)


def _complete(sizes: Sequence[int], first: int, free: int) -> Iterator[Pattern]:
    """Yield the maximal patterns of sizes from a position on; recursion is by the sizes in one."""
    for i in range(first, len(sizes) - 1):
        for count in range(free // sizes[i], 0, -1):
            for others in _complete(sizes, i + 1, free - count * sizes[i]):
                yield {sizes[i]: count, **others}
    # Only with as many of the smallest workers as fit is a pattern maximal.
    smallest = sizes[-1]
    yield {smallest: free // smallest} if free >= smallest else {}


def patterns_exceed(instance: Instance, most: int) -> bool:
    """Whether the classes of servers have more than a number of patterns in all."""
    sizes = sizes_by_group(instance)
    total = 0
    for entry in server_classes(instance):
        for group in entry.groups:
            total += _count(sizes.get((entry.pool, group), ()), entry.free)
    return total > most


def _count(sizes: Sequence[int], free: int) -> int:
    """Return the number of maximal patterns, or a large number if it is beyond counting."""
    fitting = [size for size in sizes if size <= free]
    if not fitting:
        return 0
    if free * len(fitting) > 10**6:
        return _MANY
    counts = [1] * (free + 1)  # by free GPUs: of patterns with the sizes seen so far
    for size in reversed(fitting[:-1]):
        for gpus in range(size, free + 1):
            counts[gpus] = min(_MANY, counts[gpus] + counts[gpus - size])
    return counts[free]
