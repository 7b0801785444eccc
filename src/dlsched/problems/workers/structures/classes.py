"""Job types, classes of servers, and the workers that can replace each other."""

from __future__ import annotations

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
