"""Where a job may run: one function of a job and a server, and the classes that follow from it.

Engine, policies, bounds, explanations and audit go by this. A job states what it accepts, a server
what it is; what neither states restricts nothing.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlsched.errors import OptionError
from dlsched.simulation.workload.cluster import LOAN, Cluster, Server
from dlsched.simulation.workload.job import Job
from dlsched.simulation.workload.workload import Workload

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
TYPE, REGION, CLUSTER, POOL = "GPU type", "region", "cluster", "pool"
"""Properties that some policies keep to by themselves."""
MOST_NAMED = 8
"""Properties of servers that a message lists."""


class Obstacle(NamedTuple):
    """Why a job may not run on a server: a property, what the job accepts, what the server has."""

    what: str
    accepts: str
    has: str

    def __str__(self) -> str:
        """Return the reason, to follow what names job and server."""
        return f"{self.what}: it accepts {self.accepts}, the server has {self.has}"


def eligible(job: Job, server: Server) -> bool:
    """Return whether a job may run on a server, by what the two state."""
    return obstacle(job, server) is None


def obstacle(job: Job, server: Server, besides: frozenset[str] = frozenset()) -> Obstacle | None:
    """Return the first property by which a job may not run on a server; None if it may.

    Properties in `besides` do not count.

    - GPU type: that of the server is one of `Job.accepted_types`. A server that states none suits
      all jobs but those with rates, whose speed is not known there.
    - Partition: the server is in one of the job's, or states none.
    - Features: the server has all that the job names.
    - Region and cluster: one of those that the job names, or the server states none.
    - Size: GPUs, CPUs and memory of the server are at least what the job asks for of each server; a
      server that states no CPUs or no memory has enough.
    - Pool: servers on loan are for fungible and heterogeneous jobs.
    """
    return next((o for o in _obstacles(job, server) if o.what not in besides), None)


def _obstacles(job: Job, server: Server) -> Iterator[Obstacle]:
    types = job.accepted_types
    if types and server.gpu_type not in types and (server.gpu_type is not None or job.rates):
        yield Obstacle(TYPE, " or ".join(types), server.gpu_type or "none stated")
    names = job.partitions
    if names and server.partitions and not set(names).intersection(server.partitions):
        yield Obstacle("partition", " or ".join(names), ", ".join(server.partitions))
    if not set(job.features).issubset(server.features):
        yield Obstacle("features", " and ".join(job.features), ", ".join(server.features) or "none")
    for what, accepted, has in (
        (REGION, job.regions, server.region),
        (CLUSTER, job.clusters, server.cluster),
    ):
        if accepted and has is not None and has not in accepted:
            yield Obstacle(what, " or ".join(accepted), has)
    for what, least, size in (
        ("GPUs of a server", job.server_gpus, server.gpus),
        ("CPUs of a server", job.server_cpus, server.cpus),
        ("GB of a server", job.server_memory, server.memory),
    ):
        if size is not None and size < least:
            yield Obstacle(what, f"{float(least):g} or more", f"{float(size):g}")
    if server.pool == LOAN and not (job.fungible or job.heterogeneous):
        yield Obstacle(POOL, "servers that are not on loan", LOAN)


@dataclass(frozen=True, eq=False)
class Eligibility:
    """Where the jobs of a workload may run, by classes.

    Jobs that may use the same servers are one class, servers that the same jobs may use are one:
    on a uniform cluster there is one of each. Both are numbered in the order of their first member.

    Attributes
    ----------
    table
        Whether jobs of a class may use servers of a class, shape (job classes, server classes).
    of_job
        The class of each job, by position in the workload.
    of_server
        The class of each server, by position in the cluster.
    """

    table: Bools
    of_job: Ints
    of_server: Ints

    @cached_property
    def everywhere(self) -> bool:
        """Whether every job may run on every server."""
        return bool(self.table.all())

    @cached_property
    def servers(self) -> Bools:
        """Whether jobs of a class may use a server, shape (job classes, servers)."""
        servers: Bools = self.table[:, self.of_server]
        return servers

    def gpus(self, cluster: Cluster) -> Ints:
        """Return the GPUs of each server class, on loan or not."""
        return self.by_class(cluster.order[2])

    def by_class(self, gpus: Ints) -> Ints:
        """Return the sum of what there is on each server, by server class."""
        sums = np.zeros(self.table.shape[1], np.int64)
        np.add.at(sums, self.of_server, gpus)
        return sums

    @cached_property
    def components(self) -> list[tuple[Ints, Ints]]:
        """Job classes and server classes that are connected by the table, each set ascending.

        A job class that may use no server is a set of its own, without servers; a server class that
        no job may use is in none.
        """
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        count, size = len(self.table), sum(self.table.shape)
        jobs, servers = np.nonzero(self.table)
        pairs = coo_array((np.ones(len(jobs)), (jobs, count + servers)), (size, size))
        _, labels = connected_components(pairs, directed=False)
        of_jobs, of_servers = labels[:count], labels[count:]
        return [
            (np.flatnonzero(of_jobs == label), np.flatnonzero(of_servers == label))
            for label in np.unique(of_jobs)
        ]


def eligibility(
    workload: Workload, cluster: Cluster, besides: frozenset[str] = frozenset()
) -> Eligibility:
    """Return where the jobs of a workload may run on a cluster, by classes.

    Properties in `besides` do not count: somebody else keeps to them.
    """
    jobs, of_job = _alike((_DEMANDS(job), *job.rates) for job in workload.jobs)
    servers, of_server = _alike(map(_PROPERTIES, cluster.servers))
    table = np.array(
        [
            [obstacle(workload.jobs[j], cluster.servers[i], besides) is None for i in servers]
            for j in jobs
        ],
        np.bool_,
    )
    # Different demands may come to the same: partitions where no server states any.
    rows, row_of = _alike(row.tobytes() for row in table)
    columns, column_of = _alike(column.tobytes() for column in table.T)
    return Eligibility(table[np.ix_(rows, columns)], row_of[of_job], column_of[of_server])


_DEMANDS = attrgetter(
    *("gpu_types", "gpu_type", "partition", "features", "regions", "clusters"),
    *("server_gpus", "server_cpus", "server_memory", "fungible", "heterogeneous"),
)
_PROPERTIES = attrgetter(
    *("gpu_type", "partitions", "features", "region", "cluster"),
    *("gpus", "cpus", "memory", "pool"),
)
"""All of a job, but its rates, and of a server that `obstacle` reads."""


def _alike(keys: Iterable[object]) -> tuple[list[int], Ints]:
    """Return the place of the first entry of each key, and the number of each entry's key."""
    number: dict[object, int] = {}
    first: list[int] = []
    of = []
    for place, key in enumerate(keys):
        at = number.setdefault(key, len(number))
        if at == len(first):
            first.append(place)
        of.append(at)
    return first, np.array(of, np.int64)


