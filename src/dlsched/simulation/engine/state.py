"""What a policy sees when it decides: time, jobs, servers."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from dlsched.registry.cluster_state import ClusterState
from dlsched.registry.cluster_state import Server as ServerState
from dlsched.schema import Id, Number
from dlsched.simulation.engine.decision import Allocation
from dlsched.simulation.engine.holdings import Holdings
from dlsched.simulation.engine.jobs import Arrays, JobView, Key, LinesByGpus, Vector
from dlsched.simulation.workload.clock import seconds
from dlsched.simulation.workload.cluster import Server


class ServerView(NamedTuple):
    """A server that may be used at the moment, and what is free on it."""

    server: Server
    free: int
    free_cpus: Number | None
    free_memory: Number | None


class State:
    """A cluster and its jobs at the moment of a decision.

    What it has of jobs and servers is read when it is asked for, before the decision.

    Attributes
    ----------
    causes
        What happened at this moment: of ``"arrival"``, ``"completion"``, ``"round"``, ``"wake"``,
        ``"loan"``, ``"away"`` (a server goes or is back) and ``"cancellation"``, in this order.
    number
        How many decisions were made before this one.
    loan
        Servers of the loan pool that may be used from now on. If more of them are in use, the
        decision returns the surplus (`Decision.returned`).
    workload, cluster, seed
        What is simulated.
    where
        Which jobs may run on which servers, by classes.
    """

    def __init__(
        self,
        holdings: Holdings,
        now: int,
        causes: tuple[str, ...],
        number: int,
        loan: int,
        seed: int,
        last: int,
    ) -> None:
        self._last = last
        self._now, self._holdings, self._jobs = now, holdings, holdings.jobs
        self.causes, self.number, self.loan, self.seed = causes, number, loan, seed
        self.workload, self.cluster, self.where = (
            holdings.workload,
            holdings.cluster,
            holdings.where,
        )

    @cached_property
    def time(self) -> Number:
        """Seconds on the workload's clock."""
        return seconds(self._now)

    @property
    def last_end(self) -> Number | None:
        """When a job was last complete; no policy decides at that time if no other job is left."""
        return None if self._last < 0 else seconds(self._last)

    @cached_property
    def waiting(self) -> tuple[JobView, ...]:
        """The jobs that wait, in the order of submission."""
        return tuple([self._jobs.view(j, self._now) for j in self.queue])

    @cached_property
    def queue(self) -> Sequence[int]:
        """The positions in the workload of the jobs that wait, in the order of submission."""
        return sorted(self._jobs.waits)

    @property
    def queued_gpus(self) -> int:
        """The GPUs that the jobs that wait ask for, together."""
        return self._jobs.asked

    @cached_property
    def running(self) -> tuple[JobView, ...]:
        """The jobs that hold GPUs, in the order of their last start."""
        position = self._holdings.position
        return tuple([self._jobs.view(position[name], self._now) for name in self._holdings.held])

    @cached_property
    def servers(self) -> tuple[ServerView, ...]:
        """The servers that may be used, in the cluster's order."""
        resources = self._holdings.resources
        return tuple(
            ServerView(server, resources.gpus[server.id], *resources.amounts[server.id])
            for server in self.cluster.servers
            if server.id in resources.gpus
        )

    @cached_property
    def arrays(self) -> Arrays:
        """The same jobs as vectors, for policies that decide often."""
        return self._jobs.present(self._now)

    @cached_property
    def holding(self) -> Arrays:
        """The running jobs alone as vectors."""
        return self._jobs.holding(self._now)

    def vectors(self, names: Iterable[Id]) -> Arrays:
        """Return some of the jobs as vectors, in the order of submission."""
        index = sorted(self._holdings.position[name] for name in names)
        return self._jobs.arrays(np.array(index, np.int64), self._now)

    def lines(self, key: Key) -> LinesByGpus:
        """Return the waiting jobs in lines, one for each number of GPUs asked for.

        Parameters
        ----------
        key
            By which each line is ordered, least first; ties in the order of submission. It must
            depend on the job alone, and stay the same as long as it waits: it is computed once for
            each time that the job begins to wait.

        Returns
        -------
        LinesByGpus
            The key and the position in the workload of each job, by GPUs. It is what the simulator
            goes on with: to be read in this decision, never to be changed.
        """
        return self._jobs.lines(key)

    @property
    def allocations(self) -> Mapping[Id, Allocation]:
        """What each running job holds, in the order of their last start."""
        return MappingProxyType(self._holdings.held)

    @property
    def free_gpus(self) -> Mapping[Id, int]:
        """Free GPUs of each server that may be used."""
        return MappingProxyType(self._holdings.resources.gpus)

    @property
    def free(self) -> Vector:
        """Free GPUs by position in the cluster, a copy; 0 for a server that may not be used."""
        return self._holdings.resources.vector.copy()

    @property
    def free_by_class(self) -> Vector:
        """Free GPUs of each server class of `where`."""
        return self.where.by_class(self.free)

    @cached_property
    def rng(self) -> np.random.Generator:
        """Random numbers that depend on the seed and on the number of the decision alone."""
        return np.random.default_rng([self.seed, self.number])

    def snapshot(
        self,
        running: Iterable[JobView] | None = None,
        waiting: Iterable[JobView] | None = None,
    ) -> ClusterState:
        """Return what the adapters of the problems' packages take.

        Parameters
        ----------
        running, waiting
            The jobs that count; None for all.
        """
        return ClusterState(
            time=self.time,
            servers=tuple(server_state(view.server) for view in self.servers),
            running=tuple(v.snapshot() for v in (self.running if running is None else running)),
            waiting=tuple(v.snapshot() for v in (self.waiting if waiting is None else waiting)),
        )


def server_state(server: Server) -> ServerState:
    """Return a server as the adapters of the problems' packages take it."""
    s = server
    return ServerState(s.id, s.gpus, s.pool, s.gpu_type, s.region, s.cluster)
