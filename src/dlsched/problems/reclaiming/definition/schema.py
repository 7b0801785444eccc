"""Instance and solution of reclaiming: which on-loan servers to return (Lyra, section 4)."""

from collections.abc import Iterable
from typing import Any, Literal, Self

from pydantic import StrictBool, model_validator

from dlsched import schema
from dlsched.extras import require
from dlsched.schema import (
    Amount,
    Count,
    Document,
    Flaw,
    Id,
    Number,
    PositiveCount,
    dangling,
    derived,
)


class Server(Document):
    """An on-loan inference server."""

    id: Id
    """Id of the server."""
    gpus: PositiveCount
    """GPUs of the server. Unit: GPUs."""


class Worker(Document):
    """Some GPUs that a job holds on a server.

    Stopping a base worker (``flexible`` false) preempts its job; a flexible one may stop alone.
    """

    server: Id
    """Id of the server that it runs on."""
    gpus: PositiveCount
    """GPUs that it holds there. Unit: GPUs."""
    flexible: StrictBool = False
    """Whether it may stop without its job being preempted."""


class Job(Document):
    """A training job and its workers."""

    id: Id
    """Id of the job."""
    weight: Amount = 1
    """What its preemption counts in level 1. Unit: jobs."""
    workers: tuple[Worker, ...]
    """Its workers, base and flexible."""


class Instance(schema.Instance):
    """Servers on loan, the jobs on them, and the number of servers to return."""

    problem: Literal["reclaiming"] = "reclaiming"
    demand: Count
    """Servers to return. Unit: servers."""
    servers: tuple[Server, ...]
    """Servers on loan."""
    jobs: tuple[Job, ...]
    """Training jobs on these servers."""

    @model_validator(mode="after")
    def _resolve(self) -> Self:
        schema.require_unique((s.id for s in self.servers), "servers")
        schema.require_unique((j.id for j in self.jobs), "jobs")
        free = {s.id: s.gpus for s in self.servers}
        for j, job in enumerate(self.jobs):
            for w, worker in enumerate(job.workers):
                here = ("jobs", j, "workers", w)
                if worker.server not in free:
                    raise dangling((*here, "server"), "server", worker.server, free)
                free[worker.server] -= worker.gpus
                if free[worker.server] < 0:
                    raise Flaw(
                        (*here, "gpus"),
                        f'server "{worker.server}" is over its GPUs by {-free[worker.server]}',
                        "give it more gpus, or move workers away",
                    )
        return self

    @derived
    def server_index(self) -> dict[str, int]:
        """Position of each server id."""
        return {s.id: i for i, s in enumerate(self.servers)}

    @derived
    def base_servers(self) -> tuple[frozenset[int], ...]:
        """For each job the positions of the servers with a base worker of it."""
        index = self.server_index
        return tuple(
            frozenset(index[w.server] for w in job.workers if not w.flexible) for job in self.jobs
        )

    @derived
    def weights(self) -> tuple[Number, ...]:
        """The jobs' weights."""
        return tuple(job.weight for job in self.jobs)

    @derived
    def held(self) -> tuple[dict[int, int], ...]:
        """For each job the GPUs that it holds, base and flexible, by position of the server."""
        result = []
        for job in self.jobs:
            gpus: dict[int, int] = {}
            for worker in job.workers:
                s = self.server_index[worker.server]
                gpus[s] = gpus.get(s, 0) + worker.gpus
            result.append(gpus)
        return tuple(result)

    def to_networkx(self) -> Any:
        """Return which jobs are on which servers, as a bipartite ``networkx.Graph``.

        Nodes are ``("job", id)`` with ``weight``, and ``("server", id)`` with ``gpus``. An edge has
        the ``gpus`` that the job holds there, and whether a ``base`` worker is among them.
        """
        nx = require("networkx", "Instance.to_networkx")
        graph = nx.Graph(name=self.name)
        for job in self.jobs:
            graph.add_node(("job", job.id), bipartite=0, weight=job.weight)
        for server in self.servers:
            graph.add_node(("server", server.id), bipartite=1, gpus=server.gpus)
        for job, held, base in zip(self.jobs, self.held, self.base_servers, strict=True):
            for s, gpus in held.items():
                ends = ("job", job.id), ("server", self.servers[s].id)
                graph.add_edge(*ends, gpus=gpus, base=s in base)
        return graph


class Solution(schema.Solution):
    """The returned servers."""

    problem: Literal["reclaiming"] = "reclaiming"
    returned: tuple[Id, ...]
    """Ids of the returned servers."""


def solution_of(instance: Instance, returned: Iterable[int]) -> Solution:
    """Return the solution with the servers at these positions."""
    return Solution(returned=tuple(instance.servers[s].id for s in returned))