def require_places(workload: Workload, cluster: Cluster, where: Eligibility) -> None:
    """Refuse a job that no set of servers that it may use can hold.

    Raises
    ------
    OptionError
        Naming the job, what it accepts and what there is.
    """
    sizes = cluster.order[2]
    room: dict[tuple[int, int], int] = {}
    for job, c in zip(workload.jobs, where.of_job.tolist(), strict=True):
        worker = job.gpus_per_worker
        if (c, worker) not in room:
            room[c, worker] = int((sizes[where.servers[c]] // worker * worker).sum())
        if room[c, worker] < job.min_gpus:
            raise OptionError(_nowhere(job, cluster, room[c, worker]))


def _nowhere(job: Job, cluster: Cluster, room: int) -> str:
    found: dict[str, tuple[str, dict[str, None]]] = {}
    for server in cluster.servers:
        reason = obstacle(job, server)
        if reason is not None:
            found.setdefault(reason.what, (reason.accepts, {}))[1][reason.has] = None
    reasons = "; ".join(
        f"{what}: it accepts {accepts}, {'other' if room else 'the'} servers have {_some(has)}"
        for what, (accepts, has) in found.items()
    )
    which = f"the servers where it may run have {room}" if room else "it may run on no server"
    needs = f"job {job.id} needs {job.min_gpus} GPUs, {which}"
    return f"{needs} ({reasons}); leave the job out, or change what it accepts or the cluster"


def _some(names: Iterable[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - MOST_NAMED} others" if len(listed) > MOST_NAMED else ""
    return "; ".join(listed[:MOST_NAMED]) + more
